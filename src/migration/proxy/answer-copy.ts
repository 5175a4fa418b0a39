import { ANSWER_BYTES_MAX } from '../old-server/upstream.ts';

/** The most bytes of answers under way that are copied, over all clients. */
const COPIES_BYTES_MAX = 128 * 1_048_576;

/** Copies the bytes of an answer under way, if there is room for them. */
export class AnswerCopy {
  readonly #all: { bytes: number };
  #chunks: Buffer[] | undefined = [];
  #length = 0;

  constructor(all: { bytes: number }) {
    this.#all = all;
  }

  add(chunk: Buffer): void {
    if (!this.#chunks) return;
    this.#length += chunk.length;
    this.#all.bytes += chunk.length;
    this.#chunks.push(chunk);
    if (this.#length > ANSWER_BYTES_MAX || this.#all.bytes > COPIES_BYTES_MAX) {
      this.release();
      this.#chunks = undefined;
    }
  }

  release(): void {
    this.#all.bytes -= this.#length;
    this.#length = 0;
  }

  get bytes(): Uint8Array | undefined {
    return this.#chunks && Buffer.concat(this.#chunks);
  }
}
