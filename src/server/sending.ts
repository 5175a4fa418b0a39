import type { IncomingMessage, ServerResponse } from 'node:http';
import { isWhole, type Reply } from '../exchange.ts';

/** Replies on their way out. */

export interface Sending {
  readonly sendTimeoutMs: number;
  /** Told how many bytes of a body go out. */
  readonly sent: (bytes: number) => void;
}

// How long a client may still talk after it was told that its body is too large.
const LINGER_MS = 1_000;

/** `id` is the request's, and goes with every answer. */
export function send(
  incoming: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  id: string,
  { sendTimeoutMs, sent }: Sending,
): void {
  const { status, headers, body } = reply;
  if (!isWhole(body)) {
    cutOffAfter(response, sendTimeoutMs);
    response.writeHead(status, { ...headers, 'X-Request-Id': id });
    sendPieces(response, body, sent).catch(() => response.destroy());
    return;
  }
  // As a text of one character a byte it goes out in one write with the head; encoding it there would cost several times as much.
  const bytes =
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  response.writeHead(status, { ...headers, 'X-Request-Id': id, 'Content-Length': bytes.length });
  const content = incoming.method === 'HEAD' ? '' : bytes.toString('latin1');
  sent(content.length);
  if (headers.Connection !== 'close' || incoming.complete) {
    response.end(content, 'latin1');
    if (response.writableLength > 0) cutOffAfter(response, sendTimeoutMs); // mostly the system has taken it all by now
    return;
  }
  // A client that writes all before it reads would lose the answer if we closed while it writes (RFC 9112 §9.6).
  response.write(content, 'latin1');
  incoming.resume();
  const end = () => response.end();
  incoming.once('end', end).once('close', end);
  setTimeout(end, LINGER_MS).unref();
}

/** A client that does not take its answer must not hold it, and its connection, for ever. */
function cutOffAfter(response: ServerResponse, timeoutMs: number): void {
  if (response.closed) return;
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  response.once('close', () => clearTimeout(timer));
}

/**
 * Piece by piece, each made when the client has taken most of the one before; others are served in between. One that does
 * not get it all in time is cut off, as is one whose answer cannot be finished: it must not take a part for the whole.
 */
async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<string | Uint8Array>,
  sent: Sending['sent'],
): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed) return;
    sent(Buffer.byteLength(piece));
    if (!response.write(piece)) await drained(response); // comes at once, while the system takes all
    await turn();
  }
  response.end();
}

let turns: Promise<unknown> = Promise.resolve();

/** Of all answers under way one makes a piece in each turn of the event loop, so that many hold up others no more than one. */
function turn(): Promise<unknown> {
  turns = turns.then(() => new Promise(setImmediate));
  return turns;
}

const drained = (response: ServerResponse) =>
  new Promise<void>((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go);
      resolve();
    };
    response.on('drain', go).on('close', go);
  });
