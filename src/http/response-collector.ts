import { exclusiveTurn } from '../base/event-loop.ts';
import type { Reply } from '../base/exchange.ts';
import type { Holding, Unsent } from './unsent-bytes.ts';

/**
 * Collects the first MiB of a streamed body before its head is sent, to be able to send
 * Content-Length. Some old clients do not understand chunked bodies, and ASMX sent a length with
 * every response.
 */
export interface CollectedBody {
  /** The length of the whole body; undefined if it is longer than what is collected. */
  readonly length: number | undefined;
  /** The whole body. It must be iterated: its bytes count as unsent until then. */
  readonly pieces: Pieces;
}

export type Pieces = Exclude<Reply['body'], string | Uint8Array>;

/** Limit for one response, in bytes as sent. */
const COLLECTED_BYTES_MAX = 1_048_576;

export type ResponseCollector = ReturnType<typeof createResponseCollector>;

export function createResponseCollector(unsent: Unsent) {
  /**
   * Collects in exclusive turns, as long as unsent bytes allow. Undefined if the client is gone.
   * Throws what the pieces throw, and Problem `too-many` if there are too many unsent bytes.
   */
  async function collect(reply: Reply, pieces: Pieces, isAborted: () => boolean): Promise<CollectedBody | undefined> {
    const holding = unsent.hold(reply.receiver, 'Content-Encoding' in reply.headers);
    const source = pieces[Symbol.asyncIterator]();
    const parts: Buffer[] = [];
    let length = 0;
    let isWhole = false;
    try {
      for (;;) {
        await exclusiveTurn(); // before the first piece as well
        if (isAborted() || length > COLLECTED_BYTES_MAX || !holding.mayCollect) break;
        const { value, done = false } = await source.next();
        isWhole = done;
        if (done) break;
        // A string would take a multiple of its bytes, because it keeps the strings that it was
        // joined from.
        const part = Buffer.from(value as Uint8Array);
        parts.push(part);
        length += part.length;
        holding.add(part.length);
      }
    } catch (thrown) {
      holding.release();
      throw thrown;
    }
    if (!isAborted()) {
      return { length: isWhole ? length : undefined, pieces: replayed(parts, source, isWhole, holding) };
    }
    holding.release();
    await source.return?.();
    return undefined;
  }

  return { collect };
}

/**
 * The collected pieces, then the others, each requested when the client has read the previous one.
 */
async function* replayed(
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
