import { Problem } from '../../base/problem.ts';
import type { Database, Queries } from '../../store/database.ts';
import * as sql from './drafts.sql.ts';

/**
 * What somebody wrote and has checked in the console. It is kept for a day, and until its messages
 * are accepted.
 */
export interface Draft {
  /** Null after the messages were accepted. */
  readonly content: string | null;
  /** Where the accepted messages are; null until they are accepted. */
  readonly result: string | null;
}
/** A draft belongs to who wrote it, because an operator may write for an account too. */
interface Key {
  readonly account: bigint;
  readonly id: string;
  readonly owner: string;
}

const KEPT_MS = 24 * 3_600_000;
/** What one account may store: 20,000 recipients with some values take about 4 MB. */
const DRAFTS_MAX = 50;
const BYTES_MAX = 16 * 2 ** 20;
const BYTES_OF_ACCOUNT_MAX = 48 * 2 ** 20;

export function createDrafts(database: Database, now: () => number) {
  async function find({ account, id, owner }: Key): Promise<Draft | null> {
    const found = await database.first(sql.draft, { account, id });
    if (!found || found.owner !== owner || Number(found.saved_at) < now() - KEPT_MS) return null;
    return { content: found.content, result: found.result };
  }

  return {
    find,

    /** Saves a draft in place of an earlier one; the oldest drafts make room for it. */
    save: (key: Key, content: string): Promise<void> => {
      const bytes = Buffer.byteLength(content);
      if (bytes > BYTES_MAX) throw new Problem('too-large', 'This is too much for one message. Use a smaller file.');
      return database.transaction(key.account, async (queries) => {
        const { account, id, owner } = key;
        const present = await queries.first(sql.draft, { account, id });
        if (present && present.owner !== owner) throw new Problem('forbidden', 'This draft belongs to somebody else.');
        await queries.run(sql.saveDraft, { ...key, at: now(), bytes, content });
        let [count, sum] = [0, 0];
        for (const { draft_id, saved_at, bytes: own } of await queries.all(sql.draftsOf, { account })) {
          count += 1;
          sum += Number(own);
          const isOver = count > DRAFTS_MAX || sum > BYTES_OF_ACCOUNT_MAX || Number(saved_at) < now() - KEPT_MS;
          if (isOver && draft_id !== id) await queries.run(sql.deleteDraft, { account, id: draft_id });
        }
      });
    },

    /** The messages are accepted: only the place where they are is kept. */
    accepted: async ({ account, id }: Key, result: string): Promise<void> => {
      await database.run(sql.setResult, { account, id, result });
    },
  };
}

export async function forgetDrafts(database: Database, now: number): Promise<void> {
  await database.run(sql.forget, { before: now - KEPT_MS });
}

/** Deletes the drafts of an account whose content names a person. */
export async function eraseDrafts(
  queries: Queries,
  account: bigint,
  names: (content: string) => boolean,
): Promise<void> {
  for (const { draft_id, content } of await queries.all(sql.contentsOf, { account })) {
    if (content !== null && names(content)) await queries.run(sql.deleteDraft, { account, id: draft_id });
  }
}
