import { STATUS_CODES } from 'node:http';
import type { ChunkProblem } from './chunked-decoder.ts';
import { requestIdOf } from './request-id.ts';
import { date } from './response-writer.ts';

/**
 * A response to bytes that are not a request, complete with its head. The connection is closed
 * after it, because nobody knows where the next request would begin.
 */
export type RawErrorResponse = string;

const errorResponse = (status: number, message: string, fields = ''): RawErrorResponse =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${date()}\r\n` +
  `Content-Type: text/plain; charset=utf-8\r\nCache-Control: private\r\n${fields}X-Request-Id: ${requestIdOf(undefined)}\r\n` +
  `Connection: close\r\nContent-Length: ${Buffer.byteLength(message) + 1}\r\n\r\n${message}\n`;

export const tooManyConnections = (): RawErrorResponse =>
  errorResponse(503, 'There are too many connections. Try again later.', 'Retry-After: 5\r\n');

/** After CONNECT the client would send something else than requests. */
export const connectNotAllowed = (): RawErrorResponse =>
  errorResponse(405, 'This server is not a proxy.', 'Allow: GET, HEAD, POST\r\n');

export const badRequest = (): RawErrorResponse => errorResponse(400, 'The request is not well-formed HTTP.');

export const requestTimeout = (): RawErrorResponse => errorResponse(408, 'The request did not arrive in time.');

export const headTooLarge = (bytesMax: number): RawErrorResponse =>
  errorResponse(431, `The address and header fields of a request have at most ${bytesMax} bytes.`);

export function badChunks(problem: ChunkProblem, headerBytesMax: number): RawErrorResponse {
  if (problem === 'long trailer') return headTooLarge(headerBytesMax);
  return problem === 'malformed' ? badRequest() : errorResponse(413, 'The extensions of a chunk are too long.');
}
