import { notFound } from '../../base/problem.ts';
import { numberEnd, type SameNumber } from '../../sms/numbers.ts';
import { FIRST_AT } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { accountId, lockAccount } from '../accounts/accounts.ts';
import * as sql from './incoming.sql.ts';
import { concernedBy, inOrder, joinParts, storeFor, type WholeMessage } from './incoming.ts';
import { type FoundRoute, findRoute } from './routes.ts';

/** Messages for which there was no route. They stay until the operator decides about them. */
export interface UnroutedMessage extends WholeMessage {
  readonly id: bigint;
}

/** A message that has found a route, with the accounts that it changes. */
interface RoutedMessage {
  readonly message: UnroutedMessage;
  readonly route: FoundRoute;
  readonly accounts: readonly bigint[];
}

/** How many messages have found their account, and how many are left. */
export interface Replayed {
  readonly routed: number;
  readonly left: number;
}

/** A replay is one transaction, which ends with the page in which this number is reached. */
const REPLAYED_MAX = 1_000;
const PAGE = 500;

export type Unrouted = ReturnType<typeof createUnrouted>;

export function createUnrouted(database: Database, now: () => number, defaultRegion: string | null) {
  const storing = { database, now, defaultRegion };

  async function routed(queries: TransactionQueries, rows: readonly sql.UnroutedRow[]): Promise<RoutedMessage[]> {
    const found: RoutedMessage[] = [];
    for (const message of rows.map(toUnrouted)) {
      const route = await findRoute(queries, message.destination, message.text, defaultRegion);
      if (route) found.push({ message, route, accounts: await concernedBy(queries, route, message.text) });
    }
    return found;
  }

  /**
   * Locks all accounts first, by id as a shared STOP does, and only then takes the messages, so
   * that no two transactions wait for each other.
   */
  async function storeAll(queries: TransactionQueries, found: readonly RoutedMessage[]): Promise<Replayed> {
    for (const account of inOrder(found.flatMap(({ accounts }) => accounts))) await lockAccount(queries, account);
    let stored = 0;
    for (const { message, route, accounts } of found) {
      if (!(await queries.first(sql.takeUnrouted, { id: message.id }))) continue; // another process was faster
      await storeFor(storing, queries, route.account, message, route.keyword, accounts);
      stored += 1;
    }
    return { routed: stored, left: await countUnrouted(queries) };
  }

  return {
    /** Lists oldest first. */
    async list(limit: number, after: readonly [at: number, id: bigint] | null): Promise<UnroutedMessage[]> {
      const [afterAt, afterId] = after ?? [FIRST_AT, 0n];
      return (await database.all(sql.unroutedAfter, { afterAt, afterId, limit })).map(toUnrouted);
    },

    async show(id: bigint): Promise<UnroutedMessage> {
      const row = await database.first(sql.unroutedWithId, { id });
      if (!row) throw notFound('unrouted message with this id');
      return toUnrouted(row);
    },

    /** Gives the message to an account. Returns the id that it has there. */
    assign: (id: bigint, username: string): Promise<bigint> =>
      database.transaction(null, async (queries) => {
        const account = await accountId(queries, username);
        await lockAccount(queries, account);
        const row = await queries.first(sql.takeUnrouted, { id });
        if (!row) throw notFound('unrouted message with this id');
        return storeFor(storing, queries, account, toUnrouted(row), null);
      }),

    /** Asks the routes again for one message. */
    replay: (id: bigint): Promise<Replayed> =>
      database.transaction(null, async (queries) => {
        const row = await queries.first(sql.unroutedWithId, { id });
        if (!row) throw notFound('unrouted message with this id');
        return storeAll(queries, await routed(queries, [row]));
      }),

    /** Asks the routes again for all messages, oldest first, until REPLAYED_MAX have found one. */
    replayAll: (): Promise<Replayed> =>
      database.transaction(null, async (queries) => {
        const found: RoutedMessage[] = [];
        let rows: sql.UnroutedRow[] = [];
        do {
          const last = rows.at(-1);
          const cursor = { afterAt: last ? Number(last.received_at) : FIRST_AT, afterId: last?.unrouted_id ?? 0n };
          rows = await queries.all(sql.unroutedAfter, { ...cursor, limit: PAGE });
          found.push(...(await routed(queries, rows)));
        } while (rows.length === PAGE && found.length < REPLAYED_MAX);
        return storeAll(queries, found);
      }),

    async remove(id: bigint): Promise<void> {
      if (!(await database.first(sql.takeUnrouted, { id }))) throw notFound('unrouted message with this id');
    },
  };
}

export const countUnrouted = async (queries: Queries): Promise<number> =>
  Number((await queries.first(sql.countUnrouted, {}))?.total ?? 0n);

const toUnrouted = sql.unroutedColumns.read;

export const countUnroutedBefore = async (queries: Queries, before: number): Promise<number> =>
  Number((await queries.first(sql.countUnroutedBefore, { before }))?.total ?? 0n);
/** Returns how many were deleted. */
export const deleteUnroutedBefore = (queries: Queries, before: number, limit: number): Promise<number> =>
  queries.run(sql.deleteUnroutedBefore, { before, limit });

/** Data of a person that no account has: messages without a route, and parts that wait. */
export interface UnroutedOfPerson {
  readonly unrouted: readonly bigint[];
  readonly held: readonly string[];
  readonly messages: readonly WholeMessage[];
}

/** The most messages of an export, which is built in memory. */
const MESSAGES_MAX = 10_000;

/** These tables have no index by number, so all of their rows are looked at. */
export async function findUnrouted(queries: Queries, { ends, matches }: SameNumber): Promise<UnroutedOfPerson> {
  const isSame = (sender: string): boolean => ends.includes(numberEnd(sender)) && matches(sender);
  const unrouted: bigint[] = [];
  const held: string[] = [];
  const messages: WholeMessage[] = [];
  for (let rows: sql.UnroutedRow[] = [], isFirst = true; isFirst || rows.length === PAGE; isFirst = false) {
    const last = rows.at(-1);
    const cursor = { afterAt: last ? Number(last.received_at) : FIRST_AT, afterId: last?.unrouted_id ?? 0n };
    rows = await queries.all(sql.unroutedAfter, { ...cursor, limit: PAGE });
    for (const row of rows.filter(({ sender }) => isSame(sender))) {
      const { connector, sender, destination, text, received_at } = row;
      unrouted.push(row.unrouted_id);
      messages.push({ connector, sender, destination, text, receivedAt: Number(received_at) });
    }
  }
  for (let rows: sql.HeldIncomingRow[] = [], isFirst = true; isFirst || rows.length === PAGE; isFirst = false) {
    rows = await queries.all(sql.groupsAfter, { after: rows.at(-1)?.group_hash ?? '', limit: PAGE });
    for (const row of rows.filter(({ sender }) => isSame(sender))) {
      held.push(row.group_hash);
      messages.push(joinParts(row));
    }
  }
  return { unrouted, held, messages: messages.slice(0, MESSAGES_MAX) };
}

export async function eraseUnrouted(queries: Queries, { unrouted, held }: UnroutedOfPerson): Promise<void> {
  for (const id of unrouted) await queries.first(sql.takeUnrouted, { id });
  for (const hash of held) await queries.first(sql.takeGroup, { hash });
}
