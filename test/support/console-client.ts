import assert from 'node:assert/strict';
import type { ConsoleRequest } from '../../src/console/app.ts';
import { addOperator, ownerOfOperator } from '../../src/domain/access/operators.ts';
import type { Owner } from '../../src/domain/access/owners.ts';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import type { Actor } from '../../src/operator/actor.ts';
import { perform } from '../../src/operator/perform.ts';
import type { Database } from '../../src/store/database.ts';
import { actionNamed, type OperatorApi } from './operator-api.ts';

/** Somebody with a browser that has no script: a cookie jar, forms, and pages as text. */
export interface ConsolePage {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly location: string | null;
}

export interface ConsoleClient {
  cookie: string;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<ConsolePage>;
  /** As a form of our own page sends it. */
  post(path: string, fields?: Fields, headers?: Readonly<Record<string, string>>): Promise<ConsolePage>;
  upload(path: string, data: FormData): Promise<ConsolePage>;
}
export type Fields = Readonly<Record<string, string | readonly string[]>>;

const TESTER: Actor = { kind: 'command', name: 'tester', tokenId: null, address: null, scopes: [], account: null };

export const act = async <T>(
  api: OperatorApi,
  name: string,
  given: { params?: Record<string, string>; query?: Record<string, string>; body?: unknown },
): Promise<T> => {
  const { params = {}, query = {}, body } = given;
  const { output } = await perform(
    api.services,
    actionNamed(name),
    { params, query, body, upload: new Uint8Array() },
    TESTER,
  );
  return output as T;
};

/** A request as the web listener hands it to the console. */
export const consoleRequest = (request: Request): ConsoleRequest => ({
  request,
  body: async () => new Uint8Array(await request.arrayBuffer()),
  stream: (pieces) => ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()),
  client: '127.0.0.1',
  base: new URL(request.url).origin,
  id: '1',
});

export function createConsoleClient(address: string): ConsoleClient {
  const client: ConsoleClient = {
    cookie: '',
    get: (path, headers = {}) => ask(path, { headers }),
    post: (path, fields = {}, headers = {}) => {
      const body = new URLSearchParams();
      for (const [name, value] of Object.entries(fields)) for (const each of [value].flat()) body.append(name, each);
      return ask(path, { method: 'POST', body, headers: { 'Sec-Fetch-Site': 'same-origin', ...headers } });
    },
    upload: (path, data) => ask(path, { method: 'POST', body: data, headers: { 'Sec-Fetch-Site': 'same-origin' } }),
  };
  async function ask(path: string, init: RequestInit): Promise<ConsolePage> {
    const headers = {
      ...(init.headers as Record<string, string>),
      ...(client.cookie ? { Cookie: client.cookie } : {}),
    };
    const reply = await fetch(address + path, { ...init, headers, redirect: 'manual' });
    for (const line of reply.headers.getSetCookie()) client.cookie = line.split(';')[0] ?? '';
    return {
      status: reply.status,
      headers: reply.headers,
      text: unmarked(await reply.text()),
      location: reply.headers.get('location'),
    };
  }
  return client;
}

/** A page as people read it: without the marks of its numbers, which tell the script their values. */
export const unmarked = (text: string): string => text.replace(/<\/?data\b[^>]*>/g, '');

/** Somebody as the domain knows them; an operator is added. */
export async function ownerOf(database: Database, given: { username: string } | { operator: string }): Promise<Owner> {
  if ('operator' in given) return ownerOfOperator(await addOperator(database, given.operator, 0));
  return { kind: 'account', id: await accountId(database, given.username), name: given.username };
}

/** The path of a new one-time link. */
export async function linkFor(api: OperatorApi, owner: { username: string } | { operator: string }): Promise<string> {
  const { link } =
    'username' in owner
      ? await act<{ link: string }>(api, 'account sign-in-link', { params: { username: owner.username }, body: {} })
      : await act<{ link: string }>(api, 'operator add', { body: { name: owner.operator } });
  return new URL(link).pathname;
}

export async function signedIn(
  api: OperatorApi,
  owner: { username: string } | { operator: string },
): Promise<ConsoleClient> {
  const client = createConsoleClient(api.address);
  const { status, location } = await client.post(await linkFor(api, owner));
  assert.deepEqual([status, location], [303, '/console/']);
  return client;
}
