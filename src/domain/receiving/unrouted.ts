import { notFound } from '../../base/problem.ts';
import { FIRST_AT } from '../../store/cursor.ts';
import type { Database, Writing } from '../../store/database.ts';
import { accountId, lockAccount } from '../accounts/accounts.ts';
import * as sql from './incoming.sql.ts';
import { concernedBy, inOrder, storeFor, type WholeMessage } from './incoming.ts';
import { type FoundRoute, findRoute } from './routes.ts';

/** Messages for which there was no route. They stay until the operator decides. */
export interface UnroutedMessage extends WholeMessage {
  readonly id: bigint;
}

/** With the accounts that it changes. */
interface RoutedMessage {
  readonly message: UnroutedMessage;
  readonly route: FoundRoute;
  readonly accounts: readonly bigint[];
}

/** How many have found their account, and how many have not. */
export interface Replayed {
  readonly routed: number;
  readonly left: number;
}

/** Of one replay, which is one transaction: so many, and the rest of their page. */
const REPLAYED_MAX = 1_000;
const PAGE = 500;

export type Unrouted = ReturnType<typeof createUnrouted>;

export function createUnrouted(database: Database, now: () => number, defaultRegion: string | null) {
  const storing = { database, now, defaultRegion };

  async function routed(queries: Writing, rows: readonly sql.UnroutedRow[]): Promise<RoutedMessage[]> {
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
  async function storeAll(queries: Writing, found: readonly RoutedMessage[]): Promise<Replayed> {
    for (const account of inOrder(found.flatMap(({ accounts }) => accounts))) await lockAccount(queries, account);
    let stored = 0;
    for (const { message, route, accounts } of found) {
      if (!(await queries.first(sql.takeUnrouted, { id: message.id }))) continue; // another process was faster
      await storeFor(storing, queries, route.account, message, route.keyword, accounts);
      stored += 1;
    }
    return { routed: stored, left: await countLeft(queries) };
  }

  return {
    /** Oldest first. */
    async list(limit: number, after: readonly [at: number, id: bigint] | null): Promise<UnroutedMessage[]> {
      const [afterAt, afterId] = after ?? [FIRST_AT, 0n];
      return (await database.all(sql.unroutedAfter, { afterAt, afterId, limit })).map(toUnrouted);
    },

    async show(id: bigint): Promise<UnroutedMessage> {
      const row = await database.first(sql.unroutedWithId, { id });
      if (!row) throw notFound('unrouted message with this id');
      return toUnrouted(row);
    },

    /** Gives it to an account. The id that it has there. */
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

    /** Asks the routes again for all of them, oldest first, until `REPLAYED_MAX` have found one. */
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

const countLeft = async (queries: Writing): Promise<number> =>
  Number((await queries.first(sql.countUnrouted, {}))?.total ?? 0n);

const toUnrouted = (row: sql.UnroutedRow): UnroutedMessage => ({
  id: row.unrouted_id,
  connector: row.connector,
  sender: row.sender,
  destination: row.destination,
  text: row.text,
  receivedAt: Number(row.received_at),
});
