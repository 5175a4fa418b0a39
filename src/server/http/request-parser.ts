import type { Problem } from '../../problem.ts';
import type { Bodies, Receiving } from './body-receiver.ts';
import { Chunks } from './chunked-decoder.ts';
import { longHead, noChunks, noRequest, noTunnel } from './error-response.ts';
import { BEGINNING_BYTES, type Head, isBeginning, isBroken, readHead } from './request-head.ts';

/** Requests out of the bytes of a connection, one at a time. */

/** A request, or as much of it as is needed to answer it. */
export interface Arrival {
  readonly head: Head;
  /** For which it is refused, whatever it asks for. */
  readonly refused: Problem | undefined;
  readonly body: Uint8Array | Problem;
  /** A part of it was not read, and may still be on its way. */
  readonly isCut: boolean;
}

/** Behind these nothing can be read any more. */
export type LastWords = string;

export interface ReadingRules {
  readonly headerBytesMax: number;
  readonly bodies: Bodies;
  readonly problemOf: (head: Head) => Problem | undefined;
  /** The client waits with its body until it is told to go on. */
  readonly expected: () => void;
}

const NOTHING: Buffer = Buffer.alloc(0);
// Of what has come, so much at most is held on to for the next request.
const REMEMBERED_BYTES_MAX = 2_048;
const HEAD_END = Buffer.from('\r\n\r\n');
const [CR, LF] = [13, 10];

/** §2.2: empty lines before a request mean nothing, and so begin none. */
export const isLineEnd = (byte: number | undefined): boolean => byte === CR || byte === LF;
export const beginsRequest = (chunk: Buffer): boolean => !isLineEnd(chunk[0]) || chunk.some((byte) => !isLineEnd(byte));

interface Receipt {
  readonly head: Head;
  readonly receiving: Receiving;
  /** Undefined for a body that says its length. */
  readonly chunks: Chunks | undefined;
  left: number;
}

export class Reading {
  readonly #rules: ReadingRules;
  /** What has come and was not read yet. */
  #unread = NOTHING;
  /** How much of it has no end of a head in it, and nothing that is in none. */
  #scanned = 0;
  /** Bytes of the empty lines before the request. They count as bytes of its head. */
  #skipped = 0;
  /** The head before, with its end: who asks again mostly sends the same, and comparing takes a tenth of reading. */
  #before: { readonly bytes: Buffer; readonly head: Head } | undefined;
  /** The body that is being read. */
  #receipt: Receipt | undefined;

  constructor(rules: ReadingRules) {
    this.#rules = rules;
  }

  /** Of what a part has come. */
  get stage(): 'nothing' | 'head' | 'body' {
    if (this.#receipt) return 'body';
    return this.#unread.length === 0 || this.#isHalfLineEnd() ? 'nothing' : 'head';
  }

  add(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
  }

  /** Undefined where more has to come. */
  next(): Arrival | LastWords | undefined {
    return this.#receipt ? this.#readBody(this.#receipt) : this.#readHead();
  }

  /** Nothing more of it is wanted. */
  drop(): void {
    this.#receipt?.receiving.end();
    this.#receipt = undefined;
    this.#unread = NOTHING;
  }

  #readHead(): Arrival | LastWords | undefined {
    const { headerBytesMax } = this.#rules;
    let start = 0;
    while (this.#unread[start] === CR && this.#unread[start + 1] === LF) start += 2; // some send one after a body
    this.#take(start);
    this.#skipped += start;
    if (this.#skipped > headerBytesMax) return longHead(headerBytesMax);
    if (this.#unread.length === 0 || this.#isHalfLineEnd()) return undefined;
    const before = this.#before;
    if (before && startsWith(this.#unread, before.bytes)) {
      this.#take(before.bytes.length);
      return this.#begin(before.head);
    }
    const end = this.#unread.indexOf(HEAD_END, Math.max(0, this.#scanned - HEAD_END.length));
    const length = end < 0 ? this.#unread.length : end;
    if (length > headerBytesMax) return longHead(headerBytesMax);
    if (end < 0) return this.#isHopeless() ? noRequest() : undefined;
    const head = readHead(this.#unread.toString('latin1', 0, length));
    const bytes = this.#take(end + HEAD_END.length);
    if (!head) return noRequest();
    this.#before = bytes.buffer.byteLength <= REMEMBERED_BYTES_MAX ? { bytes, head } : undefined;
    return head.method === 'CONNECT' ? noTunnel() : this.#begin(head);
  }

  #isHalfLineEnd(): boolean {
    return this.#unread.length === 1 && this.#unread[0] === CR;
  }

  /** Looks at what is new, and at no byte again and again: heads may come byte by byte. */
  #isHopeless(): boolean {
    const before = this.#scanned;
    this.#scanned = this.#unread.length;
    const from = this.#unread[before - 1] === CR ? before - 1 : before; // a line end may come in two parts
    if (isBroken(this.#unread.toString('latin1', from))) return true;
    return before < BEGINNING_BYTES && !isBeginning(this.#unread.toString('latin1', 0, BEGINNING_BYTES));
  }

  #begin(head: Head): Arrival | LastWords | undefined {
    const { bodies, problemOf, expected, headerBytesMax } = this.#rules;
    const { length } = head;
    this.#skipped = 0;
    const refused = problemOf(head);
    if (length === 0 || refused) return { head, refused, body: NOTHING, isCut: length !== 0 };
    if (length !== 'chunked' && length > bodies.bytesMax) {
      return { head, refused, body: bodies.tooLarge(), isCut: true };
    }
    // RFC 9110 §10.1.1: whatever else is expected of us may be ignored.
    if (head.headers.expect?.toLowerCase() === '100-continue' && head.version === '1.1') expected();
    if (length !== 'chunked' && this.#unread.length >= length) {
      return { head, refused, body: this.#take(length), isCut: false };
    }
    const receiving = bodies.receive();
    const chunks = length === 'chunked' ? new Chunks(headerBytesMax, (bytes) => receiving.add(bytes)) : undefined;
    this.#receipt = { head, receiving, chunks, left: length === 'chunked' ? 0 : length };
    return this.#readBody(this.#receipt);
  }

  #readBody(receipt: Receipt): Arrival | LastWords | undefined {
    const { head, receiving, chunks } = receipt;
    if (chunks) this.#take(chunks.read(this.#unread));
    else {
      const part = this.#take(Math.min(receipt.left, this.#unread.length));
      receipt.left -= part.length;
      receiving.add(part);
    }
    const isWhole = chunks ? chunks.isDone : receipt.left === 0;
    if (chunks?.problem && !receiving.problem) return noChunks(chunks.problem, this.#rules.headerBytesMax);
    if (!isWhole && !receiving.problem) return undefined;
    const body = receiving.problem ?? receiving.bytes;
    receiving.end();
    this.#receipt = undefined;
    return { head, refused: undefined, body, isCut: !isWhole };
  }

  #take(bytes: number): Buffer {
    const taken = this.#unread.subarray(0, bytes);
    // A part of a packet would keep all of it.
    this.#unread = bytes === this.#unread.length ? NOTHING : this.#unread.subarray(bytes);
    if (bytes > 0) this.#scanned = 0;
    return taken;
  }
}

const startsWith = (bytes: Buffer, start: Buffer): boolean =>
  bytes.length >= start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0;
