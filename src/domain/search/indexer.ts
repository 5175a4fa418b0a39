import { numberEnd, numberKey, sameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import { LAST, LAST_ID } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import * as sql from './search.sql.ts';
import { CONTACT, type Indexed, type Kind, numberToken, RECEIVED, SCHEDULED, SENT, tokensOf } from './tokens.ts';

/**
 * Fills the index behind the writes: triggers note what has changed, and this works through their
 * notes, in small batches in the pauses of other calls. A search first indexes what its account has
 * changed last, so it misses nothing.
 */
export type RegionOf = (account: AccountKey) => Promise<string | null>;

/** People are few, and found by nothing but the index. */
const KINDS: readonly Kind[] = [CONTACT, RECEIVED, SENT, SCHEDULED];
/**
 * The kinds by their position in search_backfill, from 6 on. Positions 1 to 4 are those of a
 * database that began when contacts came last.
 */
const FILLED: readonly (Kind | undefined)[] = [undefined, RECEIVED, SENT, SCHEDULED, CONTACT, undefined, ...KINDS];
/**
 * Messages of one transaction on SQLite, if no write waits for it. Their entries share pages: with
 * 20 messages, writing a message's entries takes 95 µs instead of 40.
 */
const BATCH_MAX = 200;
/** A write that waits is let in after so many messages, which take about 2 ms on SQLite. */
const PIECE = 20;
const PAUSE_MS = 5;
/** How many changes a search indexes before it answers: about 25 ms, once for each message. */
const BEFORE_SEARCH_MAX = 200;
/** How many entries are looked at for the message before a deleted one. */
const LOOKED_AT_MAX = 200;

export const INDEX_EVERY_MS = 2_000;

export type Indexer = ReturnType<typeof createIndexer>;

export function createIndexer(database: Database, regionOf: RegionOf) {
  /** Indexes some changes of an account. Returns false if that were all. */
  const indexSome = (account: AccountKey): Promise<boolean> =>
    inPieces(account, async (queries) => {
      return (await indexChanges(queries, account, () => regionOf(account), PIECE)) === PIECE;
    });

  /** The same for a search, which waits for it. Returns how many they were. */
  const indexBeforeSearch = (account: AccountKey, limit: number): Promise<number> =>
    database.transaction(account, (queries) => indexChanges(queries, account, () => regionOf(account), limit));

  /** Adds older messages of an account to the index. Returns false when all are there. */
  const fillSome = (account: bigint): Promise<boolean> =>
    inPieces(account, async (queries) => {
      const left = await queries.first(sql.backfill, { account });
      if (!left) return false;
      const position = Number(left.kind);
      const kind = FILLED[position] as Kind;
      const rows = await queries.all(sql.documentsDown[kind], { account, to: left.to_id, limit: PIECE });
      await addAll(queries, account, await regionOf(account), rows.map(documentOf(kind)));
      const last = rows.length < PIECE ? undefined : rows.at(-1)?.item_id;
      if (last !== undefined) await queries.run(sql.moveBackfill, { account, kind: position, toId: last - 1n });
      else if (FILLED[position + 1]) {
        await queries.run(sql.moveBackfill, { account, kind: position + 1, toId: LAST_ID });
      } else await queries.run(sql.endBackfill, { account });
      return true;
    });

  /** One transaction, which ends soon if a write waits. `work` returns whether more is left. */
  const inPieces = (account: AccountKey, work: (queries: TransactionQueries) => Promise<boolean>): Promise<boolean> =>
    database.transaction(account, async (queries) => {
      for (let done = PIECE; await work(queries); done += PIECE) {
        if (done >= BATCH_MAX || queries.isAwaited !== false) return true;
      }
      return false;
    });

  return {
    /**
     * Indexes what the account has changed last. Returns false if more is left, or if older
     * messages are still being added to the index: then a search does not see everything.
     */
    async catchUp(account: AccountKey): Promise<boolean> {
      if (await database.first(sql.anyChange, { account })) {
        await indexBeforeSearch(account, BEFORE_SEARCH_MAX);
      }
      const left = await database.first(sql.anyChange, { account });
      return left === undefined && (await database.first(sql.backfill, { account })) === undefined;
    },

    /** The same for all accounts, beginning with the one whose id is the lowest. */
    async catchUpEverywhere(): Promise<boolean> {
      let left = await database.first(sql.nextChanged, { after: -1n });
      for (let rest = BEFORE_SEARCH_MAX; left && rest > 0; ) {
        const done = await indexBeforeSearch(left.account_id, rest);
        if (done === 0) return false; // another transaction holds them
        rest -= done;
        left = await database.first(sql.nextChanged, { after: -1n });
      }
      return left === undefined && (await database.first(sql.nextBackfill, { after: -1n })) === undefined;
    },

    /** Indexes everything that has changed, then what was there before the index. */
    async run(sleep: (ms: number) => Promise<void>, isStopping: () => boolean = () => false): Promise<void> {
      await eachAccount(sql.nextChanged, indexSome);
      await eachAccount(sql.nextBackfill, fillSome);

      async function eachAccount(
        next: typeof sql.nextChanged,
        work: (account: bigint) => Promise<boolean>,
      ): Promise<void> {
        for (let after = -1n; !isStopping(); ) {
          const found = await database.first(next, { after });
          if (!found) return;
          after = found.account_id;
          while (!isStopping() && (await work(after))) await sleep(PAUSE_MS);
        }
      }
    },
  };
}

/**
 * Indexes at most `limit` changes of an account in an open transaction. An erasure calls it without
 * a limit, so that the index forgets the person together with the messages.
 */
export async function indexChanges(
  queries: TransactionQueries,
  account: AccountKey,
  regionOf: () => Promise<string | null>,
  limit: number,
): Promise<number> {
  let done = 0;
  let region: string | null | undefined;
  for (const kind of KINDS) {
    if (done >= limit) break;
    const rows = await queries.all(sql.changes, { account, kind, limit: limit - done });
    if (rows.length === 0) continue;
    if (region === undefined) region = await regionOf();
    const ids = elementsOf(rows.map(({ item_id }) => item_id));
    const present = (await queries.all(sql.documentsAmong[kind], { account, ids })).map(documentOf(kind));
    const before = rows.flatMap((row) => wasOf(kind, row));
    const gone = await removeBefore(queries, account, before, present);
    await addAll(queries, account, region, present);
    await queries.run(sql.removeChanges, { account, kind, ids });
    if (kind === RECEIVED || kind === SENT) await endConversations(queries, account, region, gone);
    done += rows.length;
  }
  return done;
}

/**
 * Removes what the index has of these items, except for those that it still finds in the same way.
 * Returns the removed ones.
 */
async function removeBefore(
  queries: TransactionQueries,
  account: AccountKey,
  before: readonly Indexed[],
  present: readonly Indexed[],
): Promise<Indexed[]> {
  const now = new Map(present.map((each) => [each.id, each]));
  const gone = before.filter((each) => {
    const own = now.get(each.id);
    return !own || (['at', 'number', 'text', 'reference'] as const).some((field) => own[field] !== each[field]);
  });
  for (const { kind, id, at, ...rest } of gone) {
    for (const token of tokensOf({ kind, id, at, ...rest })) {
      await queries.run(sql.removeEntry, { account, token, at, kind, id });
    }
  }
  return gone;
}

const documentOf =
  (kind: Kind) =>
  ({ item_id, at, number, text, reference, is_failed }: sql.DocumentRow): Indexed => ({
    kind,
    id: item_id,
    at: Number(at),
    number,
    text,
    reference,
    isFailed: Number(is_failed) === 1,
  });

const wasOf = (kind: Kind, row: sql.ChangeRow): Indexed[] =>
  row.was_at === null
    ? []
    : [
        {
          kind,
          id: row.item_id,
          at: Number(row.was_at),
          number: row.was_number,
          text: row.was_text,
          reference: row.was_reference,
          isFailed: false,
        },
      ];

/** The number of a conversation; null if nobody can be answered. */
export const conversationNumber = (number: string | null, region: string | null): string | null =>
  number === null || number.trim() === '' ? null : numberKey(number, region);

async function addAll(
  queries: TransactionQueries,
  account: AccountKey,
  region: string | null,
  documents: readonly Indexed[],
): Promise<void> {
  const entries = documents.flatMap(({ at, kind, id, ...rest }) =>
    [...tokensOf({ at, kind, id, ...rest })].map((token) => ({ account, token, at, kind, id })),
  );
  if (entries.length > 0) await queries.runAll(sql.addEntry, entries);
  const last = new Map<string, Indexed>();
  for (const each of documents) {
    if (each.kind !== RECEIVED && each.kind !== SENT) continue;
    const number = conversationNumber(each.number, region);
    if (number !== null && !isLater(last.get(number), each)) last.set(number, each);
  }
  await putConversations(queries, account, last);
}

async function putConversations(
  queries: TransactionQueries,
  account: AccountKey,
  last: ReadonlyMap<string, Indexed>,
): Promise<void> {
  const rows = [...last].map(([number, { at, kind, id, isFailed }]) => {
    return { account, number, at, kind, id, isFailed: isFailed ? 1 : 0 };
  });
  if (rows.length > 0) await queries.runAll(sql.putConversation, rows);
}

const isLater = (one: Indexed | undefined, other: Indexed): boolean =>
  one !== undefined &&
  (one.at !== other.at ? one.at > other.at : one.kind !== other.kind ? one.kind > other.kind : one.id > other.id);

/** A conversation whose last message is gone ends with the one before it, or with nothing. */
async function endConversations(
  queries: TransactionQueries,
  account: AccountKey,
  region: string | null,
  gone: readonly Indexed[],
): Promise<void> {
  const numbers = new Set(gone.flatMap(({ number }) => conversationNumber(number, region) ?? []));
  for (const number of numbers) {
    const row = await queries.first(sql.conversation, { account, number });
    if (!row || !gone.some(({ kind, id }) => id === row.last_id && kind === Number(row.last_kind))) continue;
    await queries.run(sql.removeConversation, { account, number });
    const before = await newestOf(queries, account, region, number);
    if (before) await putConversations(queries, account, new Map([[number, before]]));
  }
}

async function newestOf(
  queries: Queries,
  account: AccountKey,
  region: string | null,
  number: string,
): Promise<Indexed | undefined> {
  const { matches } = sameNumber(number, region);
  const token = numberToken(numberEnd(number));
  let newest: Indexed | undefined;
  for (const kind of [RECEIVED, SENT] as const) {
    const from = { account, token, kind, ...LAST, limit: LOOKED_AT_MAX };
    for (const { at, item_id } of await queries.all(sql.entriesDown, from)) {
      if (newest && Number(at) < newest.at) break;
      const [found] = await queries.all(sql.documentsAmong[kind], { account, ids: elementsOf([item_id]) });
      if (!found || !matches(found.number)) continue;
      const document = documentOf(kind)(found);
      if (!isLater(newest, document)) newest = document;
      break;
    }
  }
  return newest;
}
