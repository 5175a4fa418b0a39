import { isTrailer } from './request-head.ts';

/** Why a chunked body is rejected. */
export type ChunkProblem = 'malformed' | 'long extensions' | 'long trailer';

// No client uses them. The same limit as that of node:http.
const EXTENSION_BYTES_MAX = 16_384;
const SIZE =
  /^0*[0-9A-Fa-f]{1,16}(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"[\t !#-[\]-~\x80-\xff]*"))?)*$/;
const SIZE_SO_FAR = /^[0-9A-Fa-f]*(?:(?<=.);[\t -~\x80-\xff]*)?\r?$/;
const LINE_END = Buffer.from('\r\n');

/** Decodes a chunked body (RFC 9112 §7.1) as it arrives. */
export class ChunkedDecoder {
  readonly #trailerBytesMax: number;
  readonly #onData: (bytes: Buffer) => void;
  #state: 'size' | 'data' | 'data end' | 'trailer' | 'done' = 'size';
  /** Bytes of the current chunk that have not arrived. */
  #bytesLeft = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;
  problem: ChunkProblem | undefined;

  constructor(trailerBytesMax: number, onData: (bytes: Buffer) => void) {
    this.#trailerBytesMax = trailerBytesMax;
    this.#onData = onData;
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Returns how many bytes it has used. The caller passes the others again, with more. */
  read(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done' && !this.problem) {
      const used = this.#step(bytes, at);
      if (used === 0) break;
      at += used;
    }
    return at;
  }

  #step(bytes: Buffer, at: number): number {
    if (this.#state === 'data') return this.#data(bytes, at);
    if (this.#state === 'data end') return this.#dataEnd(bytes, at);
    const end = bytes.indexOf(LINE_END, at);
    const line = bytes.toString('latin1', at, end < 0 ? bytes.length : end);
    if (this.#state === 'size') this.#size(line, end >= 0);
    else this.#trailer(line, end >= 0);
    return end < 0 ? 0 : end + 2 - at;
  }

  #size(line: string, isComplete: boolean): void {
    const extensionBytes = this.#extensionBytes + Math.max(0, line.length - 16);
    if (extensionBytes > EXTENSION_BYTES_MAX) this.problem = 'long extensions';
    else if (!(isComplete ? SIZE : SIZE_SO_FAR).test(line)) this.problem = 'malformed';
    if (!isComplete) return;
    this.#extensionBytes = extensionBytes;
    this.#bytesLeft = Number.parseInt(line, 16);
    this.#state = this.#bytesLeft === 0 ? 'trailer' : 'data';
  }

  #data(bytes: Buffer, at: number): number {
    const part = bytes.subarray(at, at + this.#bytesLeft);
    this.#bytesLeft -= part.length;
    if (this.#bytesLeft === 0) this.#state = 'data end';
    this.#onData(part);
    return part.length;
  }

  #dataEnd(bytes: Buffer, at: number): number {
    const end = bytes.subarray(at, at + 2);
    if (LINE_END.compare(end, 0, end.length, 0, end.length) !== 0) this.problem = 'malformed';
    if (end.length < 2) return 0;
    this.#state = 'size';
    return 2;
  }

  #trailer(line: string, isComplete: boolean): void {
    if (this.#trailerBytes + line.length > this.#trailerBytesMax) this.problem = 'long trailer';
    if (!isComplete) return;
    this.#trailerBytes += line.length + 2;
    if (line === '') this.#state = 'done';
    else if (!isTrailer(line)) this.problem = 'malformed';
  }
}
