import { Problem } from '../base/problem.ts';

/** Receives request bodies: limits the bytes of each one, and of all of them together. */
export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly receivingBytesMax: number;
}

/** A body that is arriving. */
export interface PendingBytes {
  /** What has arrived. */
  readonly bytes: Buffer;
  /** Why no more of it is received. */
  readonly problem: Problem | undefined;
  add(chunk: Buffer): void;
  /** The body is complete, or it is abandoned: its bytes no longer count. */
  end(): void;
}

export type BodyReceiver = ReturnType<typeof createBodyReceiver>;

// The largest call has 40 KB. So calls are received however much other clients send.
const SMALL_BYTES = 65_536;

export function createBodyReceiver({ bodyBytesMax, receivingBytesMax }: BodyLimits) {
  /** The bytes of all bodies that are arriving or held. */
  let held = 0;

  /** Copies chunks into one buffer, because a chunk takes more memory than its bytes. */
  class Received implements PendingBytes {
    #buffer: Buffer = NO_BYTES;
    #length = 0;
    problem: Problem | undefined;

    get bytes(): Buffer {
      return this.#buffer.subarray(0, this.#length);
    }

    add(chunk: Buffer): void {
      if (this.problem) return;
      const start = this.#length;
      const length = start + chunk.length;
      if (length > bodyBytesMax) this.problem = tooLarge();
      else if (length > SMALL_BYTES && held + chunk.length > receivingBytesMax) this.problem = tooManyBytes();
      if (this.problem) {
        this.end();
        return;
      }
      held += chunk.length;
      this.#length = length;
      if (start === 0) {
        this.#buffer = chunk;
        return;
      }
      if (length > this.#buffer.length) {
        this.#buffer = enlarged(this.#buffer, start, Math.min(2 * length, bodyBytesMax));
      }
      chunk.copy(this.#buffer, start);
    }

    end(): void {
      held -= this.#length;
      this.#length = 0;
    }
  }

  const tooLarge = (): Problem =>
    new Problem('too-large', `A request body has at most ${bodyBytesMax} bytes.`, { closes: true });

  return {
    receive: (): PendingBytes => new Received(),
    tooLarge,
    bytesMax: bodyBytesMax,
    /**
     * Counts the bytes that a request holds until it releases them. Throws if there are too many.
     */
    hold(bytes: number): void {
      if (bytes > SMALL_BYTES && held + bytes > receivingBytesMax) throw tooManyBytes();
      held += bytes;
    },
    release(bytes: number): void {
      held -= bytes;
    },
    get held() {
      return held;
    },
  };
}

const tooManyBytes = (): Problem =>
  new Problem('too-many', 'Too much data is being sent at the same time. Try again later.', {
    closes: true,
    retryAfterSeconds: 1,
  });

const NO_BYTES: Buffer = Buffer.alloc(0);

function enlarged(before: Buffer, used: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes);
  before.copy(larger, 0, 0, used);
  return larger;
}
