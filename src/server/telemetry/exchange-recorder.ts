import { createWriteStream, fchmodSync, fstatSync, openSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { type Handler, isWhole, type Reply, type Request, replyHeader } from '../../exchange.ts';

/**
 * Writes exchanges to a file as they went over the wire, in the form of the test cases, so that a case from the field becomes
 * a test by copying. No user_id is in the file: characters of it become as many x, so that lengths stay true.
 *
 * A call that succeeded tells its user_id: that is masked wherever it stands. Of any other request nobody knows where a
 * user_id is, or how it is written. So only the words of the contract and of SOAP are kept of it.
 */
export interface Trace {
  around(handle: Handler): Handler;
  close(): Promise<void>;
}

export interface TraceSettings {
  readonly file: string;
  readonly now: () => number;
  readonly failed: (thrown: Error) => void;
  /** The user_id of a call that succeeded; undefined for any other request. */
  readonly userIdOf: (request: Request) => string | undefined;
  /** That are no secret wherever they stand. */
  readonly words: Iterable<string>;
}

export function createTrace({ file, now, failed, userIdOf, words }: TraceSettings): Trace {
  // Opened at once, so that a wrong path is told at the start; a file that was there may have been open to others.
  const fd = openSync(file, 'a', 0o600);
  if (fstatSync(fd).isFile()) fchmodSync(fd, 0o600); // a device is there for others too
  const output = createWriteStream(file, { fd });
  output.on('error', failed); // a full disk ends the trace, not the service
  const keepWords = wordKeeper(words);
  return {
    around: (handle) => async (request) => {
      const reply = await handle(request);
      const body = await bodyOf(request);
      const userId = userIdOf(request);
      const mask = userId !== undefined && isPlain(userId) ? masker(userId) : keepWords;
      // Only a page repeats words of a request.
      const isPage = replyHeader(reply, 'Content-Type')?.startsWith('text/html');
      const maskReply = userId !== undefined || isPage ? mask : asItIs;
      const start = `##### ${new Date(now()).toISOString()}\n=== request ===\n`;
      const write = (content: string | Uint8Array) => {
        const parts = [
          start,
          requestBytes(request, body, mask),
          '\n=== response ===\n',
          replyBytes(reply, content, maskReply),
          '\n',
        ];
        // One piece, because other processes may append to the same file.
        output.write(Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array))));
      };
      if (!isWhole(reply.body)) return { ...reply, body: copied(reply.body, write) };
      write(reply.body);
      return reply;
    },
    close: () => new Promise((resolve) => output.end(resolve)),
  };
}

/** None where it was not taken. */
async function bodyOf(request: Request): Promise<Uint8Array> {
  try {
    return await request.body();
  } catch {
    return new Uint8Array();
  }
}

/** The same pieces, and in the end all of them. */
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
  // The body as it was read: whole, and not compressed.
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(transfer-encoding|content-encoding|content-length)$/.test(name),
  );
  const fields = kept.flatMap(([name, value]) => [value ?? ''].flat().map((each) => maskField(name, each, mask)));
  const length = body.length > 0 ? `content-length: ${body.length}\r\n` : '';
  const target = mask(query === '' ? path : `${path}?${query}`);
  const head = `${method} ${target} HTTP/1.1\r\n${fields.join('')}${length}\r\n`;
  return Buffer.from(head + maskBody(latin1(body), mask), 'latin1');
}

const asItIs = (text: string): string => text;

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

/** Keeps the length of a text of one character a byte. */
interface Mask {
  (text: string): string;
  /** Of one user_id, so that all else can be read. */
  readonly isForOne: boolean;
}

const crossed = (text: string): string => 'x'.repeat(text.length);

// Others are too rare to be worth a pattern for every way of writing them.
const isPlain = (userId: string): boolean => /^[!-~]{1,128}$/.test(userId);

/** Every occurrence of one user_id: as it is, in percent signs, in references of XML, in a mixture, in any letter case. */
function masker(userId: string): Mask {
  const pattern = new RegExp([...userId].map(anyForm).join('(?:<!\\[CDATA\\[|\\]\\]>){0,9}'), 'gi');
  return Object.assign((text: string) => text.replace(pattern, crossed), { isForOne: true });
}

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };

function anyForm(character: string): string {
  const code = character.charCodeAt(0);
  const [hex, decimal] = [code.toString(16).padStart(2, '0'), String(code)];
  const entity = ENTITIES[character];
  const raw = `\\u${hex.padStart(4, '0')}`;
  return `(?:${raw}|%(?:25)*${hex}|%u00${hex}|&#0*${decimal};|&#x0*${hex};${entity ? `|&${entity};` : ''})`;
}

const WORD = /[A-Za-z0-9_\x80-\xff]+/g;

function wordKeeper(words: Iterable<string>): Mask {
  const known = new Set([...words, ...WIRE_WORDS].map((word) => word.toLowerCase()));
  const mask = (text: string) => text.replace(WORD, (word) => (known.has(word.toLowerCase()) ? word : crossed(word)));
  return Object.assign(mask, { isForOne: false });
}

// Of envelopes and media types.
const WIRE_WORDS =
  'xml version encoding utf 8 16 iso 8859 1 standalone yes no xmlns xsi xsd nil type CDATA Envelope Header Body Fault mustUnderstand actor role soap soap11 soap12 soapenv env s http https schemas xmlsoap org www w3 com 2001 2003 05 XMLSchema instance envelope api asmx wsdl disco op text application plain html json charset action x form urlencoded multipart data boundary'.split(
    ' ',
  );

/** Two bytes a character: what is in it cannot be told byte by byte, so nothing of it is kept. */
const maskBody = (text: string, mask: Mask): string => (text.includes('\0') ? crossed(text) : mask(text));

// Credentials that are none of ours, but of what stands before us.
const SECRET_FIELD = /^(?:(?:proxy-)?authorization|cookie)$/;
// Fields that name programs and forms, not people.
const OPEN_FIELD = /^(?:host|accept|accept-.*|connection|keep-alive|expect|cache-control|pragma|date)$/;

function maskField(name: string, value: string, mask: Mask): string {
  const shown = SECRET_FIELD.test(name)
    ? crossed(value)
    : !mask.isForOne && OPEN_FIELD.test(name)
      ? value
      : mask(value);
  return `${name}: ${shown}\r\n`;
}
