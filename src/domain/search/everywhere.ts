import { sameNumber } from '../../sms/numbers.ts';
import { LAST } from '../../store/cursor.ts';
import type { Database } from '../../store/database.ts';
import { effectiveRegion, findAccount, type StoredAccount } from '../accounts/accounts.ts';
import { createIndexer, type RegionOf } from './indexer.ts';
import { isNumber } from './query.ts';
import * as sql from './search.sql.ts';
import { type FoundMessage, keyOf, load, type Position } from './search.ts';
import { idToken, numberToken, referenceToken } from './tokens.ts';

/** For operators: finds a number, an id or a reference in all accounts, newest first. */
export interface FoundEverywhere {
  readonly account: bigint;
  readonly username: string;
  readonly message: FoundMessage;
}
export interface PositionEverywhere extends Position {
  readonly account: bigint;
}
export interface Everywhere {
  readonly found: readonly FoundEverywhere[];
  readonly next: PositionEverywhere | null;
  /** False if some messages are not in the index yet, so that they may be missing. */
  readonly isComplete: boolean;
  /** How the words were read. */
  readonly readAs: readonly ('number' | 'id' | 'reference')[];
}

const PAGE = 50;
const NUMBER_DIGITS = 6;
const START: PositionEverywhere = { at: LAST.at, account: LAST.id, kind: 9, id: LAST.id };

export function createSearchEverywhere(database: Database, regionOf: RegionOf, defaultRegion: string | null) {
  const indexer = createIndexer(database, regionOf);
  return async (text: string, after: PositionEverywhere = START): Promise<Everywhere> => {
    const trimmed = text.trim();
    if (trimmed === '') return { found: [], next: null, isComplete: true, readAs: [] };
    const isComplete = await indexer.catchUpEverywhere();
    const isPhone = isNumber(trimmed) && trimmed.replace(/\D/g, '').length >= NUMBER_DIGITS;
    const isId = /^\d{1,19}$/.test(trimmed);
    const reference = referenceToken(trimmed);
    const tokens = [
      ...(isPhone ? sameNumber(trimmed, defaultRegion).ends.map(numberToken) : []),
      ...(isId ? [idToken(BigInt(trimmed))] : []),
      reference,
    ];
    const positions = await newestOf(tokens, after);
    const shown = positions.slice(0, PAGE);
    const found: (FoundEverywhere & { readonly place: PositionEverywhere })[] = [];
    for (const [id, own] of Map.groupBy(shown, ({ account }) => account)) {
      const account = await findAccount(database, id);
      if (!account) continue;
      const isWanted = wantedIn(account, trimmed, { isPhone, isId, reference });
      const messages = await load(database, id, own);
      for (const place of own) {
        const message = messages.get(keyOf(place));
        if (message && isWanted(message)) found.push({ account: id, username: account.username, message, place });
      }
    }
    return {
      found: found.sort((one, other) => byTime(one.place, other.place)),
      next: positions.length > PAGE ? (shown.at(-1) ?? null) : null,
      isComplete,
      readAs: [...(isPhone ? (['number'] as const) : []), ...(isId ? (['id'] as const) : []), 'reference'],
    };
  };

  /** A local number is read in the country of each account. */
  function wantedIn(
    account: StoredAccount,
    text: string,
    { isPhone, isId, reference }: { isPhone: boolean; isId: boolean; reference: string },
  ): (message: FoundMessage) => boolean {
    const same = sameNumber(text, effectiveRegion(account, defaultRegion));
    return (message) =>
      (isPhone && same.matches(message.number)) ||
      (isId && message.id === BigInt(text)) ||
      (message.reference !== null && referenceToken(message.reference) === reference);
  }

  async function newestOf(tokens: readonly string[], after: PositionEverywhere): Promise<PositionEverywhere[]> {
    const merged = new Map<string, PositionEverywhere>();
    const { at, account: accountId, kind, id } = after;
    for (const token of tokens) {
      const rows = await database.all(sql.entriesEverywhere, { token, at, accountId, kind, id, limit: PAGE + 1 });
      for (const row of rows) {
        const place = { at: Number(row.at), account: row.account_id, kind: Number(row.kind), id: row.item_id };
        merged.set(`${place.account}/${keyOf(place)}`, place);
      }
    }
    return [...merged.values()].sort(byTime).slice(0, PAGE + 1);
  }
}

const byTime = (one: PositionEverywhere, other: PositionEverywhere): number =>
  other.at - one.at ||
  Number(other.account - one.account) ||
  other.kind - one.kind ||
  (other.id > one.id ? 1 : other.id < one.id ? -1 : 0);
