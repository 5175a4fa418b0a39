import type { Reply } from '../exchange.ts';
import { turn } from './sending.ts';

/**
 * Answers in pieces, collected before their head is sent so that it can tell their length: some clients were written by hand
 * and know Content-Length alone. ASMX told it with every answer.
 */
export interface Collected {
  /** Of all of it; undefined where more was to come than is collected. */
  readonly length: number | undefined;
  /** All of it from its beginning. It must be iterated: what is held counts until it was taken. */
  readonly pieces: Pieces;
}

export type Pieces = Exclude<Reply['body'], string | Uint8Array>;

/** Of one answer, as it is sent. */
const ANSWER_BYTES_MAX = 1_048_576;

export type Collecting = ReturnType<typeof createCollecting>;

/** Never much more than `bytesMax` of all answers together: beyond that, nothing is collected. */
export function createCollecting(bytesMax: number) {
  let held = 0;

  /** In turn with the others. Undefined where nobody wants it any more; throws what the pieces throw. */
  async function collect(pieces: Pieces, isUnwanted: () => boolean): Promise<Collected | undefined> {
    const source = pieces[Symbol.asyncIterator]();
    const parts: Buffer[] = [];
    let length = 0;
    let isWhole = false;
    try {
      while (!isWhole && length <= ANSWER_BYTES_MAX && held <= bytesMax) {
        await turn();
        if (isUnwanted()) break;
        const { value, done = false } = await source.next();
        isWhole = done;
        if (done) break;
        const part = Buffer.from(value as Uint8Array); // of a text, its bytes: what it was joined of would take a multiple
        parts.push(part);
        length += part.length;
        held += part.length;
      }
    } catch (thrown) {
      held -= length;
      throw thrown;
    }
    if (!isUnwanted()) return { length: isWhole ? length : undefined, pieces: given(parts, length, source, isWhole) };
    held -= length;
    await source.return?.();
    return undefined;
  }

  async function* given(
    parts: Buffer[],
    length: number,
    source: AsyncIterator<string | Uint8Array>,
    isWhole: boolean,
  ): Pieces & AsyncGenerator<string | Uint8Array> {
    let left = length;
    try {
      for (let part = parts.shift(); part; part = parts.shift()) {
        yield part;
        left -= part.length;
        held -= part.length;
      }
      if (!isWhole) yield* { [Symbol.asyncIterator]: () => source };
    } finally {
      held -= left;
      if (!isWhole) await source.return?.();
    }
  }

  return {
    collect,
    get held() {
      return held;
    },
  };
}
