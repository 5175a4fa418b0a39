import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import type {
  DataSetType,
  ListType,
  Operation,
  RecordType,
  ResultType,
  Scalar,
} from '../../src/asmx/contract/types.ts';
import { readXml, type XmlElement } from '../../src/asmx/xml/reader.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Config } from '../../src/config/settings.ts';
import type { App } from '../../src/serve/compose/contract.ts';
import { readAccount } from '../../src/transfer/account-json.ts';
import { exportAccounts } from '../../src/transfer/export.ts';
import { type Engine, engines } from './engines.ts';
import { LIMITS } from './limits.ts';
import { type Arguments, ENVELOPES, NAMESPACE, PROTOCOLS, type Protocol } from './protocols.ts';
import { ACME, type Answer, type Service, startService } from './service.ts';

/** Answers as a client understands them: values out of replies, read strictly and held against the contract's types. */
export interface Client {
  readonly protocol: Protocol;
  readonly userId: string;
  readonly service: Service;
  /** The value of a call that succeeds. */
  ask<G extends GroupName, O extends OperationName<G>>(
    group: G,
    operation: O,
    args?: Arguments,
  ): Promise<Reading<ResultOf<G, O>>>;
  /** What a call that fails is told. */
  refused(group: string, operation: string, args?: Arguments): Promise<Refusal>;
  /** The reply as it is. */
  raw(group: string, operation: string, args?: Arguments): Promise<Answer>;
  /** Brings in an account with these fields of the import format; a client that acts as it. */
  newcomer(fields: Readonly<Record<string, unknown>>): Promise<Client>;
  /** The same client with another user_id. */
  as(userId: string): Client;
  /** The client's account with everything in it, as the export writes it. */
  exported(): Promise<string>;
}

type Table = typeof contract;
type GroupName = keyof Table & string;
type OperationName<G extends GroupName> = keyof Table[G] & string;
type ResultOf<G extends GroupName, O extends OperationName<G>> =
  Table[G][O] extends Operation<infer _P, infer R> ? R : never;

/** A record or a row: what is absent is not in it. */
export type Row = Readonly<Record<string, string>>;
export interface DataSetReading {
  /** `[name, type]` as the schema declares them, in its order. */
  readonly columns: readonly (readonly [string, string])[];
  readonly rows: Row[];
}
type Reading<R extends ResultType> =
  R extends Scalar<'boolean'>
    ? boolean
    : R extends Scalar<'long'>
      ? bigint
      : R extends RecordType
        ? Row | null
        : R extends ListType<Scalar>
          ? string[]
          : R extends ListType
            ? Row[]
            : R extends DataSetType
              ? DataSetReading
              : never;

export interface Refusal {
  readonly kind: string;
  readonly message: string;
}

/** One test for each protocol (see protocolsFor), each on its own copy of the sample data. */
export function inEveryProtocol(
  engine: Engine,
  name: string,
  work: (client: Client) => Promise<void>,
  settings: Partial<Config> = {},
): void {
  for (const protocol of protocolsFor(engine)) {
    test(`${name} (${protocol})`, async () => {
      const service = await startService(engine, 'sample', settings);
      try {
        await work(clientOf(service, protocol));
      } finally {
        await service.stop();
      }
    });
  }
}

/** One test for all protocols, on one copy of the sample data, which has to stay as it is. */
export function withoutChange(engine: Engine, name: string, work: (client: Client) => Promise<void>): void {
  const protocols = protocolsFor(engine);
  test(`${name} (${protocols.join(', ')})`, async () => {
    const service = await startService(engine);
    try {
      for (const protocol of protocols) {
        const client = clientOf(service, protocol);
        const before = await client.exported();
        await work(client);
        assert.equal(await client.exported(), before, protocol);
      }
    } finally {
      await service.stop();
    }
  });
}

/**
 * All protocols on the first engine, and one after the other on the next engines. The protocol of a
 * call does not depend on where the data is.
 */
export const protocolsFor = (engine: Engine): readonly Protocol[] =>
  engine === engines[0] ? PROTOCOLS : [PROTOCOLS[turn++ % PROTOCOLS.length] as Protocol];

let turn = 0;

export function clientOf(service: Service, protocol: Protocol, userId = ACME, username = 'acme'): Client {
  const raw: Client['raw'] = (group, operation, args = {}) =>
    service.call(protocol, group, operation, { user_id: userId, ...args });
  return {
    protocol,
    userId,
    service,
    raw,
    async ask(group, operation, args) {
      const { result } = contract[group][operation] as unknown as Operation;
      const answer = await raw(group, operation, args);
      assert.equal(answer.status, 200, `${answer.text}\n${service.logged.at(-1) ?? ''}`);
      // biome-ignore lint/suspicious/noExplicitAny: the table says which, and the type above repeats it
      return readResult(protocol, operation, result, answer) as any;
    },
    refused: async (group, operation, args) => readRefusal(protocol, await raw(group, operation, args)),
    async newcomer(fields) {
      const name = `newcomer-${++newcomers}`;
      const named = { userID: `secret of ${name}`, username: name, ...fields };
      await adopt(service.app, named);
      return clientOf(service, protocol, named.userID, named.username);
    },
    as: (other) => clientOf(service, protocol, other, username),
    exported: () => exportOf(service.app, username),
  };
}

let newcomers = 0;

/** Imports one account; what the format demands and the test does not care about is filled in. */
export async function adopt(app: App, fields: Readonly<Record<string, unknown>>): Promise<void> {
  const demanded = { credits: 0, usedCredits: 0, datetimeCreated: '2026-01-01T00:00:00Z' };
  await app.archive.load(await readAccount({ ...demanded, ...fields }, Date.UTC(2026, 0, 1)));
}

/** All accounts, or the one that is named, as NDJSON. */
export async function exportOf(app: App, username: string | null = null): Promise<string> {
  const pieces: string[] = [];
  await exportAccounts(
    app.archive,
    { ndjson: true, username, clock: systemClock },
    async (piece) => void pieces.push(piece),
  );
  return pieces.join('');
}

export function readResult(protocol: Protocol, operation: string, type: ResultType, answer: Answer): unknown {
  const element = resultElement(protocol, operation, answer.text);
  if (type.kind === 'record') return element && !isNil(element) ? rowOf(element) : null;
  assert.ok(element, `a reply without result: ${answer.text}`);
  if (type.kind === 'dataSet') return readDataSet(element);
  if (type.kind === 'list') {
    const items = element.children;
    for (const item of items) assert.equal(item.local, type.item.name);
    return type.item.kind === 'record' ? items.map(rowOf) : items.map(({ text }) => text);
  }
  if (type.name === 'long') return BigInt(element.text);
  assert.match(element.text, /^(true|false)$/);
  return element.text === 'true';
}

function resultElement(protocol: Protocol, operation: string, text: string): XmlElement | undefined {
  const root = readXml(text, LIMITS);
  if (protocol === 'get' || protocol === 'post') return root;
  const response = only(only(root, ENVELOPES[protocol], 'Body'), NAMESPACE, `${operation}Response`);
  return response.children.length === 0 ? undefined : only(response, NAMESPACE, `${operation}Result`);
}

function only(parent: XmlElement, uri: string, local: string): XmlElement {
  const [child, ...more] = parent.children;
  assert.deepEqual([child?.uri, child?.local, more.length], [uri, local, 0]);
  return child as XmlElement;
}

const isNil = ({ attributes }: XmlElement): boolean =>
  attributes.some(({ local, value }) => local === 'nil' && value === 'true');

const rowOf = ({ children }: XmlElement): Row => {
  const row = Object.fromEntries(children.map(({ local, text }) => [local, text]));
  assert.equal(Object.keys(row).length, children.length, 'a field twice');
  return row;
};

function readDataSet(element: XmlElement): DataSetReading {
  const [schema, diffgram, ...more] = element.children;
  assert.deepEqual([schema?.local, diffgram?.local, more.length], ['schema', 'diffgram', 0]);
  const columns = [...descendants(schema as XmlElement)]
    .filter(({ local, attributes }) => local === 'element' && attributes.some((a) => a.local === 'type'))
    .map(({ attributes }) => {
      const named = Object.fromEntries(attributes.map(({ local, value }) => [local, value]));
      return [named.name ?? '', named.type?.replace(/^xs:/, '') ?? ''] as const;
    });
  const rows = (diffgram as XmlElement).children.flatMap(({ children }) => children);
  return { columns, rows: rows.map(rowOf) };
}

function* descendants(element: XmlElement): Generator<XmlElement> {
  for (const child of element.children) {
    yield child;
    yield* descendants(child);
  }
}

const KINDS: Record<number, string> = { 400: 'bad-argument', 403: 'denied', 404: 'unknown-operation', 500: 'internal' };

export function readRefusal(protocol: Protocol, { status, headers, text }: Answer): Refusal {
  if (protocol === 'get' || protocol === 'post') {
    assert.equal(headers['Content-Type'], 'text/plain; charset=utf-8', text);
    return { kind: KINDS[status] ?? `status ${status}`, message: text.replace(/\n$/, '') };
  }
  assert.equal(status, 500, text);
  const fault = only(only(readXml(text, LIMITS), ENVELOPES[protocol], 'Body'), ENVELOPES[protocol], 'Fault');
  const error = [...descendants(fault)].find(({ uri, local }) => uri === NAMESPACE && local === 'error');
  const { code = '', message = '' } = error ? rowOf(error) : assert.fail(`a fault without error: ${text}`);
  return { kind: code, message };
}
