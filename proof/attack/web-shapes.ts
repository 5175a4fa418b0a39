import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { requestBytes } from '../../test/support/socket.ts';
import { formShapes } from './form-shapes.ts';
import type { WebRoute } from './web-routes.ts';

/** Requests that cost a reader more than others do, for any route of the second listener. */
export interface HostileRequest {
  readonly shape: string;
  readonly make: () => Buffer;
}

const of = (piece: string, bytes: number): string => piece.repeat(Math.ceil(bytes / piece.length)).slice(0, bytes);

/** Texts of a JSON document, whatever the route wants. */
const jsonShapes: Readonly<Record<string, (bytes: number) => string>> = {
  'nested arrays': (bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'nested objects': (bytes) => `${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`,
  'nested arrays without an end': (bytes) => '['.repeat(bytes),
  'many keys': (bytes) => `{${Array.from({ length: bytes / 12 }, (_, index) => `"k${index}":0`).join()}}`,
  'one key again and again': (bytes) => `{${Array.from({ length: bytes / 6 }, () => '"a":0').join()}}`,
  'keys that are numbers': (bytes) =>
    `{${Array.from({ length: bytes / 14 }, (_, index) => `"${index * 7_919}":0`).join()}}`,
  'a number of many digits': (bytes) => `{"a":${of('9', bytes)}}`,
  'many numbers': (bytes) => `[${of('0,', bytes)}0]`,
  'many empty objects': (bytes) => `[${of('{},', bytes - (bytes % 3))}{}]`,
  'a text of escapes': (bytes) => `{"a":"${of('\\u0041', bytes - (bytes % 6))}"}`,
};

type Shapes = Readonly<Record<string, (bytes: number) => unknown>>;

const valueShapes: Shapes = {
  'a long text': (bytes) => of('a', bytes),
  'a long text beyond GSM 7-bit': (bytes) => of('я', bytes / 2),
  'the longest text beyond GSM 7-bit': () => of('я', 10_000),
  'many texts': (bytes) => Array.from({ length: bytes / 10 }, (_, index) => `t${index}`),
  'many objects': (bytes) => Array.from({ length: bytes / 16 }, () => ({ a: [] })),
  'many keys': (bytes) => Object.fromEntries(Array.from({ length: bytes / 12 }, (_, index) => [`k${index}`, 0])),
};

/** The example of the route with one field made large. */
const fieldShapes = (example: unknown, fields: readonly string[]): [string, (bytes: number) => string][] =>
  fields.flatMap((field) =>
    Object.entries(valueShapes).map(([shape, make]): [string, (bytes: number) => string] => [
      `${field}: ${shape}`,
      (bytes) => JSON.stringify({ ...(example as object), [field]: make(bytes) }),
    ]),
  );

/** Where a route takes recipients: as many as it takes, each with a text of its own. */
const thousandTexts = (bytes: number): string =>
  JSON.stringify({
    recipients: Array.from({ length: 1_000 }, (_, index) => `+2782555${1_000 + index}`),
    texts: Array.from({ length: 1_000 }, (_, index) => `${index}${of('€я', Math.min(300, bytes / 5_000))}`),
  });

const csvShapes: Readonly<Record<string, (bytes: number) => string>> = {
  'commas alone': (bytes) => of(',', bytes),
  'rows of commas': (bytes) => `mobile${of(`${of(',', 200)}\n`, bytes)}`,
  'line ends alone': (bytes) => of('\n', bytes),
  'quotes alone': (bytes) => of('"', bytes),
  'one open quote': (bytes) => `mobile\n"${of('a', bytes)}`,
  'short rows': (bytes) => `mobile\n${of('0\n', bytes)}`,
  'bytes that are no UTF-8': (bytes) => `mobile\n${of('\xff\xfe\n', bytes)}`,
};

const multipart = (bytes: number): string =>
  `${of('--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n', bytes - (bytes % 52))}--x--\r\n`;

const field = (name: string, more: string, content: string): string =>
  `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n--x--\r\n`;
const packed = (bytes: Uint8Array): string => gzipSync(bytes, { level: 1 }).toString('base64');

/** A screen that takes a file may give it back compressed, in a hidden field of the next step. */
const fileShapes: Readonly<Record<string, (bytes: number) => string>> = {
  ...Object.fromEntries(
    Object.entries(csvShapes).map(([shape, make]) => [
      `a file of ${shape}`,
      (bytes: number) => field('file', '; filename="a.csv"', make(bytes)),
    ]),
  ),
  'a file of random bytes': (bytes) =>
    field('file', '; filename="a.csv"', `mobile\n${randomBytes(bytes).toString('latin1')}`),
  'a file of random cells': (bytes) =>
    field(
      'file',
      '; filename="a.csv"',
      `mobile\n${randomBytes(bytes / 2)
        .toString('hex')
        .replaceAll(/(.{60})/g, '$1\n')}`,
    ),
  'a kept file of zeros': (bytes) => field('kept', '', packed(Buffer.alloc(bytes, '0'))),
  'a kept file of random bytes': (bytes) => field('kept', '', packed(randomBytes(bytes))),
  'a kept file that is too large': (bytes) => field('kept', '', packed(Buffer.alloc(100 * bytes))),
  'a kept file that is broken': (bytes) => field('kept', '', `H4sIAAAAAAAEAwAAAP//${of('AAAA', bytes)}`),
};

const QUERY_BYTES = 50_000;

function* queries({ query }: WebRoute): Generator<[string, string]> {
  yield ['a query of names', of('a&', QUERY_BYTES)];
  yield ['a query of pairs', of('a=1&', QUERY_BYTES)];
  for (const name of query.slice(0, 30)) yield [`a long ${name}`, `${name}=${of('%D1%8F', QUERY_BYTES)}`];
}

const HEADERS: Readonly<Record<string, string>> = {
  'many cookies': `Cookie: ${of('columba=a; ', 50_000)}`,
  'many forwarding addresses': `X-Forwarded-For: ${of('192.0.2.1, ', 50_000)}`,
  'a long token': `Authorization: Bearer ${of('a', 50_000)}`,
  'blanks in a token': `Authorization: Bearer ${of(' ', 50_000)}a`,
  'many header fields': Array.from({ length: 3_000 }, (_, index) => `x${index}: a`).join('\r\n'),
  'a long agent': `User-Agent: ${of('a ', 50_000)}`,
};

/** With bodies of at most so many bytes. */
export function* hostileRequests(
  route: WebRoute,
  caller: readonly string[],
  bytesMax: number,
): Generator<HostileRequest> {
  const { method, path, body } = route;
  const request = (target: string, fields: readonly string[], content: string | Uint8Array = '') =>
    requestBytes(
      `${method} ${target} HTTP/1.1`,
      ['Host: localhost', 'Connection: close', ...caller, ...fields],
      content,
    );
  for (const [shape, type, content] of bodies(route, bytesMax)) {
    yield { shape, make: () => request(path, [`Content-Type: ${type}`], Buffer.from(content(), 'latin1')) };
  }
  for (const [shape, query] of queries(route)) yield { shape, make: () => request(`${path}?${query}`, []) };
  for (const [shape, field] of Object.entries(HEADERS)) yield { shape, make: () => request(path, [field]) };
  const example = body?.example === undefined ? '' : JSON.stringify(body.example);
  yield { shape: 'as it is', make: () => request(path, body ? [`Content-Type: ${body.type}`] : [], example) };
}

const MULTIPART = 'multipart/form-data; boundary=x';
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** The contents have one character for each byte. */
function* bodies(
  { method, body }: WebRoute,
  bytesMax: number,
): Generator<[shape: string, type: string, make: () => string]> {
  const json = Math.min(bytesMax, 1_000_000);
  const form = Math.min(bytesMax, 250_000);
  if (body?.type === 'text/csv') {
    for (const [shape, make] of Object.entries(csvShapes)) yield [shape, body.type, () => make(bytesMax)];
  } else if (body === null || body.type.includes('json')) {
    if (method === 'GET') return;
    const type = body?.type ?? 'application/json';
    const shapes = [...Object.entries(jsonShapes), ...fieldShapes(body?.example, body?.fields ?? [])];
    for (const [shape, make] of shapes) yield [shape, type, () => latin1(make(json))];
    if (body?.fields.includes('recipients')) yield ['1,000 texts', type, () => latin1(thousandTexts(json))];
  } else {
    for (const [shape, make] of Object.entries(formShapes)) yield [shape, body.type, () => make(form)];
    const share = Math.floor(form / body.fields.length) - 40;
    yield ['all fields long', body.type, () => body.fields.map((name) => `${name}=${of('%D1%8F', share)}`).join('&')];
    yield ['multipart', MULTIPART, () => multipart(json)];
    if (!body.takesFile) return;
    for (const [shape, make] of Object.entries(fileShapes)) yield [shape, MULTIPART, () => make(bytesMax)];
  }
}
