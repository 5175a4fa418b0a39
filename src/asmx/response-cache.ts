import { detached } from '../detached.ts';
import type { Reply } from '../exchange.ts';
import type { FormName } from './protocols/protocol.ts';

/**
 * Answers that still hold: a client that polls asks the same again and again, and mostly nothing has changed. Kept are
 * only answers during which nothing about their account was written, under everything of the request that they depend on.
 */
export interface Answered {
  readonly form: FormName;
  readonly group: string;
  readonly operation: string;
  readonly account: unknown;
  readonly reply: Reply;
}

export interface Kept {
  /** Without a key there is nothing that could be kept, and it is made anew all the same. */
  find(key: string | undefined): Answered | undefined;
  /**
   * Whether it is worth it. `version` is that of the account before anything was read: after a change, nothing under it is
   * found any more.
   */
  keep(key: () => string, answered: Answered, version: number): boolean;
  /** Since the start, and what is kept now. */
  readonly figures: { readonly hits: number; readonly misses: number; readonly bytes: number };
}

interface Entry {
  readonly answered: Answered;
  readonly version: number;
  readonly bytes: number;
  /** Since it was last looked at for being dropped. */
  used: boolean;
}

// Long keys are long lists of ids, which nobody polls with; long answers would drive out many short ones.
const KEY_LENGTH_MAX = 4_096;
const ANSWER_BYTES_MAX = 64 * 1024;
// What an entry takes besides its key and its answer: objects, header fields, its place in the map.
const ENTRY_BYTES = 1_000;

/** The version of an account, now or as of the last look; undefined where there is nothing to keep for it. */
export type AskVersion = (account: unknown, look: boolean) => number | undefined;

export function createKept(bytesMax: number, askVersion: AskVersion): Kept {
  /** A database that cannot say is none to keep anything for; what was done is done all the same. */
  const versionOf = (account: unknown, look: boolean): number | undefined => {
    try {
      return askVersion(account, look);
    } catch {
      return undefined;
    }
  };
  const entries = new Map<string, Entry>();
  let bytes = 0;
  let hits = 0;
  let misses = 0;

  function drop(key: string, entry: Entry): void {
    entries.delete(key);
    bytes -= entry.bytes;
  }

  /** The oldest first; one that was used meanwhile gets another round. */
  function makeRoom(): void {
    for (const [key, entry] of entries) {
      if (bytes <= bytesMax) return;
      if (entry.used) {
        entry.used = false;
        entries.delete(key);
        entries.set(key, entry);
      } else {
        drop(key, entry);
      }
    }
  }

  return {
    get figures() {
      return { hits, misses, bytes };
    },
    find(key) {
      const entry = key === undefined ? undefined : entries.get(key);
      if (!entry || versionOf(entry.answered.account, true) !== entry.version) {
        misses += 1;
        return undefined;
      }
      hits += 1;
      entry.used = true;
      return entry.answered;
    },
    keep(keyOf, answered, version) {
      const { reply, account } = answered;
      if (typeof reply.body !== 'string' || reply.body.length > ANSWER_BYTES_MAX) return false;
      if (versionOf(account, false) !== version) return false;
      const given = keyOf();
      const length = Buffer.byteLength(reply.body);
      if (given.length > KEY_LENGTH_MAX || length > ANSWER_BYTES_MAX) return false;
      const key = detached(given);
      const body = Buffer.allocUnsafeSlow(length); // of its own: a part of a shared one would keep all of that
      body.write(reply.body);
      const before = entries.get(key);
      if (before) drop(key, before);
      const size = key.length + body.length + ENTRY_BYTES;
      const copy = { ...answered, operation: detached(answered.operation), reply: { ...reply, body } };
      entries.set(key, { answered: copy, version, bytes: size, used: false });
      bytes += size;
      if (bytes > bytesMax) makeRoom();
      return true;
    },
  };
}
