import { accountId } from '../../domain/accounts/accounts.ts';
import type { RetentionRule } from '../../domain/privacy/extension.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import * as sql from './clients.sql.ts';
import { DAY_MS } from './counts.ts';

/** The programs that call the old server through a proxy: who calls what, and when last. */
export interface ClientCall {
  /** The name of the account in recordings; empty if the call had no user_id. */
  readonly accountName: string;
  readonly userIdHash: string | null;
  readonly agent: string;
  readonly address: string;
  /** The operation with its group, or OTHER_CALL. */
  readonly operation: string;
  readonly protocol: string;
}
export interface CountedCall extends ClientCall {
  readonly total: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Stands for a WSDL, a page, or an operation that neither server has. */
export const OTHER_CALL = 'other';
/** Stands for all clients that get no row of their own. */
export const OTHER_CLIENTS = '(other clients)';

export interface Client {
  readonly accountName: string;
  /** Null if no account has its user_id. */
  readonly username: string | null;
  readonly agent: string;
  readonly address: string;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The calls per day, on the days on which the client was seen. */
  readonly callsPerDay: number;
  readonly calls: readonly {
    readonly operation: string;
    readonly protocol: string;
    readonly callsPerDay: number;
    readonly lastAt: number;
  }[];
}

/**
 * Values that a caller makes up must not fill the database. 50,000 rows take some 15 MB. user_ids
 * that no account has may take 30,000 rows, and one account 300. Calls beyond that are counted
 * without their client.
 */
export const CLIENT_LIMITS = { rows: 50_000, unknownRows: 30_000, rowsOfAccount: 300 } as const;
export type ClientLimits = Readonly<Record<keyof typeof CLIENT_LIMITS, number>>;
/** 32 operations in 4 protocols, and the rest. */
const CALLS_MAX = 200;
export const SILENT_DAYS = 7;

export type ClientFilter = { readonly username?: string | undefined; readonly silentDays?: number | undefined };

export function createMigrationClients(database: Database, now: () => number, limits: ClientLimits = CLIENT_LIMITS) {
  return {
    /** Adds the counts of a proxy since the last time, with three statements for any number. */
    async add(counted: readonly CountedCall[]): Promise<void> {
      if (counted.length === 0) return;
      const rows = folded(counted, await newRows(database, counted, limits));
      await database.run(sql.addClients, { rows: recordsOf(rows.map(recordOf)) });
    },

    async list(after: sql.ClientPosition, limit: number, { username = '', silentDays }: ClientFilter) {
      const before = silentDays === undefined ? Number.MAX_SAFE_INTEGER : now() - silentDays * DAY_MS;
      const rows = await database.all(sql.clientsAfter, { ...after, username, before, limit });
      const clients: Client[] = [];
      for (const row of rows) clients.push(await clientOf(database, row));
      return clients;
    },

    /** Counts clients, clients not seen for `silentDays`, and user_ids without an account. */
    async summary(silentDays = SILENT_DAYS) {
      const silentBefore = now() - silentDays * DAY_MS;
      const row = await database.first(sql.summary, { since: silentBefore, silentBefore });
      const instant = (at: bigint | null | undefined): number | null => (at == null ? null : Number(at));
      return {
        clients: Number(row?.clients ?? 0n),
        silent: Number(row?.silent ?? 0n),
        unknownUserIds: Number(row?.unknown ?? 0n),
        firstAt: instant(row?.first_at),
        lastAt: instant(row?.last_at),
      };
    },

    /** Returns how many rows were deleted. */
    forgetAddress: (address: string): Promise<number> => database.run(sql.deleteClientsAt, { address }),
    forgetUnknown: (): Promise<number> => database.run(sql.deleteUnknownClients, {}),
    forgetAccount: async (username: string): Promise<number> =>
      forgetClientsOf(database, await accountId(database, username)),
  };
}

/** Old clients are deleted, if the operator has set a retention. */
export const clientRetention: RetentionRule = {
  count: async (queries, before) => Number((await queries.first(sql.countClientsBefore, { before }))?.total ?? 0n),
  remove: (database, before, limit) => database.run(sql.deleteClientsBefore, { before, limit }),
};

export const forgetClientsOf = (queries: TransactionQueries | Database, account: bigint): Promise<number> =>
  queries.run(sql.deleteClientsOf, { account });

async function clientOf(queries: Queries, row: sql.ClientRow): Promise<Client> {
  const { account_name: name, agent, address } = row;
  const calls = await queries.all(sql.callsOfClient, { name, agent, address, limit: CALLS_MAX });
  return {
    accountName: name,
    username: row.username,
    agent,
    address,
    firstAt: Number(row.first_at),
    lastAt: Number(row.last_at),
    callsPerDay: perDay(row),
    calls: calls.map((call) => ({
      operation: call.operation,
      protocol: call.protocol,
      callsPerDay: perDay(call),
      lastAt: Number(call.last_at),
    })),
  };
}

const perDay = ({ total, days }: { total: bigint; days: bigint }): number =>
  Math.ceil(Number(total) / Math.max(1, Number(days)));

type Key = Pick<ClientCall, 'accountName' | 'agent' | 'address' | 'operation' | 'protocol'>;

export const clientKey = ({ accountName, agent, address, operation, protocol }: Key): string =>
  [accountName, agent, address, operation, protocol].join('\n');

/** Decides which of the keys without a row may get one. */
async function newRows(database: Database, counted: readonly CountedCall[], limits: ClientLimits) {
  const keys = counted.map((each) => [each.accountName, each.agent, each.address, each.operation, each.protocol]);
  const rows = await database.all(sql.knownClients, { rows: recordsOf(keys) });
  const allowed = new Set(rows.map((row) => clientKey({ ...row, accountName: row.account_name })));
  const fresh = counted.filter((each) => !allowed.has(clientKey(each)));
  if (fresh.length === 0) return allowed;

  const names = [...new Set(fresh.map(({ accountName }) => accountName))];
  const counts = await database.all(sql.countOfAccounts, { rows: recordsOf(names.map((name) => [name])) });
  const ofAccount = new Map(counts.map((row) => [row.account_name, Number(row.total)]));
  const hashes = [...new Set(fresh.flatMap(({ userIdHash }) => userIdHash ?? []))];
  const owned = await database.all(sql.knownUserIds, { rows: recordsOf(hashes.map((hash) => [hash])) });
  const known = new Set(owned.map(({ hash }) => hash));
  let total = Number((await database.first(sql.countClients, {}))?.total ?? 0n);
  for (const each of fresh) {
    const own = ofAccount.get(each.accountName) ?? 0;
    const isKnown = each.userIdHash !== null && known.has(each.userIdHash);
    if (own >= limits.rowsOfAccount || total >= (isKnown ? limits.rows : limits.unknownRows)) continue;
    ofAccount.set(each.accountName, own + 1);
    total += 1;
    allowed.add(clientKey(each));
  }
  return allowed;
}

/** Calls without a row of their own are added up by operation and protocol. */
function folded(counted: readonly CountedCall[], allowed: ReadonlySet<string>): CountedCall[] {
  const rows = new Map<string, CountedCall>();
  for (const each of counted) {
    const shown = allowed.has(clientKey(each)) ? each : withoutClient(each);
    const key = clientKey(shown);
    const found = rows.get(key);
    rows.set(key, found ? merged(found, shown) : shown);
  }
  // Every node uses the same order, so that no two transactions wait for each other.
  return [...rows.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

export const withoutClient = <C extends ClientCall>(call: C): C => ({
  ...call,
  accountName: '',
  userIdHash: null,
  agent: OTHER_CLIENTS,
  address: '',
});

export const merged = (one: CountedCall, other: CountedCall): CountedCall => ({
  ...one,
  total: one.total + other.total,
  firstAt: Math.min(one.firstAt, other.firstAt),
  lastAt: Math.max(one.lastAt, other.lastAt),
});

const recordOf = (row: CountedCall) =>
  [
    row.accountName,
    row.agent,
    row.address,
    row.operation,
    row.protocol,
    row.userIdHash,
    row.firstAt,
    row.lastAt,
    Math.floor(row.lastAt / DAY_MS),
    row.total,
  ] as const;
