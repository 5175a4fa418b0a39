import type { IncomingMessage, ServerResponse } from 'node:http';
import { isWhole, type Reply } from '../exchange.ts';

/** Replies on their way out. */

// How long a client may still talk after it was told that its body is too large.
const LINGER_MS = 1_000;

export function send(incoming: IncomingMessage, response: ServerResponse, reply: Reply, timeoutMs: number): void {
  const { status, headers, body } = reply;
  if (!isWhole(body)) {
    sendPieces(response, reply, body, timeoutMs);
    return;
  }
  // As a text of one character a byte it goes out in one write with the head; encoding it there would cost several times as much.
  const bytes =
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  response.writeHead(status, { ...headers, 'Content-Length': bytes.length });
  const content = incoming.method === 'HEAD' ? '' : bytes.toString('latin1');
  if (headers.Connection !== 'close' || incoming.complete) {
    response.end(content, 'latin1');
    return;
  }
  // A client that writes all before it reads would lose the answer if we closed while it writes (RFC 9112 §9.6).
  response.write(content, 'latin1');
  incoming.resume();
  const end = () => response.end();
  incoming.once('end', end).once('close', end);
  setTimeout(end, LINGER_MS).unref();
}

/**
 * Piece by piece, each made when the client has taken most of the one before; others are served in between. One that does
 * not get it all in time is cut off, as is one whose answer cannot be finished: it must not take a part for the whole.
 */
function sendPieces(
  response: ServerResponse,
  { status, headers }: Reply,
  pieces: AsyncIterable<string | Uint8Array>,
  timeoutMs: number,
): void {
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  const write = async () => {
    response.writeHead(status, headers);
    for await (const piece of pieces) {
      if (response.destroyed) return;
      if (response.write(piece)) await new Promise(setImmediate);
      else await drained(response);
    }
    response.end();
  };
  write()
    .catch(() => response.destroy())
    .finally(() => clearTimeout(timer));
}

const drained = (response: ServerResponse) =>
  new Promise<void>((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go);
      resolve();
    };
    response.on('drain', go).on('close', go);
  });
