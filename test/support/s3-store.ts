import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A strict S3-compatible store in memory. It verifies every signature from the bytes that arrived,
 * knows one bucket, in the path or in the host name, and refuses what it does not know. `fault` replaces the answer to a request.
 */
export interface S3Store {
  readonly endpoint: string;
  /** Settings of a service or command that uses it. */
  readonly env: Readonly<Record<string, string>>;
  readonly objects: Map<string, Buffer>;
  readonly requests: string[];
  fault: Fault | null;
  close(): Promise<void>;
}
/** Returns whether it answered. */
export type Fault = (request: IncomingMessage, response: ServerResponse, content: Buffer) => boolean;

export const BUCKET = 'backups';
export const ACCESS_KEY = 'AKIDTESTSTORE';
export const SECRET_KEY = 'secret/of+the/store';
export const REGION = 'test-region-1';
const SKEW_MAX_MS = 15 * 60_000;
const PAGE = 7;

export async function startS3Store({ port = 0, now = Date.now }: { port?: number; now?: () => number } = {}) {
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const content = Buffer.concat(chunks);
      store.requests.push(`${request.method} ${request.url}`);
      if (store.fault?.(request, response, content)) return;
      const refusal = refusalOf(request, content, now());
      if (refusal) refuse(response, 403, refusal);
      else answer(request, response, content);
    });
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function answer(request: IncomingMessage, response: ServerResponse, content: Buffer): void {
    const url = new URL(request.url as string, endpoint);
    const [, inHost] = /^(.+)\.localhost:\d+$/.exec(request.headers.host ?? '') ?? [];
    const path = inHost === undefined ? url.pathname : `/${inHost}${url.pathname}`;
    const [, bucket, key = ''] = /^\/([^/]+)\/?(.*)$/.exec(decodeURIComponent(path)) ?? [];
    const found = objects.get(key);
    if (bucket !== BUCKET) refuse(response, 404, 'NoSuchBucket');
    else if (request.method === 'GET' && key === '' && url.searchParams.get('list-type') === '2')
      list(url.searchParams, response);
    else if (request.method === 'PUT' && key !== '') {
      objects.set(key, content);
      response.writeHead(200, { ETag: `"${createHash('md5').update(content).digest('hex')}"` }).end();
    } else if (request.method === 'GET' && !found) refuse(response, 404, 'NoSuchKey');
    else if (request.method === 'GET') response.writeHead(200).end(found);
    else if (request.method === 'DELETE' && key !== '') {
      objects.delete(key);
      response.writeHead(204).end();
    } else refuse(response, 405, 'MethodNotAllowed');
  }

  function list(query: URLSearchParams, response: ServerResponse): void {
    const after = decoded(query.get('continuation-token')) ?? query.get('start-after') ?? '';
    const prefix = query.get('prefix') ?? '';
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = keys.slice(0, PAGE);
    const isCut = keys.length > PAGE;
    const next = isCut
      ? `<NextContinuationToken>${Buffer.from(`?>~${page.at(-1)}`).toString('base64')}</NextContinuationToken>`
      : '';
    const contents = page.map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`).join('');
    response.writeHead(200, { 'Content-Type': 'application/xml' });
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>${isCut}</IsTruncated>${next}${contents}</ListBucketResult>`,
    );
  }

  const store: S3Store = {
    endpoint,
    env: {
      COLUMBA_BACKUP_S3_ENDPOINT: endpoint,
      COLUMBA_BACKUP_S3_REGION: REGION,
      COLUMBA_BACKUP_S3_ACCESS_KEY: ACCESS_KEY,
      COLUMBA_BACKUP_S3_SECRET_KEY: SECRET_KEY,
    },
    objects,
    requests: [],
    fault: null,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return store;
}

/** Tokens are opaque, and have characters that a query must escape. */
const decoded = (token: string | null): string | undefined =>
  token === null ? undefined : Buffer.from(token, 'base64').toString().slice(3);

export const refuse = (response: ServerResponse, status: number, code: string): void => {
  response.writeHead(status, { 'Content-Type': 'application/xml' });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>no</Message></Error>`);
};

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The code of the error, or null if the request is signed as it should be. */
function refusalOf({ method, url, headers }: IncomingMessage, content: Buffer, now: number): string | null {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;
  const [, access, day, region, names = '', signature] = form.exec(headers.authorization ?? '') ?? [];
  if (access === undefined) return 'AccessDenied';
  if (access !== ACCESS_KEY) return 'InvalidAccessKeyId';
  if (region !== REGION) return 'AuthorizationHeaderMalformed';
  const time = String(headers['x-amz-date']);
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(Math.abs(at - now) <= SKEW_MAX_MS) || !time.startsWith(String(day))) return 'RequestTimeTooSkewed';
  if (headers['x-amz-content-sha256'] !== sha256(content)) return 'XAmzContentSHA256Mismatch';
  const signed = names.split(';');
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((each) => signed.includes(each))) return 'AccessDenied';
  const [path = '', query = ''] = (url as string).split('?');
  const lines = signed.map((name) => `${name}:${headers[name]}\n`).join('');
  const canonical = [method, path, query.split('&').sort().join('&'), lines, names, sha256(content)].join('\n');
  const text = ['AWS4-HMAC-SHA256', time, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(
    (from, part) => hmac(from, String(part)),
    `AWS4${SECRET_KEY}`,
  );
  return hmac(key, text).toString('hex') === signature ? null : 'SignatureDoesNotMatch';
}
