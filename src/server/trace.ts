import { createWriteStream } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import type { Reply, Request } from '../exchange.ts';

/**
 * Writes exchanges to a file as they went over the wire, in the form of the test cases, so that a case from the field becomes
 * a test by copying. The user_id is masked by as many x: lengths stay true, and nothing secret is in the file.
 */
export interface Trace {
  around(handle: (request: Request) => Promise<Reply>): (request: Request) => Promise<Reply>;
  close(): Promise<void>;
}

export function createTrace(file: string, now: () => number): Trace {
  const output = createWriteStream(file, { flags: 'a', mode: 0o600 });
  return {
    around: (handle) => async (request) => {
      let body: Uint8Array = new Uint8Array();
      const reply = await handle({
        ...request,
        body: async () => {
          body = await request.body();
          return body;
        },
      });
      output.write(`##### ${new Date(now()).toISOString()}\n=== request ===\n`);
      output.write(requestBytes(request, body));
      output.write('\n=== response ===\n');
      output.write(replyBytes(reply));
      output.write('\n');
      return reply;
    },
    close: () => new Promise((resolve) => output.end(resolve)),
  };
}

const latin1 = (body: string | Uint8Array): string => Buffer.from(body as Uint8Array).toString('latin1');

function requestBytes({ method, path, query, headers }: Request, body: Uint8Array): Buffer {
  // The body as it was read: whole, and not compressed.
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(transfer-encoding|content-encoding|content-length)$/.test(name),
  );
  const fields = kept.flatMap(([name, value]) => [value ?? ''].flat().map((each) => `${name}: ${each}\r\n`));
  const length = body.length > 0 ? `content-length: ${body.length}\r\n` : '';
  const target = query === '' ? path : `${path}?${maskPairs(query)}`;
  const head = `${method} ${target} HTTP/1.1\r\n${fields.join('')}${length}\r\n`;
  return Buffer.from(head + maskBody(latin1(body)), 'latin1');
}

function replyBytes({ status, headers, body }: Reply): Buffer {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = maskElement(latin1(body), 'userID');
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join('')}Content-Length: ${text.length}\r\n\r\n`;
  return Buffer.from(head + text, 'latin1');
}

const crossed = (text: string): string => 'x'.repeat(text.length);

/** Names may be percent-encoded letter by letter; a value that cannot be a user_id is masked rather too often. */
const maskPairs = (text: string): string =>
  text.replace(/(^|&)([^=&]*)=([^&]*)/g, (pair, start, name, value) =>
    /%/.test(name) || name.toLowerCase() === 'user_id' ? `${start}${name}=${crossed(value)}` : pair,
  );

/** An element's content, whatever its prefix; where it does not end, all that follows. */
const maskElement = (text: string, name: string): string =>
  text.replace(
    new RegExp(`(<(?:[^\\s<>/:]+:)?${name}(?:\\s[^>]*)?>)([\\s\\S]*?)(?=</(?:[^\\s<>/:]+:)?${name}|$)`, 'g'),
    (_, start, content) => start + crossed(content),
  );

/** Two bytes a character: what is in it cannot be told byte by byte, so nothing of it is kept. */
const maskBody = (text: string): string =>
  text.includes('\0')
    ? crossed(text)
    : maskElement(text.trimStart().startsWith('<') ? text : maskPairs(text), 'user_id');
