import { sameNumber } from '../../sms/numbers.ts';
import type { AccountKey, Database } from '../../store/database.ts';
import * as sql from './blacklist.sql.ts';
import { type BlacklistOrigin, entriesOf } from './blacklist.ts';
import { findErasedEntry, isErasedEntry } from './erased-number.ts';

/** A blacklist entry with all fields that an operator sees. */
export interface BlacklistEntry {
  /** Null if the person was erased: then only a hash is stored. */
  readonly number: string | null;
  readonly origin: BlacklistOrigin;
  /** The message that asked for the entry, if there was one. */
  readonly evidence: string | null;
  readonly blockedAt: number;
  /** The position after which the next page starts. */
  readonly position: string;
}

export function createBlacklistRecords(database: Database, region: (account: AccountKey) => Promise<string | null>) {
  return {
    async list(account: AccountKey, limit: number, after: string | null): Promise<BlacklistEntry[]> {
      return (await database.all(sql.listed, { account, after: after ?? '', limit })).map(toEntry);
    },

    /**
     * Removes the entries of the number, in any notation, for which `isWanted` holds. Returns how
     * many those were.
     */
    async remove(
      account: AccountKey,
      number: string,
      isWanted: (entry: Pick<BlacklistEntry, 'origin' | 'evidence'>) => boolean = () => true,
    ): Promise<number> {
      const seenFrom = await region(account);
      return database.transaction(account, async (queries) => {
        const entries = await entriesOf(queries, account, sameNumber(number, seenFrom));
        const erased = await findErasedEntry(queries, account, number, seenFrom);
        const all = erased ? [...entries, erased.number] : entries;
        let removed = 0;
        for (const entry of all) {
          const row = await queries.first(sql.entry, { account, number: entry });
          if (row && isWanted(toEntry(row))) removed += await queries.run(sql.unblock, { account, number: entry });
        }
        return removed;
      });
    },
  };
}

/** An entry without origin is older than the column; it came from an import or a call. */
const toEntry = ({ number, sample, blocked_at, origin }: sql.BlacklistRow): BlacklistEntry => ({
  number: isErasedEntry(number) ? null : number,
  origin: (origin ?? 'import') as BlacklistOrigin,
  evidence: sample,
  blockedAt: Number(blocked_at),
  position: number,
});
