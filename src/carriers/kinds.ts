import { z } from 'zod';
import { badField, Problem } from '../base/problem.ts';
import { callbackConfig, createCallback } from './callback/callback.ts';
import type { Connector } from './connector.ts';
import type { ConnectorDependencies } from './dependencies.ts';
import { fileOf, httpConfig, httpFromFile, requestUrl, secretNamesOf, submissionsMaxOf } from './http/config.ts';
import { createHttp } from './http/http.ts';
import { createKannelBox } from './kannel/box.ts';
import { type KannelDependencies, kannelBoxConfig, kannelSendsmsConfig } from './kannel/config.ts';
import { createKannelSendsms } from './kannel/sendsms.ts';
import { createLoopback } from './loopback.ts';
import { smppConfig } from './smpp/config.ts';
import { createSmpp } from './smpp/smpp.ts';

interface KindOf<S extends z.ZodObject> {
  readonly summary: string;
  readonly config: S;
  /** The fields of the configuration that are never shown. */
  readonly secrets: readonly (keyof z.output<S> & string)[];
  /**
   * The fields that decide where a message and the secrets go. While they stay the same, a change
   * of the other fields may keep the stored secrets.
   */
  readonly places: readonly (keyof z.output<S> & string)[];
  /** The secrets that a command asks for, if they depend on the rest: `secrets.apiKey`. */
  readonly secretsIn?: (config: Readonly<Record<string, unknown>>) => readonly string[];
  /** The default for the most messages between claim and settlement. */
  readonly submissionsMax: number | ((config: z.output<S>) => number);
  /** The fields of messages and accounts that it sends, see `carrierFields`. */
  readonly fieldsIn?: (config: z.output<S>) => readonly string[];
  /** Whether a carrier may be asked what became of a message, see `query` of Connector. */
  readonly answersQueries?: true;
  /** Where it sends messages by HTTP, to find a connector that leads back to this service. */
  readonly urlsIn?: (config: z.output<S>) => readonly string[];
  /** Replaces what a configuration in the connector file may name besides: files, variables. */
  readonly fromFile?: (config: Readonly<Record<string, unknown>>, folder: string) => Record<string, unknown>;
  readonly create: (name: string, config: z.output<S>, deps: ConnectorDependencies) => Connector;
}
type Kind = KindOf<z.ZodObject>;

const kindOf = <S extends z.ZodObject>(kind: KindOf<S>): Kind => kind as unknown as Kind;

const KANNEL_PLACES = ['host', 'port', 'tls', 'tlsCertificate', 'adminHost', 'adminPort', 'adminTls'] as const;

/** Every kind of connector, with its configuration and how it is made: see CONTRIBUTING.md. */
export const kinds = {
  loopback: kindOf({
    summary: 'A simulated carrier, which accepts every message and sends its receipt after a moment.',
    config: z.strictObject({
      receiptAfterMs: z.int().min(0).max(3_600_000).default(1_000).describe('Milliseconds until a receipt arrives.'),
    }),
    secrets: [],
    places: [],
    submissionsMax: 1_000,
    create: (name, config, { clock }) => createLoopback(name, config, clock),
  }),
  callback: kindOf({
    summary: 'Signed JSON in both directions, as Standard Webhooks describes.',
    config: callbackConfig,
    secrets: ['secret', 'oldSecret'],
    places: ['url', 'allowPrivate'],
    submissionsMax: 100,
    urlsIn: ({ url }) => [url],
    create: createCallback,
  }),
  'kannel-box': kindOf({
    summary: 'Kannel through the box port of bearerbox, which is the recommended way.',
    config: kannelBoxConfig,
    secrets: ['adminPassword'],
    places: KANNEL_PLACES,
    submissionsMax: 200,
    create: (name, config, deps) => createKannelBox(name, config, forKannel(deps)),
  }),
  'kannel-sendsms': kindOf({
    summary: 'Kannel through sendsms of smsbox, with callbacks of smsbox.',
    config: kannelSendsmsConfig,
    secrets: ['password', 'callbackSecret', 'adminPassword'],
    places: [...KANNEL_PLACES, 'path', 'username', 'callbackUrl'],
    submissionsMax: 100,
    create: (name, config, deps) => createKannelSendsms(name, config, forKannel(deps)),
  }),
  http: kindOf({
    summary: 'An HTTP provider that a file describes.',
    config: httpConfig,
    secrets: ['secrets'],
    places: ['provider', 'settings', 'allowPrivate'],
    secretsIn: ({ provider }) => secretNamesOf(provider).map((name) => `secrets.${name}`),
    submissionsMax: submissionsMaxOf,
    fieldsIn: (config) => fileOf(config).fields,
    urlsIn: (config) => [requestUrl(config)],
    fromFile: httpFromFile,
    create: createHttp,
  }),
  smpp: kindOf({
    summary: 'SMPP 3.4, straight to a carrier.',
    config: smppConfig,
    secrets: ['password', 'tlsClientKey'],
    places: ['host', 'port', 'tls', 'tlsCertificate', 'tlsServerName', 'receiverHost', 'receiverPort', 'systemId'],
    submissionsMax: 500,
    answersQueries: true,
    fieldsIn: ({ tlvs }) => tlvs.flatMap(({ field }) => (field === undefined ? [] : [field])),
    create: (name, config, { clock, log = SILENT, noticed = () => {} }) =>
      createSmpp(name, config, { clock, log, noticed }),
  }),
} as const satisfies Readonly<Record<string, Kind>>;
export type ConnectorKind = keyof typeof kinds;

const SILENT: KannelDependencies['log'] = { info: () => {}, warn: () => {} };

const forKannel = ({ clock, log = SILENT }: ConnectorDependencies): KannelDependencies => ({ ...clock, log });

export const kindNames = Object.keys(kinds) as ConnectorKind[];

/** For a configuration that was checked. */
export function defaultSubmissionsMax(kind: ConnectorKind, config: Readonly<Record<string, unknown>>): number {
  const { submissionsMax = 1 } = kinds[kind] ?? {};
  return typeof submissionsMax === 'number' ? submissionsMax : submissionsMax(config);
}

/** Whether carriers of a stored connector may be asked what became of a message. */
export const answersQueries = (kind: string): boolean =>
  kinds[currentKind(kind) as ConnectorKind]?.answersQueries === true;

/** The names of `carrierFields` that a stored connector sends. */
export const fieldNames = (kind: string, config: Readonly<Record<string, unknown>>): readonly string[] =>
  namedBy('fieldsIn', kind, config);

/** Where a stored connector sends messages by HTTP. */
export const sendingUrls = (kind: string, config: Readonly<Record<string, unknown>>): readonly string[] =>
  namedBy('urlsIn', kind, config);

function namedBy(
  what: 'fieldsIn' | 'urlsIn',
  kind: string,
  config: Readonly<Record<string, unknown>>,
): readonly string[] {
  const found = kinds[currentKind(kind) as ConnectorKind];
  const parsed = found?.[what] ? found.config.safeParse(config) : undefined;
  return parsed?.success ? (found?.[what]?.(parsed.data) ?? []) : [];
}

/** Former names of kinds, which are read for one more version. */
const FORMER_KINDS: ReadonlyMap<unknown, ConnectorKind> = new Map([['webhook', 'callback']]);

/**
 * The kind of a stored connector. A row keeps the name that it was stored with, so that processes
 * of the version before, which may run beside this one during an upgrade, can read it.
 */
export const currentKind = (kind: string): string => FORMER_KINDS.get(kind) ?? kind;

/** A kind as it is given, by its name or a former one. */
export const kindField = z.preprocess((given) => FORMER_KINDS.get(given) ?? given, z.enum(kindNames));

/** Throws ZodError if the configuration does not fit the kind. */
export function createConnector(
  name: string,
  kind: string,
  config: Readonly<Record<string, unknown>>,
  deps: ConnectorDependencies,
): Connector {
  const found = kinds[currentKind(kind) as ConnectorKind];
  if (!found) throw new TypeError(`there is no connector of the kind ${kind}`);
  return found.create(name, found.config.parse(config), deps);
}

/** The configuration without its secrets. */
export const shownConfig = (kind: string, config: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const secrets: readonly string[] = kinds[currentKind(kind) as ConnectorKind]?.secrets ?? Object.keys(config);
  return Object.fromEntries(
    Object.entries(config).map(([field, value]) => [field, secrets.includes(field) ? '…' : value]),
  );
};

/**
 * Adds the stored secrets that are not given again. Throws Problem `bad-argument` if something
 * changed that decides where they go, so that a stored secret never goes to another address.
 */
export function withStoredSecrets(
  kind: ConnectorKind,
  given: Readonly<Record<string, unknown>>,
  stored: { readonly kind: string; readonly config: Readonly<Record<string, unknown>> },
): Record<string, unknown> {
  const { secrets = [], places = [], config } = kinds[kind] ?? {};
  const kept = secrets.filter((name) => given[name] === undefined && stored.config[name] !== undefined);
  if (kept.length === 0) return { ...given };
  const all = { ...given, ...Object.fromEntries(kept.map((name) => [name, stored.config[name]])) };
  const next: Readonly<Record<string, unknown>> = config?.safeParse(all).data ?? all;
  const isSame = (name: string) => JSON.stringify(next[name]) === JSON.stringify(stored.config[name]);
  if (currentKind(stored.kind) === kind && places.every(isSame)) return all;
  const detail = 'the address has changed, so give this secret again';
  const errors = kept.map((name) => ({ pointer: `#/config/${name}`, detail }));
  throw new Problem('bad-argument', kept.map((name) => `config/${name}: ${detail}`).join('; '), { errors });
}

/** A field of a configuration, for those who ask for it with a form. */
export interface ConfigField {
  readonly name: string;
  /** `pairs` are names with texts; `json` is everything that is no single value. */
  readonly type: 'text' | 'number' | 'flag' | 'choice' | 'pairs' | 'json';
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly says: string;
  readonly default: string | null;
  readonly choices: readonly string[];
}

interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly description?: string;
  readonly additionalProperties?: { readonly type?: string };
}

/** The fields of a kind, from its schema. */
export function configFields(kind: ConnectorKind): ConfigField[] {
  const { config, secrets } = kinds[kind];
  const schema = z.toJSONSchema(config, { io: 'input', unrepresentable: 'any' }) as {
    readonly properties?: Readonly<Record<string, FieldSchema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    type: typeOf(field),
    isRequired: schema.required?.includes(name) ?? false,
    isSecret: (secrets as readonly string[]).includes(name),
    says: field.description ?? '',
    default: field.default === undefined ? null : textOf(field.default),
    choices: (field.enum ?? []).map(String),
  }));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function typeOf({ type, enum: choices, additionalProperties }: FieldSchema): ConfigField['type'] {
  if (choices) return 'choice';
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'flag';
  return type === 'object' && additionalProperties?.type === 'string' ? 'pairs' : 'json';
}

/** Adds the defaults. Throws Problem `bad-argument`, which names every field that is wrong. */
export function checkConfig(kind: ConnectorKind, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const found = kinds[kind];
  if (!found) throw badField('kind', `expected one of ${kindNames.join(', ')}`);
  const parsed = found.config.safeParse(config);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(({ path, message }) => ({
    pointer: `#/config${path.map((step) => `/${String(step)}`).join('')}`,
    detail: message,
  }));
  const words = errors.map(({ pointer, detail }) => `${pointer.slice('#/'.length)}: ${detail}`);
  throw new Problem('bad-argument', words.join('; '), { errors });
}
