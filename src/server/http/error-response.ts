import { STATUS_CODES } from 'node:http';
import type { ChunkProblem } from './chunked-decoder.ts';
import { requestIdOf } from './request-id.ts';
import { date } from './response-writer.ts';

/** Answers to what never becomes a request: one line of text, after which the connection is closed. */

const lastWords = (status: number, message: string, fields = ''): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${date()}\r\n` +
  `Content-Type: text/plain; charset=utf-8\r\nCache-Control: private\r\n${fields}X-Request-Id: ${requestIdOf(undefined)}\r\n` +
  `Connection: close\r\nContent-Length: ${Buffer.byteLength(message) + 1}\r\n\r\n${message}\n`;

/** To a connection for which there is no room. */
export const noRoom = (): string =>
  lastWords(503, 'There are too many connections. Try again later.', 'Retry-After: 5\r\n');

/** To CONNECT, behind which there would be something else than requests. */
export const noTunnel = (): string => lastWords(405, 'This is no proxy.', 'Allow: GET, HEAD, POST\r\n');

export const noRequest = (): string => lastWords(400, 'The request is not well-formed HTTP.');

export const late = (): string => lastWords(408, 'The request did not arrive in time.');

export const longHead = (bytesMax: number): string =>
  lastWords(431, `The address and header fields of a request have at most ${bytesMax} bytes.`);

export function noChunks(problem: ChunkProblem, headerBytesMax: number): string {
  if (problem === 'long trailer') return longHead(headerBytesMax);
  return problem === 'malformed' ? noRequest() : lastWords(413, 'The extensions of a chunk are too long.');
}
