import { createWriteStream, fchmodSync, fstatSync, openSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { type Handler, isWhole, type Reply, type Request, replyHeader } from '../../base/exchange.ts';

/**
 * Records exchanges to a file as they were sent, in the format of the test cases. A recorded case
 * becomes a test when it is copied. User_ids are masked by as many x, so that lengths stay true.
 *
 * The user_id of a successful call is known, so it is masked wherever it occurs. In any other
 * request it may be anywhere. So only words of the contract and of SOAP are left unmasked there.
 */
export interface ExchangeRecorder {
  wrap(handler: Handler): Handler;
  close(): Promise<void>;
}

export interface RecorderSettings {
  readonly file: string;
  readonly now: () => number;
  readonly onFailed: (thrown: Error) => void;
  /** The user_id of a call that succeeded; undefined for any other request. */
  readonly userIdOf: (request: Request) => string | undefined;
  /** Words that are never secret. */
  readonly words: Iterable<string>;
}

export function createExchangeRecorder(settings: RecorderSettings): ExchangeRecorder {
  const { file, now, onFailed, userIdOf, words } = settings;
  // Opened at once, so that a wrong path fails at the start. An old file may be readable by others.
  const fd = openSync(file, 'a', 0o600);
  if (fstatSync(fd).isFile()) fchmodSync(fd, 0o600); // not for a device
  const output = createWriteStream(file, { fd });
  output.on('error', onFailed); // a full disk ends the recording, not the service
  const maskUnknown = maskExcept(words);
  return {
    wrap: (handler) => async (request) => {
      const reply = await handler(request);
      const body = await bodyOf(request);
      const userId = userIdOf(request);
      const mask = userId !== undefined && isPlain(userId) ? maskOf(userId) : maskUnknown;
      // Only a page repeats parts of a request.
      const isPage = replyHeader(reply, 'Content-Type')?.startsWith('text/html');
      const maskReply = userId !== undefined || isPage ? mask : unmasked;
      const start = `##### ${new Date(now()).toISOString()}\n=== request ===\n`;
      const write = (content: string | Uint8Array) => {
        const parts = [
          start,
          requestBytes(request, body, mask),
          '\n=== response ===\n',
          replyBytes(reply, content, maskReply),
          '\n',
        ];
        // In one write, because other processes may append to the same file.
        output.write(Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array))));
      };
      if (!isWhole(reply.body)) return { ...reply, body: copied(reply.body, write) };
      write(reply.body);
      return reply;
    },
    close: () => new Promise((resolve) => output.end(resolve)),
  };
}

/** Empty if the body was rejected. */
async function bodyOf(request: Request): Promise<Uint8Array> {
  try {
    return await request.body();
  } catch {
    return new Uint8Array();
  }
}

/** Yields the pieces, and passes all of them to `done` at the end. */
async function* copied(pieces: AsyncIterable<string | Uint8Array>, done: (all: Uint8Array) => void) {
  const all: Buffer[] = [];
  for await (const piece of pieces) {
    all.push(Buffer.from(piece as Uint8Array));
    yield piece;
  }
  done(Buffer.concat(all));
}

const latin1 = (body: string | Uint8Array): string => Buffer.from(body as Uint8Array).toString('latin1');

function requestBytes(request: Request, body: Uint8Array, mask: Mask): Buffer {
  const { method, path, query, headers } = request;
  // The body is recorded as it was decoded: whole and decompressed.
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(transfer-encoding|content-encoding|content-length)$/.test(name),
  );
  const fields = kept.flatMap(([name, value]) => [value ?? ''].flat().map((each) => maskField(name, each, mask)));
  const length = body.length > 0 ? `content-length: ${body.length}\r\n` : '';
  const target = mask(query === '' ? path : `${path}?${query}`);
  const head = `${method} ${target} HTTP/1.1\r\n${fields.join('')}${length}\r\n`;
  return Buffer.from(head + maskBody(latin1(body), mask), 'latin1');
}

const unmasked = (text: string): string => text;

function replyBytes(
  { status, headers, closes }: Reply,
  body: string | Uint8Array,
  mask: (text: string) => string,
): Buffer {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((each) => `${name}: ${each}\r\n`),
  );
  const fields = closes ? [...lines, 'Connection: close\r\n'] : lines;
  const text = mask(latin1(body));
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join('')}Content-Length: ${text.length}\r\n\r\n`;
  return Buffer.from(head + text, 'latin1');
}

/** Replaces characters by x. Texts have one character per byte, and keep their length. */
interface Mask {
  (text: string): string;
  /** Masks one user_id only. */
  readonly isForOne: boolean;
}

const masked = (text: string): string => 'x'.repeat(text.length);

// Other user_ids are rare, and would need a pattern for every encoding.
const isPlain = (userId: string): boolean => /^[!-~]{1,128}$/.test(userId);

/** Masks every occurrence of one user_id: plain, percent-encoded, as XML references or mixed. */
function maskOf(userId: string): Mask {
  const pattern = new RegExp([...userId].map(anyEncoding).join('(?:<!\\[CDATA\\[|\\]\\]>){0,9}'), 'gi');
  return Object.assign((text: string) => text.replace(pattern, masked), { isForOne: true });
}

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };

function anyEncoding(character: string): string {
  const code = character.charCodeAt(0);
  const [hex, decimal] = [code.toString(16).padStart(2, '0'), String(code)];
  const entity = ENTITIES[character];
  const raw = `\\u${hex.padStart(4, '0')}`;
  return `(?:${raw}|%(?:25)*${hex}|%u00${hex}|&#0*${decimal};|&#x0*${hex};${entity ? `|&${entity};` : ''})`;
}

const WORD = /[A-Za-z0-9_\x80-\xff]+/g;

function maskExcept(words: Iterable<string>): Mask {
  const known = new Set([...words, ...WIRE_WORDS].map((word) => word.toLowerCase()));
  const mask = (text: string) => text.replace(WORD, (word) => (known.has(word.toLowerCase()) ? word : masked(word)));
  return Object.assign(mask, { isForOne: false });
}

// Words of envelopes and media types.
const WIRE_WORDS =
  'xml version encoding utf 8 16 iso 8859 1 standalone yes no xmlns xsi xsd nil type CDATA Envelope Header Body Fault mustUnderstand actor role soap soap11 soap12 soapenv env s http https schemas xmlsoap org www w3 com 2001 2003 05 XMLSchema instance envelope api asmx wsdl disco op text application plain html json charset action x form urlencoded multipart data boundary'.split(
    ' ',
  );

/** UTF-16 cannot be masked byte by byte, so all of it is masked. */
const maskBody = (text: string, mask: Mask): string => (text.includes('\0') ? masked(text) : mask(text));

// Credentials of a proxy.
const SECRET_FIELD = /^(?:(?:proxy-)?authorization|cookie)$/;
// Fields that name programs and formats, not people.
const OPEN_FIELD = /^(?:host|accept|accept-.*|connection|keep-alive|expect|cache-control|pragma|date)$/;

function maskField(name: string, value: string, mask: Mask): string {
  const shown = SECRET_FIELD.test(name) ? masked(value) : !mask.isForOne && OPEN_FIELD.test(name) ? value : mask(value);
  return `${name}: ${shown}\r\n`;
}
