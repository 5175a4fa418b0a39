import { Problem } from '../base/problem.ts';

/**
 * Limits the bytes of streamed answers that were produced and not yet read by their clients,
 * wherever they wait. Each account may use only a share, so that clients that read nothing on many
 * connections leave room for others.
 */
export interface Unsent {
  /** Throws the same as `hold`, before an answer is called a success in logs. */
  admit(receiver: Receiver): void;
  /** Reserves room for a new answer. Throws Problem `too-many` if there is none. */
  hold(receiver: Receiver, isCompressed: boolean): Holding;
  /** The bytes of all answers that are being sent. */
  readonly bytes: number;
  /** Number of answers since the start for which there was no room. */
  readonly refused: number;
}

/** An account or a client address. */
type Receiver = bigint | string | undefined;

export interface Holding {
  /** This many bytes were produced or, if negative, read by the client. */
  add(bytes: number): void;
  /**
   * Whether the answer may be collected. Half of the room is reserved for answers that are sent as
   * they are produced.
   */
  readonly mayCollect: boolean;
  /** The whole answer was read, or nobody will read it. */
  release(): void;
}

// A client that reads nothing holds one piece as text (up to 84 KB) and as bytes (40 KB, or 126 KB
// without ASCII), and the rest of a page (up to 66 KB). This much is counted for each response from
// the start.
const ANSWER_BYTES = 196_608;
// The memory of zlib and its streams, see compression.ts.
const COMPRESSION_BYTES = 131_072;
// An account may use one of this many equal shares.
const ACCOUNT_SHARES = 4;

export function createUnsent(bytesMax: number): Unsent {
  const accountBytesMax = bytesMax / ACCOUNT_SHARES;
  /**
   * The bytes of each account with an answer in progress, so there are never more entries than
   * connections.
   */
  const ofAccounts = new Map<bigint | string, number>();
  let bytes = 0;
  let refused = 0;

  const ofAccount = (receiver: Receiver) => (receiver === undefined ? 0 : (ofAccounts.get(receiver) ?? 0));

  function count(receiver: Receiver, change: number): void {
    bytes += change;
    if (receiver === undefined) return;
    const left = ofAccount(receiver) + change;
    if (left > 0) ofAccounts.set(receiver, left);
    else ofAccounts.delete(receiver);
  }

  function check(receiver: Receiver, least: number): void {
    const own = receiver === undefined ? 0 : ofAccount(receiver) + least;
    if (bytes + least <= bytesMax && own <= accountBytesMax) return;
    refused += 1;
    throw crowded();
  }

  return {
    admit: (receiver) => check(receiver, ANSWER_BYTES),
    hold(receiver, isCompressed) {
      const least = ANSWER_BYTES + (isCompressed ? COMPRESSION_BYTES : 0);
      check(receiver, least);
      let made = 0;
      let counted = least;
      count(receiver, counted);
      const recount = (now: number) => {
        count(receiver, now - counted);
        counted = now;
      };
      return {
        add(more) {
          made += more;
          if (counted > 0) recount(Math.max(made, least));
        },
        get mayCollect() {
          return 2 * bytes <= bytesMax && 2 * ofAccount(receiver) <= accountBytesMax;
        },
        release: () => recount(0),
      };
    },
    get bytes() {
      return bytes;
    },
    get refused() {
      return refused;
    },
  };
}

const crowded = (): Problem =>
  new Problem('too-many', 'Too many long answers have not been read yet. Try again later.', {
    retryAfterSeconds: 1,
  });
