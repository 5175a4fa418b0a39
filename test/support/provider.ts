import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { httpConfig } from '../../src/carriers/http/config.ts';
import { type Check, type ProviderFile, providerFile } from '../../src/carriers/http/form.ts';
import { shippedProviders } from '../../src/carriers/http/shipped.ts';

/** An HTTP provider whose answers the test gives, and the files that describe providers. */
export interface Posted {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Undefined as an answer: the connection ends. */
export async function startProvider(t: TestContext, answer: (posted: Posted, count: number) => Reply | undefined) {
  const posted: Posted[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url: path = '' } = request;
    const headers = request.headers as Record<string, string>;
    const each = { method, path, headers, body: Buffer.concat(chunks).toString('utf8') };
    posted.push(each);
    const reply = answer(each, posted.length);
    if (!reply) return void request.socket.destroy();
    const body = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? '');
    response.writeHead(reply.status, reply.headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { posted, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const read = (path: string): unknown => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));

export interface Captured {
  readonly answers: readonly (Reply & { readonly note: string; readonly expect: Record<string, string> })[];
  readonly callbacks: readonly {
    readonly path: string;
    readonly method?: 'GET' | 'POST';
    readonly query?: string;
    readonly form?: string;
    readonly json?: unknown;
    readonly expect: readonly Record<string, unknown>[];
  }[];
}
export const providerNames = shippedProviders;
export const shippedFile = (name: string) => read(`src/carriers/http/assets/${name}.json`) as Record<string, unknown>;
export const captured = (name: string) => read(`test/carriers/http/captures/${name}.json`) as Captured;

const KEYS = generateKeyPairSync('ed25519');
const PUBLIC_KEY = KEYS.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
const SECRET = 'a-secret-of-this-test';
export const PATH_SECRET = 'a-secret-in-the-path-of-callbacks';
export const PUBLIC_URL = 'https://sms.example.org';

/** The file of a provider that is at another address, with values for all that it asks. */
export function configAt(name: string, url: string) {
  const text = JSON.stringify(shippedFile(name)).replaceAll(
    /https:\/\/(?:\{setting\.region\}\.)?[a-z0-9.-]+(?=\/)/g,
    url,
  );
  const { $schema: _, ...provider } = JSON.parse(text);
  return configOf(provider, url);
}

export function configOf(provider: Record<string, unknown>, url: string) {
  const file = providerFile.parse(provider);
  const settings = file.settings.map((each) => each.replace('?', '')).map((each) => [each, settingOf(each, url)]);
  const secrets = file.secrets.map((each) => [each.replace('?', ''), SECRET]);
  const isInPath = file.callbacks.some(({ check }) => check.kind === 'secretPath');
  return httpConfig.parse({
    provider,
    settings: Object.fromEntries(settings),
    secrets: { ...Object.fromEntries(secrets), ...(isInPath && { callbackSecret: PATH_SECRET }) },
    publicUrl: PUBLIC_URL,
    allowPrivate: true,
    defaultSender: '+27825550100',
  });
}

const settingOf = (name: string, url: string): string =>
  ({ baseUrl: url, publicKey: PUBLIC_KEY, ownNumber: '+27825550100' })[name] ?? name;

/** A callback as the provider sends it, with its signature. */
export function callbackRequest(
  connector: string,
  { callbacks }: Pick<ProviderFile, 'callbacks'>,
  given: Captured['callbacks'][number],
  now: number,
): Request {
  const { path, query, form, json, method = 'POST' } = given;
  const check = callbacks.find((each) => each.path === path)?.check as Check;
  const secret = check.kind === 'secretPath' ? `${PATH_SECRET}/` : '';
  const search = query === undefined ? '' : `?${query}`;
  const target = `/carriers/${connector}/${secret}${path}${search}`;
  const body = form ?? (json === undefined ? '' : JSON.stringify(json));
  const type = form !== undefined ? 'application/x-www-form-urlencoded' : 'application/json';
  const headers = { 'Content-Type': type, ...signedHeaders(check, `${PUBLIC_URL}${target}`, body, now) };
  return new Request(`http://127.0.0.1:8081${target}`, { method, headers, ...(method === 'POST' && { body }) });
}

function signedHeaders(check: Check, url: string, body: string, now: number): Record<string, string> {
  const seconds = String(Math.floor(now / 1_000));
  const [bare = ''] = url.split('?');
  const pieces = (over: readonly string[]) =>
    over.map((piece) => {
      if (piece === 'url') return url;
      if (piece === 'urlWithoutQuery') return bare;
      if (piece === 'body') return body;
      if (piece === 'sortedForm')
        return [...new URLSearchParams(body)]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .flat()
          .join('');
      return piece.startsWith('literal:') ? piece.slice('literal:'.length) : seconds;
    });
  const fields = (over: readonly string[]) =>
    Object.fromEntries(over.filter((each) => each.startsWith('header:')).map((each) => [each.slice(7), seconds]));
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  if (check.kind === 'hmac') {
    const signature = createHmac(check.algorithm, SECRET).update(pieces(check.over).join('')).digest(check.encoding);
    return { ...fields(check.over), [check.header]: signature };
  }
  if (check.kind === 'ed25519') {
    const signature = sign(null, Buffer.from(pieces(check.over).join('')), KEYS.privateKey).toString('base64');
    return { ...fields(check.over), [check.header]: signature };
  }
  if (check.kind !== 'jwt-hs256') return {};
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(now / 1_000) + 600;
  const claims = { exp, aud: [url], url_hash: hash(bare), ...(body !== '' && { payload_hash: hash(body) }) };
  const content = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  const token = `${content}.${createHmac('sha256', SECRET).update(content).digest('base64url')}`;
  return { [check.header]: check.scheme ? `${check.scheme} ${token}` : token };
}
