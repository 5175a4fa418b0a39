import type { Reply } from '../../exchange.ts';
import { turn } from './response-writer.ts';
import type { Holding, Unsent } from './unsent-bytes.ts';

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

export function createCollecting(unsent: Unsent) {
  /**
   * In turn with the others, as long as there is room. Undefined where nobody wants it any more; throws what the pieces
   * throw, and Problem `too-many` where too much is unsent to begin with it.
   */
  async function collect(reply: Reply, pieces: Pieces, isUnwanted: () => boolean): Promise<Collected | undefined> {
    const holding = unsent.hold(reply.owner, 'Content-Encoding' in reply.headers);
    const source = pieces[Symbol.asyncIterator]();
    const parts: Buffer[] = [];
    let length = 0;
    let isWhole = false;
    try {
      for (;;) {
        await turn(); // also before the first piece of one that is not collected
        if (isUnwanted() || length > ANSWER_BYTES_MAX || !holding.mayCollect) break;
        const { value, done = false } = await source.next();
        isWhole = done;
        if (done) break;
        const part = Buffer.from(value as Uint8Array); // of a text, its bytes: what it was joined of would take a multiple
        parts.push(part);
        length += part.length;
        holding.add(part.length);
      }
    } catch (thrown) {
      holding.release();
      throw thrown;
    }
    if (!isUnwanted()) {
      return { length: isWhole ? length : undefined, pieces: given(parts, source, isWhole, holding) };
    }
    holding.release();
    await source.return?.();
    return undefined;
  }

  return { collect };
}

/** Another one is asked for when the one before was taken, most of it at least. */
async function* given(
  parts: Buffer[],
  source: AsyncIterator<string | Uint8Array>,
  isWhole: boolean,
  holding: Holding,
): Pieces & AsyncGenerator<string | Uint8Array> {
  try {
    for (let part = parts.shift(); part; part = parts.shift()) {
      yield part;
      holding.add(-part.length);
    }
    if (isWhole) return;
    for (let next = await source.next(); !next.done; next = await source.next()) {
      const length = Buffer.byteLength(next.value);
      holding.add(length);
      yield next.value;
      holding.add(-length);
    }
  } finally {
    holding.release();
    if (!isWhole) await source.return?.();
  }
}
