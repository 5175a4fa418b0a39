import { Problem } from '../../problem.ts';

/** The bodies of requests while they come or wait: each within its bounds, and all together within theirs. */
export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly receivingBytesMax: number;
}

export interface Receiving {
  /** What has come, or why no more of it is taken. */
  readonly bytes: Buffer;
  readonly problem: Problem | undefined;
  add(chunk: Buffer): void;
  /** It is whole, or will not be any more. */
  end(): void;
}

// The largest call there is has 40 KB: calls are served however much others send.
const SMALL_BYTES = 65_536;

export function createBodies({ bodyBytesMax, receivingBytesMax }: BodyLimits) {
  /** Of all that are under way. */
  let held = 0;

  /** Chunks are copied together: each of them takes more than its bytes. */
  class Gathering implements Receiving {
    #gathered: Buffer = NOTHING;
    #length = 0;
    problem: Problem | undefined;

    get bytes(): Buffer {
      return this.#gathered.subarray(0, this.#length);
    }

    add(chunk: Buffer): void {
      if (this.problem) return;
      const start = this.#length;
      const length = start + chunk.length;
      if (length > bodyBytesMax) this.problem = tooLarge();
      else if (length > SMALL_BYTES && held + chunk.length > receivingBytesMax) this.problem = crowded();
      if (this.problem) {
        this.end();
        return;
      }
      held += chunk.length;
      this.#length = length;
      if (start === 0) {
        this.#gathered = chunk;
        return;
      }
      if (length > this.#gathered.length) {
        this.#gathered = enlarged(this.#gathered, start, Math.min(2 * length, bodyBytesMax));
      }
      chunk.copy(this.#gathered, start);
    }

    end(): void {
      held -= this.#length;
      this.#length = 0;
    }
  }

  const tooLarge = (): Problem =>
    new Problem('too-large', `A request body has at most ${bodyBytesMax} bytes.`, { closes: true });

  return {
    receive: (): Receiving => new Gathering(),
    tooLarge,
    bytesMax: bodyBytesMax,
    /** Counts bytes that a request holds until they are released; throws where there is no room for them. */
    hold(bytes: number): void {
      if (bytes > SMALL_BYTES && held + bytes > receivingBytesMax) throw crowded();
      held += bytes;
    },
    release(bytes: number): void {
      held -= bytes;
    },
    /** Of all requests, in bytes. */
    get held() {
      return held;
    },
  };
}

export type Bodies = ReturnType<typeof createBodies>;

const crowded = (): Problem =>
  new Problem('too-many', 'Too much is being sent at the same time. Try again later.', {
    closes: true,
    retryAfterSeconds: 1,
  });

const NOTHING: Buffer = Buffer.alloc(0);

function enlarged(before: Buffer, used: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes);
  before.copy(larger, 0, 0, used);
  return larger;
}
