import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Reply } from '../../exchange.ts';

/** Replies on their way out. */

/** Header fields for a connection that stays open, or not; clients are told how long, that they need not find out. */
export function createStay(idleMs: number): (isLast: boolean) => string {
  const open = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.ceil(idleMs / 1_000)}\r\n`;
  return (isLast) => (isLast ? 'Connection: close\r\n' : open);
}

/** How the end of an answer is told: by its length, by its last chunk, or by the end of the connection. */
export type Framing = number | 'chunked' | 'closed';

// RFC 9110 §5.5: with anything else in it, it would be another field, or another answer.
const UNSENDABLE = /[^\t -~\x80-\xff]/g;

/** Everything before the body. `id` is the request's, and goes with every answer; `stay` is of `createStay`. */
export function headOf({ status, headers }: Reply, id: string, framing: Framing, stay: string): string {
  let fields = '';
  for (const name in headers) fields += fieldLines(name, headers[name] as string | readonly string[]);
  const length = typeof framing === 'number' ? `Content-Length: ${framing}\r\n` : '';
  const coding = framing === 'chunked' ? 'Transfer-Encoding: chunked\r\n' : '';
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}X-Request-Id: ${id}\r\n${length}Date: ${date()}\r\n${stay}${coding}\r\n`;
}

/** RFC 9110 §5.3: a list of Set-Cookie must not be joined by commas, so each item has a field line. */
function fieldLines(name: string, value: string | readonly string[]): string {
  if (typeof value === 'string') return `${name}: ${value.replace(UNSENDABLE, '')}\r\n`;
  let lines = '';
  for (const item of value) lines += `${name}: ${item.replace(UNSENDABLE, '')}\r\n`;
  return lines;
}

let second = 0;
let text = '';

/** Writing it takes 1 µs, and it is the same for a second. */
export function date(): string {
  const now = Math.floor(Date.now() / 1_000);
  if (now !== second) {
    second = now;
    text = new Date(now * 1_000).toUTCString();
  }
  return text;
}

/**
 * Piece by piece, each made when the client has taken most of the one before; others are served in between. Where the client
 * is gone, nobody asks for more.
 */
export async function sendPieces(
  socket: Socket,
  head: string,
  pieces: AsyncIterable<string | Uint8Array>,
  inChunks: boolean,
  sent: (bytes: number) => void,
): Promise<void> {
  let before = head;
  for await (const piece of pieces) {
    if (socket.destroyed) return;
    const length = Buffer.byteLength(piece);
    if (length === 0) continue; // as a chunk it would be the last one
    sent(length);
    socket.cork();
    socket.write(inChunks ? `${before}${length.toString(16)}\r\n` : before, 'latin1');
    socket.write(piece); // as it is: what is only made for the system is freed at once, a buffer when garbage is collected
    if (inChunks) socket.write('\r\n', 'latin1');
    socket.uncork();
    before = '';
    if (socket.writableNeedDrain) await drained(socket); // comes at once, while the system takes all
    await turn();
    if (socket.destroyed) return; // before another one is asked for
  }
  socket.write(inChunks ? `${before}0\r\n\r\n` : before, 'latin1');
}

let turns: Promise<unknown> = Promise.resolve();

/** Of all answers under way one makes a piece in each turn of the event loop, so that many hold up others no more than one. */
export function turn(): Promise<unknown> {
  turns = turns.then(() => new Promise(setImmediate));
  return turns;
}

/** For who takes pieces as fast as they come. */
export async function* inTurn<T>(pieces: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const piece of pieces) {
    yield piece;
    await turn();
  }
}

const drained = (socket: Socket) =>
  new Promise<void>((resolve) => {
    const go = () => {
      socket.off('drain', go).off('close', go);
      resolve();
    };
    socket.on('drain', go).on('close', go);
  });
