import { Problem } from '../base/problem.ts';

/**
 * What was made of answers in pieces and is not taken yet, wherever it waits. One account has a
 * share of it alone: whoever takes nothing on many connections leaves room for others.
 */
export interface Unsent {
  /** Throws the same as `hold`, before an answer is called a success in logs. */
  admit(owner: Owner): void;
  /** For an answer that is to be made; throws Problem `too-many` where there is no room for it. */
  hold(owner: Owner, isCompressed: boolean): Holding;
  /** Of all answers under way. */
  readonly bytes: number;
  /** Answers for which there was no room, since the start. */
  readonly refused: number;
}

/** An account, or the address of a client. */
type Owner = bigint | string | undefined;

export interface Holding {
  /** So many bytes were made or, where it is less than 0, taken. */
  add(bytes: number): void;
  /**
   * Whether it may be collected: half of the room is for answers that are sent as they are made.
   */
  readonly mayCollect: boolean;
  /** All of it is taken, or nobody will take it. */
  release(): void;
}

// A client that takes nothing holds one piece as text (up to 84 KB) and as bytes (40 KB). Without
// ASCII the bytes are 126 KB. The rest of a page takes up to 66 KB. So much counts for each
// response from the start.
const ANSWER_BYTES = 196_608;
// What zlib and its streams take, see compression.ts.
const COMPRESSION_BYTES = 131_072;
// An account may have one part of so many.
const ACCOUNT_SHARES = 4;

export function createUnsent(bytesMax: number): Unsent {
  const accountBytesMax = bytesMax / ACCOUNT_SHARES;
  /** Of each account with an answer under way, so there are never more than connections. */
  const ofAccounts = new Map<bigint | string, number>();
  let bytes = 0;
  let refused = 0;

  const ofAccount = (owner: Owner) => (owner === undefined ? 0 : (ofAccounts.get(owner) ?? 0));

  function count(owner: Owner, change: number): void {
    bytes += change;
    if (owner === undefined) return;
    const left = ofAccount(owner) + change;
    if (left > 0) ofAccounts.set(owner, left);
    else ofAccounts.delete(owner);
  }

  function check(owner: Owner, least: number): void {
    const own = owner === undefined ? 0 : ofAccount(owner) + least;
    if (bytes + least <= bytesMax && own <= accountBytesMax) return;
    refused += 1;
    throw crowded();
  }

  return {
    admit: (owner) => check(owner, ANSWER_BYTES),
    hold(owner, isCompressed) {
      const least = ANSWER_BYTES + (isCompressed ? COMPRESSION_BYTES : 0);
      check(owner, least);
      let made = 0;
      let counted = least;
      count(owner, counted);
      const recount = (now: number) => {
        count(owner, now - counted);
        counted = now;
      };
      return {
        add(more) {
          made += more;
          if (counted > 0) recount(Math.max(made, least));
        },
        get mayCollect() {
          return 2 * bytes <= bytesMax && 2 * ofAccount(owner) <= accountBytesMax;
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
