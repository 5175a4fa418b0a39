import { numberEnd, numberKey, sameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import { LAST, LAST_ID } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { elementsOf, recordsOf } from '../../store/json.ts';
import * as sql from './search.sql.ts';
import { CONTACT, type Indexed, type Kind, numberToken, RECEIVED, SCHEDULED, SENT, tokensOf } from './tokens.ts';

/**
 * Fills the index behind the writes: triggers note what has changed, and this works through their
 * notes, in small batches in the pauses of other calls. A search first indexes what its account has
 * changed last, so it misses nothing.
 */
export type RegionOf = (account: AccountKey) => Promise<string | null>;

const KINDS: readonly Kind[] = [RECEIVED, SENT, SCHEDULED, CONTACT];
// A batch delays other calls by about 2 ms on SQLite. A million messages take about ten minutes.
const BATCH = 20;
const PAUSE_MS = 5;
/** How many changes a search indexes before it answers: about 25 ms, once for each message. */
const BEFORE_SEARCH_MAX = 200;
/** How many entries are looked at for the message before a deleted one. */
const LOOKED_AT_MAX = 200;

export const INDEX_EVERY_MS = 2_000;

export type Indexer = ReturnType<typeof createIndexer>;

export function createIndexer(database: Database, regionOf: RegionOf) {
  /** Indexes some changes of an account; returns how many. */
  const indexSome = (account: AccountKey): Promise<number> =>
    database.transaction(account, (queries) => indexChanges(queries, account, () => regionOf(account), BATCH));

  /** Adds older messages of an account to the index. Returns false when all are there. */
  const fillSome = (account: bigint): Promise<boolean> =>
    database.transaction(account, async (queries) => {
      const position = await queries.first(sql.backfill, { account });
      if (!position) return false;
      const kind = Number(position.kind) as Kind;
      const rows = await queries.all(sql.documentsDown[kind], { account, to: position.to_id, limit: BATCH });
      await addAll(queries, account, await regionOf(account), rows.map(documentOf(kind)));
      const last = rows.length < BATCH ? undefined : rows.at(-1)?.item_id;
      if (last !== undefined) await queries.run(sql.moveBackfill, { account, kind, toId: last - 1n });
      else if (kind !== CONTACT) await queries.run(sql.moveBackfill, { account, kind: kind + 1, toId: LAST_ID });
      else await queries.run(sql.endBackfill, { account });
      return true;
    });

  return {
    /**
     * Indexes what the account has changed last. Returns false if more is left, or if older
     * messages are still being added to the index: then a search does not see everything.
     */
    async catchUp(account: AccountKey): Promise<boolean> {
      for (let done = 0; done < BEFORE_SEARCH_MAX; done += BATCH) {
        if (!(await database.first(sql.anyChange, { account }))) break;
        if ((await indexSome(account)) < BATCH) break;
      }
      const left = await database.first(sql.anyChange, { account });
      return left === undefined && (await database.first(sql.backfill, { account })) === undefined;
    },

    /** The same for all accounts, beginning with the one whose id is the lowest. */
    async catchUpEverywhere(): Promise<boolean> {
      let left = await database.first(sql.nextChanged, { after: -1n });
      for (let done = 0; left && done < BEFORE_SEARCH_MAX; done += BATCH) {
        await indexSome(left.account_id);
        left = await database.first(sql.nextChanged, { after: -1n });
      }
      return left === undefined && (await database.first(sql.nextBackfill, { after: -1n })) === undefined;
    },

    /** Indexes everything that has changed, then what was there before the index. */
    async run(sleep: (ms: number) => Promise<void>, isStopping: () => boolean = () => false): Promise<void> {
      await eachAccount(sql.nextChanged, async (account) => (await indexSome(account)) > 0);
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
    const ids = rows.map(({ item_id }) => item_id);
    const gone = rows.flatMap((row) => wasOf(kind, row));
    for (const each of gone) {
      for (const token of tokensOf(each)) {
        await queries.run(sql.removeEntry, { account, token, at: each.at, kind, id: each.id });
      }
    }
    const present = await queries.all(sql.documentsAmong[kind], { account, ids: elementsOf(ids) });
    await addAll(queries, account, region, present.map(documentOf(kind)));
    for (const id of ids) await queries.run(sql.removeChange, { account, kind, id });
    if (kind === RECEIVED || kind === SENT) await endConversations(queries, account, region, gone);
    done += rows.length;
  }
  return done;
}

const documentOf =
  (kind: Kind) =>
  ({ item_id, at, number, text, reference }: sql.DocumentRow): Indexed => ({
    kind,
    id: item_id,
    at: Number(at),
    number,
    text,
    reference,
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
        },
      ];

/** The number of a conversation; null if nobody can be answered. */
export const conversationNumber = (number: string | null, region: string | null): string | null =>
  number === null || number.trim() === '' ? null : numberKey(number, region);

async function addAll(
  queries: Queries,
  account: AccountKey,
  region: string | null,
  documents: readonly Indexed[],
): Promise<void> {
  const rows = documents.flatMap((each) => [...tokensOf(each)].map((token) => [token, each.at, each.kind, each.id]));
  if (rows.length > 0) await queries.run(sql.addEntries, { account, rows: recordsOf(rows) });
  const last = new Map<string, Indexed>();
  for (const each of documents) {
    if (each.kind !== RECEIVED && each.kind !== SENT) continue;
    const number = conversationNumber(each.number, region);
    if (number !== null && !isLater(last.get(number), each)) last.set(number, each);
  }
  for (const [number, { at, kind, id }] of last)
    await queries.run(sql.putConversation, { account, number, at, kind, id });
}

const isLater = (one: Indexed | undefined, other: Indexed): boolean =>
  one !== undefined &&
  (one.at !== other.at ? one.at > other.at : one.kind !== other.kind ? one.kind > other.kind : one.id > other.id);

/** A conversation whose last message is gone ends with the one before it, or with nothing. */
async function endConversations(
  queries: Queries,
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
    if (before) {
      const { at, kind, id } = before;
      await queries.run(sql.putConversation, { account, number, at, kind, id });
    }
  }
}

async function newestOf(
  queries: Queries,
  account: AccountKey,
  region: string | null,
  number: string,
): Promise<Indexed | undefined> {
  const { matches } = sameNumber(number, region);
  const start = { account, token: numberToken(numberEnd(number)), at: LAST.at, kind: 9, id: LAST.id };
  const rows = await queries.all(sql.entriesBefore, { ...start, limit: LOOKED_AT_MAX });
  for (const { kind, item_id } of rows) {
    const known = Number(kind) as Kind;
    if (known !== RECEIVED && known !== SENT) continue;
    const [found] = await queries.all(sql.documentsAmong[known], { account, ids: elementsOf([item_id]) });
    if (found && matches(found.number)) return documentOf(known)(found);
  }
  return undefined;
}
