import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';
import { unpack } from './compression.ts';

/** The bodies of requests, whole: each within its bounds, and all that are under way together within theirs. */
export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
  readonly receivingBytesMax: number;
}

/** Told when a body is waited for, and when it is there or will not come: the client's time, not ours. */
export interface Receiving {
  began(): void;
  ended(): void;
}

// The largest call there is has 40 KB: calls are served however much others send.
const SMALL_BYTES = 65_536;

export function createBodies(limits: BodyLimits, receiving: Receiving) {
  const { bodyBytesMax, inflatedBytesMax, receivingBytesMax } = limits;
  /** Of all that are under way. */
  let held = 0;

  /** By events: reading a stream as an async iterator costs as much as the rest of a small call. */
  function receive(incoming: IncomingMessage): Promise<Buffer> {
    receiving.began();
    return new Promise((resolve, reject) => {
      // Mostly one chunk. Where there are more they are copied together: each of them takes more than its bytes.
      let gathered = NOTHING;
      let bytes = 0;
      let settled = false;
      const settle = () => {
        settled = true;
        held -= bytes;
        receiving.ended();
      };
      const refuse = (problem: Problem) => {
        settle();
        gathered = NOTHING;
        reject(problem);
      };
      incoming.on('data', (chunk: Buffer) => {
        if (settled) return;
        const start = bytes;
        bytes += chunk.length;
        held += chunk.length;
        if (bytes > bodyBytesMax) {
          refuse(tooLarge(bodyBytesMax));
        } else if (bytes > SMALL_BYTES && held > receivingBytesMax) {
          refuse(crowded());
        } else if (start === 0) {
          gathered = chunk;
        } else {
          if (bytes > gathered.length) gathered = enlarged(gathered, start, Math.min(2 * bytes, bodyBytesMax));
          chunk.copy(gathered, start);
        }
      });
      incoming.on('end', () => {
        if (settled) return;
        settle();
        resolve(gathered.subarray(0, bytes));
      });
      const brokenOff = (cause?: Error) => {
        // Every request is closed in the end, and making an error takes a tenth of a call.
        if (!settled) refuse(new Problem('malformed', 'The request body broke off.', { cause }));
      };
      incoming.on('error', brokenOff);
      incoming.on('close', () => brokenOff());
    });
  }

  return (incoming: IncomingMessage): Promise<Uint8Array> => {
    if (Number(incoming.headers['content-length'] ?? 0) > bodyBytesMax) return Promise.reject(tooLarge(bodyBytesMax));
    const coding = incoming.headers['content-encoding'];
    const received = receive(incoming);
    return coding === undefined ? received : received.then((bytes) => unpack(bytes, coding, inflatedBytesMax));
  };
}

const tooLarge = (bytesMax: number): Problem =>
  new Problem('too-large', `A request body has at most ${bytesMax} bytes.`, { headers: { Connection: 'close' } });

const crowded = (): Problem =>
  new Problem('too-many', 'Too much is being sent at the same time. Try again later.', {
    headers: { Connection: 'close', 'Retry-After': '1' },
  });

const NOTHING: Buffer = Buffer.alloc(0);

function enlarged(before: Buffer, used: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes);
  before.copy(larger, 0, 0, used);
  return larger;
}
