import { createWriteStream, fchmodSync, openSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { header, isWhole, type Reply, type Request } from '../exchange.ts';

/**
 * Writes exchanges to a file as they went over the wire, in the form of the test cases, so that a case from the field becomes
 * a test by copying. The user_id is masked by as many x: lengths stay true, and nothing secret is in the file.
 */
export interface Trace {
  around(handle: Handle): Handle;
  close(): Promise<void>;
}

type Handle = (request: Request) => Reply | Promise<Reply>;

export function createTrace(file: string, now: () => number, failed: (thrown: Error) => void): Trace {
  // Opened at once, so that a wrong path is told at the start; a file that was there may have been open to others.
  const fd = openSync(file, 'a', 0o600);
  fchmodSync(fd, 0o600);
  const output = createWriteStream(file, { fd });
  output.on('error', failed); // a full disk ends the trace, not the service
  return {
    around: (handle) => async (request) => {
      const reply = await handle(request);
      const body = await bodyOf(request);
      const start = `##### ${new Date(now()).toISOString()}\n=== request ===\n`;
      const write = (content: string | Uint8Array) => {
        const parts = [start, requestBytes(request, body), '\n=== response ===\n', replyBytes(reply, content), '\n'];
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

function requestBytes(request: Request, body: Uint8Array): Buffer {
  const { method, path, query, headers } = request;
  // The body as it was read: whole, and not compressed.
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(transfer-encoding|content-encoding|content-length)$/.test(name),
  );
  const fields = kept.flatMap(([name, value]) => [value ?? ''].flat().map((each) => maskField(name, each)));
  const length = body.length > 0 ? `content-length: ${body.length}\r\n` : '';
  const target = maskPairs(query === '' ? path : `${path}?${query}`);
  const head = `${method} ${target} HTTP/1.1\r\n${fields.join('')}${length}\r\n`;
  return Buffer.from(head + maskBody(latin1(body), header(request, 'content-type') ?? ''), 'latin1');
}

function replyBytes({ status, headers }: Reply, body: string | Uint8Array): Buffer {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = maskXml(latin1(body));
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join('')}Content-Length: ${text.length}\r\n\r\n`;
  return Buffer.from(head + text, 'latin1');
}

// A client whose call fails may have misspelt the name, and it is a secret all the same: rather too much is masked.
const NAME = 'user[_.+-]?id';
const NAMED = new RegExp(NAME, 'i');
// Credentials that are none of ours, but of what stands before us.
const SECRET_FIELD = new RegExp(`^(?:(?:proxy-)?authorization|cookie|.*${NAME}.*)$`);

const crossed = (text: string): string => 'x'.repeat(text.length);
const crossedAfter = (_whole: string, start: string, content: string): string => start + crossed(content);

/** By name, wherever in a pair it stands and however the = is written; and where percent signs hide which name it is. */
const maskPairs = (text: string): string => text.split('&').map(maskPair).join('&');

function maskPair(pair: string): string {
  const named = pair.search(NAMED);
  const from = Math.max(named, 0);
  const equals = /=|%3D/i.exec(pair.slice(from));
  if (!equals) return pair;
  const value = from + equals.index + equals[0].length;
  const isHidden = pair.slice(0, from + equals.index).includes('%');
  return named >= 0 || isHidden ? crossedAfter(pair, pair.slice(0, value), pair.slice(value)) : pair;
}

// A start tag that is broken is masked too. No part of these is tried twice at one place: bodies may be long.
const TAG = `(?:[^\\s<>/:]+:)?${NAME}`;
const ELEMENT = new RegExp(`(<${TAG}(?:\\s[^<>]*>|>|(?=\\s)))([\\s\\S]*?)(?=</${TAG}|$)`, 'gi');
const ATTRIBUTE = new RegExp(`(${NAME}\\s*=\\s*["'])([^"'<>]*)`, 'gi');

/** An element's content, whatever its prefix, and where it does not end, all that follows; an attribute's value. */
const maskXml = (text: string): string => text.replace(ELEMENT, crossedAfter).replace(ATTRIBUTE, crossedAfter);

/** Two bytes a character: what is in it cannot be told byte by byte, so nothing of it is kept. */
function maskBody(text: string, contentType: string): string {
  if (text.includes('\0')) return crossed(text);
  const isXml = /^(?:\xEF\xBB\xBF)?\s*</.test(text) && !/urlencoded/i.test(contentType);
  return maskXml(isXml ? text : maskPairs(text));
}

/** A field may hold an address with its query: Referer does. */
const maskField = (name: string, value: string): string =>
  `${name}: ${SECRET_FIELD.test(name) ? crossed(value) : maskPairs(value)}\r\n`;
