import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { badField } from '../../base/problem.ts';
import { programText } from '../../base/program-files.ts';
import { urlFault } from '../carrier-requests.ts';
import { fileMistakes } from './file-check.ts';
import { FILE_BYTES_MAX, type Mistake, mistakesOf, type ProviderFile, providerFile } from './form.ts';
import { namedValues, urlOf } from './request.ts';
import { shippedProviders } from './shipped.ts';
import { isEd25519Key, PATH_SECRET } from './signatures.ts';
import { namesIn, parseTemplate } from './template.ts';

/** The configuration of a connector to a provider that a file describes. */

const shippedFile = (name: string): unknown => JSON.parse(programText(`carriers/http/assets/${name}.json`));

const secret = z.string().min(1).max(4_000);
const URL_SECRET = /^[\w-]{24,128}$/;

export const httpConfig = z
  .strictObject({
    provider: z
      .union([z.string().max(100), z.record(z.string(), z.unknown())])
      .describe(`The name of a provider (${shippedProviders.join(', ')}), or the content of a provider file.`),
    settings: z
      .record(z.string(), z.string().min(1).max(500))
      .default({})
      .describe('The settings that the file names.'),
    secrets: z.record(z.string(), secret).default({}).describe('The secrets that the file names.'),
    publicUrl: z
      .url({ protocol: /^https?$/, error: 'expected a URL of https or http' })
      .max(500)
      .refine((given) => !/[?#]/.test(given), 'expected a URL without ? and #')
      .optional()
      .describe('Where the provider reaches the web listener, such as https://sms.example.org.'),
    defaultSender: z.string().min(1).max(20).optional().describe('The sender of messages that have none.'),
    allowPrivate: z.boolean().default(false).describe('Allows private and loopback addresses, and plain http.'),
  })
  .superRefine((config, context) => {
    for (const { path, message } of configMistakes(config))
      context.addIssue({ code: 'custom', path: [...path], message });
  });
export type HttpConfig = z.output<typeof httpConfig>;

/** Throws if the configuration was not checked. */
export const fileOf = ({ provider }: Pick<HttpConfig, 'provider'>): ProviderFile =>
  providerFile.parse(typeof provider === 'string' ? shippedFile(provider) : provider);

/** Of a configuration as it is given, for its secrets; undefined if it has no valid file. */
export function secretNamesOf(provider: unknown): string[] {
  const isKnown = typeof provider !== 'string' || shippedProviders.includes(provider);
  const read = isKnown
    ? providerFile.safeParse(typeof provider === 'string' ? shippedFile(provider) : provider)
    : undefined;
  return read?.success ? secretsOf(read.data).map(bare) : [];
}

const bare = (name: string): string => name.replace('?', '');

/** The secret in the path is asked for by the check of a callback, not by its name. */
const secretsOf = ({ secrets, callbacks }: ProviderFile): string[] => [
  ...secrets,
  ...(callbacks.some(({ check }) => check.kind === 'secretPath') ? [PATH_SECRET] : []),
];

/** Each process submits so many at a time that none waits long for its turn. */
export function submissionsMaxOf(config: HttpConfig): number {
  const { window, ratePerSecond = window } = fileOf(config).limits;
  return Math.max(1, Math.min(window, Math.ceil(ratePerSecond * TURN_SECONDS)));
}
const TURN_SECONDS = 5;

/**
 * In the connector file, whose author has the rights of the service, `provider` may be the path of
 * a file, and a secret may be in a file or in a variable. An API must not read those.
 */
export function httpFromFile(config: Readonly<Record<string, unknown>>, folder: string): Record<string, unknown> {
  const { provider, secrets } = config;
  const isPath = typeof provider === 'string' && provider.endsWith('.json');
  const given = typeof secrets === 'object' && secrets !== null ? secrets : {};
  return {
    ...config,
    ...(isPath && { provider: readProvider(resolve(folder, provider)) }),
    ...(secrets !== undefined && {
      secrets: Object.fromEntries(Object.entries(given).map(([name, value]) => [name, secretOf(name, value, folder)])),
    }),
  };
}

function readProvider(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw badField('config/provider', code ? `${path} cannot be read (${code})` : `${path} is not JSON: ${message}`);
  }
}

function secretOf(name: string, value: unknown, folder: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { env, file } = value as { readonly env?: unknown; readonly file?: unknown };
  const place = `config/secrets/${name}`;
  if (typeof env === 'string') {
    const found = process.env[env];
    if (!found) throw badField(place, `the environment has no variable ${env}`);
    return found;
  }
  if (typeof file !== 'string') return value;
  try {
    return readFileSync(resolve(folder, file), 'utf8').replace(/\r?\n$/, '');
  } catch (thrown) {
    throw badField(place, `the file of this secret cannot be read (${(thrown as NodeJS.ErrnoException).code})`);
  }
}

function configMistakes(config: HttpConfig): Mistake[] {
  const { provider } = config;
  if (typeof provider === 'string' && !shippedProviders.includes(provider)) {
    const known = `there is no provider of this name; expected one of ${shippedProviders.join(', ')}, or the content of a file`;
    return [{ path: ['provider'], message: known }];
  }
  if (typeof provider !== 'string' && Buffer.byteLength(JSON.stringify(provider)) > FILE_BYTES_MAX)
    return [{ path: ['provider'], message: `the file has more than ${FILE_BYTES_MAX} bytes` }];
  const read = providerFile.safeParse(typeof provider === 'string' ? shippedFile(provider) : provider);
  const ofFile = read.success ? fileMistakes(read.data) : mistakesOf(read.error);
  if (!read.success || ofFile.length > 0) {
    return ofFile.map(({ path, message }) => ({ path: ['provider', ...path], message }));
  }
  const named = [
    ...missing(config, 'settings', read.data.settings),
    ...missing(config, 'secrets', secretsOf(read.data)),
  ];
  return named.length > 0 ? named : [...keyMistakes(config, read.data), ...addressMistakes(config, read.data)];
}

function missing(config: HttpConfig, field: 'settings' | 'secrets', names: readonly string[]): Mistake[] {
  const given = Object.keys(config[field]);
  const what = field === 'settings' ? 'setting' : 'secret';
  const absent = names.filter((name) => !name.endsWith('?') && !given.includes(name));
  const unknown = given.filter((name) => !names.map(bare).includes(name));
  const known = names.map(bare).join(', ') || 'none';
  return [
    ...absent.map((name) => ({ path: [field, name], message: `the provider file asks for this ${what}` })),
    ...unknown.map((name) => ({
      path: [field, name],
      message: `the provider file has no such ${what}; it has ${known}`,
    })),
  ];
}

function keyMistakes({ secrets, settings, publicUrl }: HttpConfig, file: ProviderFile): Mistake[] {
  const mistakes: Mistake[] = [];
  const own = secrets[PATH_SECRET];
  if (own !== undefined && !URL_SECRET.test(own))
    mistakes.push({ path: ['secrets', PATH_SECRET], message: 'expected 24 to 128 of the characters A-Z a-z 0-9 _ -' });
  for (const { check } of file.callbacks) {
    if (check.kind !== 'ed25519' || isEd25519Key(settings[check.publicKey] ?? '')) continue;
    mistakes.push({
      path: ['settings', check.publicKey],
      message: 'expected a public key of Ed25519, 32 bytes in base64',
    });
  }
  if (publicUrl === undefined && file.callbacks.length > 0)
    mistakes.push({ path: ['publicUrl'], message: 'the provider calls back, so it must know this address' });
  return mistakes;
}

/** Where messages go, with `x` for what only a message has. The configuration was checked. */
export function requestUrl(config: HttpConfig): string {
  const named = namedValues(config);
  return urlOf(fileOf(config).request.url, (name) => named(name) ?? 'x');
}

/** Addresses that are known before a message is there. */
function addressMistakes(config: HttpConfig, file: ProviderFile): Mistake[] {
  const token = file.request.auth?.kind === 'token' ? file.request.auth.request : undefined;
  const urls: [PropertyKey[], string | undefined][] = [
    [['request', 'url'], file.request.url],
    [['request', 'auth', 'request', 'url'], token?.url],
    [['poll', 'request', 'url'], file.poll?.request.url],
    [['probe', 'url'], file.probe?.url],
  ];
  return urls.flatMap(([path, template]): Mistake[] => {
    if (template === undefined) return [];
    const named = namedValues(config);
    const [setting] = namesIn(parseTemplate(template)).filter((name) => name.startsWith('setting.'));
    const text = urlOf(template, (name) => named(name) ?? 'x');
    const isAddress = URL.canParse(text) && /^https?:\/\/[^/@]+(?:\/|$)/.test(text);
    const fault = isAddress
      ? config.allowPrivate
        ? null
        : urlFault(new URL(text))
      : 'this makes no address of http or https';
    if (fault === null) return [];
    // The mistake is in the setting that the address begins with.
    const isOfSetting = setting !== undefined && template.startsWith(`{${setting}`);
    const place = isOfSetting ? ['settings', setting.slice('setting.'.length)] : ['provider', ...path];
    return [{ path: place, message: fault }];
  });
}
