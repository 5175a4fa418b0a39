import type { Problem } from '../base/problem.ts';
import type { BodyReceiver, PendingBytes } from './body-receiver.ts';
import { ChunkedDecoder } from './chunked-decoder.ts';
import { badChunks, badRequest, connectNotAllowed, headTooLarge, type RawErrorResponse } from './error-response.ts';
import { hasInvalidBytes, isMethodStart, METHOD_START_BYTES, type RequestHead, readHead } from './request-head.ts';

/** Parses the bytes of a connection into requests, one at a time (RFC 9112). */

/** A request, or as much of it as its response needs. */
export interface ParsedRequest {
  readonly head: RequestHead;
  /** Why the request is rejected before any handler reads it. */
  readonly refused: Problem | undefined;
  readonly body: Uint8Array | Problem;
  /** The rest of the body was not read, and may still arrive. */
  readonly bodyIncomplete: boolean;
}

export interface ParserSettings {
  readonly headerBytesMax: number;
  readonly bodies: BodyReceiver;
  readonly problemOf: (head: RequestHead) => Problem | undefined;
  /** Called when the client waits for `100 Continue` before it sends the body. */
  readonly onExpectContinue: () => void;
}

const NO_BYTES: Buffer = Buffer.alloc(0);
// A head in a larger packet is not remembered: it would keep the whole packet in memory.
const REMEMBERED_BYTES_MAX = 2_048;
const HEAD_END = Buffer.from('\r\n\r\n');
const [CR, LF] = [13, 10];

export const isLineEnd = (byte: number | undefined): boolean => byte === CR || byte === LF;
/** RFC 9112 §2.2: empty lines before a request are ignored, so they begin no request. */
export const beginsRequest = (chunk: Buffer): boolean => !isLineEnd(chunk[0]) || chunk.some((byte) => !isLineEnd(byte));

/** A body of which a part has arrived. */
interface PendingBody {
  readonly head: RequestHead;
  readonly received: PendingBytes;
  /** Undefined for a body with Content-Length. */
  readonly chunks: ChunkedDecoder | undefined;
  bytesLeft: number;
}

export class RequestParser {
  readonly #settings: ParserSettings;
  /** Bytes that have arrived and are not parsed yet. */
  #unparsed = NO_BYTES;
  /** How many unparsed bytes are known to hold no end of a head and no invalid byte. */
  #scanned = 0;
  /** Bytes of empty lines before the request. They count as bytes of its head. */
  #skipped = 0;
  /** The last head. A client that polls sends the same bytes: comparing costs 10 % of parsing. */
  #lastHead: { readonly bytes: Buffer; readonly head: RequestHead; readonly refused: Problem | undefined } | undefined;
  #pendingBody: PendingBody | undefined;

  constructor(settings: ParserSettings) {
    this.#settings = settings;
  }

  /** The part of a request that has begun to arrive. */
  get stage(): 'nothing' | 'head' | 'body' {
    if (this.#pendingBody) return 'body';
    return this.#unparsed.length === 0 || this.#isHalfLineEnd() ? 'nothing' : 'head';
  }

  add(chunk: Buffer): void {
    this.#unparsed = this.#unparsed.length === 0 ? chunk : Buffer.concat([this.#unparsed, chunk]);
  }

  /** The next request; undefined until more bytes arrive. */
  next(): ParsedRequest | RawErrorResponse | undefined {
    return this.#pendingBody ? this.#parseBody(this.#pendingBody) : this.#parseHead();
  }

  /** Drops all unparsed bytes. */
  drop(): void {
    this.#pendingBody?.received.end();
    this.#pendingBody = undefined;
    this.#unparsed = NO_BYTES;
  }

  #parseHead(): ParsedRequest | RawErrorResponse | undefined {
    const { headerBytesMax } = this.#settings;
    let start = 0;
    while (this.#unparsed[start] === CR && this.#unparsed[start + 1] === LF) start += 2; // some clients send one after a body
    if (start > 0) this.#take(start);
    this.#skipped += start;
    if (this.#skipped > headerBytesMax) return headTooLarge(headerBytesMax);
    if (this.#unparsed.length === 0 || this.#isHalfLineEnd()) return undefined;
    const last = this.#lastHead;
    if (last && startsWith(this.#unparsed, last.bytes)) {
      this.#take(last.bytes.length);
      return this.#beginBody(last.head, last.refused);
    }
    const end = this.#unparsed.indexOf(HEAD_END, Math.max(0, this.#scanned - HEAD_END.length));
    const length = end < 0 ? this.#unparsed.length : end;
    if (length > headerBytesMax) return headTooLarge(headerBytesMax);
    if (end < 0) return this.#isInvalidHead() ? badRequest() : undefined;
    const head = readHead(this.#unparsed.toString('latin1', 0, length));
    const bytes = this.#take(end + HEAD_END.length);
    if (!head) return badRequest();
    const refused = this.#settings.problemOf(head);
    this.#lastHead = bytes.buffer.byteLength <= REMEMBERED_BYTES_MAX ? { bytes, head, refused } : undefined;
    return head.method === 'CONNECT' ? connectNotAllowed() : this.#beginBody(head, refused);
  }

  #isHalfLineEnd(): boolean {
    return this.#unparsed.length === 1 && this.#unparsed[0] === CR;
  }

  /** Scans new bytes only: a head may arrive byte by byte, and the cost must stay linear. */
  #isInvalidHead(): boolean {
    const before = this.#scanned;
    this.#scanned = this.#unparsed.length;
    const from = this.#unparsed[before - 1] === CR ? before - 1 : before; // CR and LF may arrive separately
    if (hasInvalidBytes(this.#unparsed.toString('latin1', from))) return true;
    return before < METHOD_START_BYTES && !isMethodStart(this.#unparsed.toString('latin1', 0, METHOD_START_BYTES));
  }

  #beginBody(head: RequestHead, refused: Problem | undefined): ParsedRequest | RawErrorResponse | undefined {
    const { bodies, onExpectContinue, headerBytesMax } = this.#settings;
    const { length } = head;
    this.#skipped = 0;
    if (length === 0 || refused) return { head, refused, body: NO_BYTES, bodyIncomplete: length !== 0 };
    if (length !== 'chunked' && length > bodies.bytesMax) {
      return { head, refused, body: bodies.tooLarge(), bodyIncomplete: true };
    }
    // RFC 9110 §10.1.1: any other expectation may be ignored.
    if (head.headers.expect?.toLowerCase() === '100-continue' && head.version === '1.1') onExpectContinue();
    if (length !== 'chunked' && this.#unparsed.length >= length) {
      return { head, refused, body: this.#take(length), bodyIncomplete: false };
    }
    const received = bodies.receive();
    const chunks =
      length === 'chunked' ? new ChunkedDecoder(headerBytesMax, (bytes) => received.add(bytes)) : undefined;
    this.#pendingBody = { head, received, chunks, bytesLeft: length === 'chunked' ? 0 : length };
    return this.#parseBody(this.#pendingBody);
  }

  #parseBody(pending: PendingBody): ParsedRequest | RawErrorResponse | undefined {
    const { head, received, chunks } = pending;
    if (chunks) this.#take(chunks.read(this.#unparsed));
    else {
      const part = this.#take(Math.min(pending.bytesLeft, this.#unparsed.length));
      pending.bytesLeft -= part.length;
      received.add(part);
    }
    const isComplete = chunks ? chunks.isDone : pending.bytesLeft === 0;
    if (chunks?.problem && !received.problem) return badChunks(chunks.problem, this.#settings.headerBytesMax);
    if (!isComplete && !received.problem) return undefined;
    const body = received.problem ?? received.bytes;
    received.end();
    this.#pendingBody = undefined;
    return { head, refused: undefined, body, bodyIncomplete: !isComplete };
  }

  #take(bytes: number): Buffer {
    const taken = this.#unparsed.subarray(0, bytes);
    // An empty part would still keep the whole packet in memory.
    this.#unparsed = bytes === this.#unparsed.length ? NO_BYTES : this.#unparsed.subarray(bytes);
    if (bytes > 0) this.#scanned = 0;
    return taken;
  }
}

const startsWith = (bytes: Buffer, start: Buffer): boolean =>
  bytes.length >= start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0;
