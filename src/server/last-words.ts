import { STATUS_CODES } from 'node:http';
import { requestIdOf } from './correlation.ts';

/** Answers to what never becomes a request: one line of text, after which the connection is closed. */

const lastWords = (status: number, message: string, fields = ''): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${new Date().toUTCString()}\r\n` +
  `Content-Type: text/plain; charset=utf-8\r\nCache-Control: private\r\n${fields}X-Request-Id: ${requestIdOf(undefined)}\r\n` +
  `Connection: close\r\nContent-Length: ${Buffer.byteLength(message) + 1}\r\n\r\n${message}\n`;

/** To a connection for which there is no room. */
export const noRoom = (): string =>
  lastWords(503, 'There are too many connections. Try again later.', 'Retry-After: 5\r\n');

/** To CONNECT, which node:http takes for a request of its own kind. */
export const noTunnel = (): string => lastWords(405, 'This is no proxy.', 'Allow: GET, HEAD, POST\r\n');

/** To an error of node:http's parser, by its code. Undefined where there is nobody to talk to any more. */
export function wordsFor({ code = '' }: NodeJS.ErrnoException, headerBytesMax: number): string | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return lastWords(408, 'The request did not arrive in time.');
  if (code === 'HPE_HEADER_OVERFLOW') {
    return lastWords(431, `The address and header fields of a request have at most ${headerBytesMax} bytes.`);
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return lastWords(413, 'The extensions of a chunk are too long.');
  return code.startsWith('HPE_') ? lastWords(400, 'The request is not well-formed HTTP.') : undefined;
}
