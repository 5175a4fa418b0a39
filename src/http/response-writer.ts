import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from '../base/clock.ts';
import { exclusiveTurn } from '../base/event-loop.ts';
import { isWhole, type Reply } from '../base/exchange.ts';
import { utf8Bytes } from '../base/utf8.ts';
import type { RequestHead } from './request-head.ts';
import type { Pieces, ResponseCollector } from './response-collector.ts';

/** Writes the responses of one connection to its socket. */

/** A reply and what its head needs of the request. */
export interface Response {
  readonly request: RequestHead;
  readonly requestId: string;
  readonly reply: Reply;
  /** The connection is closed after it. */
  readonly isLast: boolean;
}

export interface WriterSettings {
  readonly collector: ResponseCollector;
  /** The header fields Connection and Keep-Alive. */
  readonly connectionFields: (isLast: boolean) => string;
  /** Counts the bytes of response bodies. */
  readonly onBytesSent: (bytes: number) => void;
}

export interface WriterEvents {
  /** The first piece of a streamed body is about to be written. */
  readonly onPieces: () => void;
  /** The whole response was passed to the socket. */
  readonly onWritten: (isLast: boolean) => void;
  /** A streamed body failed before any of its response was written. */
  readonly onFailed: (response: Response, thrown: unknown) => void;
}

export class ResponseWriter {
  readonly #socket: Socket;
  readonly #settings: WriterSettings;
  readonly #events: WriterEvents;

  constructor(socket: Socket, settings: WriterSettings, events: WriterEvents) {
    this.#socket = socket;
    this.#settings = settings;
    this.#events = events;
  }

  write(response: Response): void {
    const { request, requestId, reply, isLast } = response;
    const { body } = reply;
    if (!isWhole(body)) {
      this.#writePieces(response, body);
      return;
    }
    // As latin1 text the body goes out in one write with the head. Encoding it as UTF-8 in the
    // socket would cost several times as much.
    const bytes =
      typeof body === 'string' ? utf8Bytes(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const content = request.method === 'HEAD' ? '' : bytes.toString('latin1');
    this.#settings.onBytesSent(content.length);
    this.#socket.write(
      headOf(reply, requestId, bytes.length, this.#settings.connectionFields(isLast)) + content,
      'latin1',
    );
    this.#events.onWritten(isLast);
  }

  #writePieces(response: Response, pieces: Pieces): void {
    const { request, requestId, reply } = response;
    const { collector, connectionFields } = this.#settings;
    const framing = request.version === '1.0' ? 'close' : 'chunked';
    if (request.method === 'HEAD') {
      this.#socket.write(headOf(reply, requestId, framing, connectionFields(true)), 'latin1');
      this.#events.onWritten(true);
      return;
    }
    collector
      .collect(reply, pieces, () => this.#socket.destroyed)
      .then(
        (collected) => collected && this.#streamPieces(response, collected.pieces, collected.length ?? framing),
        (thrown) => this.#events.onFailed(response, thrown),
      );
  }

  #streamPieces({ requestId, reply, isLast }: Response, pieces: Pieces, framing: Framing): void {
    const { connectionFields, onBytesSent } = this.#settings;
    const closes = isLast || framing === 'close';
    const head = headOf(reply, requestId, framing, connectionFields(closes));
    this.#events.onPieces();
    streamPieces(this.#socket, head, pieces, framing === 'chunked', onBytesSent).then(
      () => this.#events.onWritten(closes),
      () => this.#socket.destroy(), // the client must not mistake a part for the whole
    );
  }
}

/**
 * Keep-Alive tells clients the idle time-out, so that they do not send into a closing connection.
 */
export function createConnectionFields(idleMs: number): (isLast: boolean) => string {
  const open = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.ceil(idleMs / 1_000)}\r\n`;
  return (isLast) => (isLast ? 'Connection: close\r\n' : open);
}

/**
 * How the client finds the end of a body: Content-Length, chunked, or the end of the connection.
 */
type Framing = number | 'chunked' | 'close';

// RFC 9110 §5.5: a line end would begin another field, or another response.
const INVALID_FIELD_BYTES = /[^\t -~\x80-\xff]/g;

/** The head of a response. The request id goes with every response. */
function headOf({ status, headers }: Reply, requestId: string, framing: Framing, connectionFields: string): string {
  let fields = '';
  for (const name in headers) fields += fieldLines(name, headers[name] as string | readonly string[]);
  const length = typeof framing === 'number' ? `Content-Length: ${framing}\r\n` : '';
  const coding = framing === 'chunked' ? 'Transfer-Encoding: chunked\r\n' : '';
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}X-Request-Id: ${requestId}\r\n${length}Date: ${date()}\r\n${connectionFields}${coding}\r\n`;
}

/** RFC 9110 §5.3: Set-Cookie lists must not be joined by commas, so each item has a field line. */
function fieldLines(name: string, value: string | readonly string[]): string {
  if (typeof value === 'string') return `${name}: ${value.replace(INVALID_FIELD_BYTES, '')}\r\n`;
  let lines = '';
  for (const item of value) lines += `${name}: ${item.replace(INVALID_FIELD_BYTES, '')}\r\n`;
  return lines;
}

let second = 0;
let text = '';

/** The Date field, by the machine's clock. Formatting takes 1 µs, so it is done once a second. */
export function date(): string {
  const now = Math.floor(systemClock.now() / 1_000);
  if (now !== second) {
    second = now;
    text = new Date(now * 1_000).toUTCString();
  }
  return text;
}

/** Writes piece by piece. The next piece is requested when the socket buffer has drained. */
async function streamPieces(
  socket: Socket,
  head: string,
  pieces: Pieces,
  isChunked: boolean,
  onBytesSent: (bytes: number) => void,
): Promise<void> {
  let before = head;
  for await (const piece of pieces) {
    if (socket.destroyed) return;
    const length = Buffer.byteLength(piece);
    if (length === 0) continue; // an empty chunk would end the body
    onBytesSent(length);
    socket.cork();
    socket.write(isChunked ? `${before}${length.toString(16)}\r\n` : before, 'latin1');
    // A string is freed when the system has taken it; a Buffer would wait for garbage collection.
    socket.write(piece);
    if (isChunked) socket.write('\r\n', 'latin1');
    socket.uncork();
    before = '';
    if (socket.writableNeedDrain) await drained(socket);
    await exclusiveTurn();
    if (socket.destroyed) return; // before another piece is requested
  }
  socket.write(isChunked ? `${before}0\r\n\r\n` : before, 'latin1');
}

const drained = (socket: Socket) =>
  new Promise<void>((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
