import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { accountId, createAccount } from '../src/domain/accounts/accounts.ts';
import { createAccepting } from '../src/domain/sending/accept.ts';
import type { Database } from '../src/store/database.ts';
import { openPostgres } from '../src/store/postgres/database.ts';
import { openSqlite } from '../src/store/sqlite/database.ts';
import { statement } from '../src/store/statement.ts';
import { type DatabaseServer, startDatabaseServer, startDebianServer } from './database-server.ts';
import { temporaryFolder } from './processes.ts';
import { say, whole } from './report.ts';
import { numberFrom } from './settings.ts';

/** Databases with accounts that send, for what measures sending. */
export interface Store {
  readonly name: string;
  create(): Promise<string>;
  open(setting: string): Promise<Database>;
  pids(): number[];
  /** Of its own processes, which SQLite has none of. */
  cpuUs(): number;
}

const ACCOUNTS = numberFrom('ACCOUNTS', 10);
const BATCH = 1_000;
const DAY_MS = 86_400_000;

const delivered = statement<Record<string, never>, { total: bigint }>(
  'bench.delivered',
  "select count(*) as total from sent where status = 'DELIVERED'",
);

/** Each call reads all messages. */
export const deliveredIn = async (database: Database): Promise<number> =>
  Number((await database.first(delivered, {}))?.total ?? 0n);

/** ENGINE=sqlite leaves PostgreSQL out, and ENGINE=postgres SQLite. */
export async function startStores(): Promise<{ stores: Store[]; stop(): Promise<void> }> {
  const folder = temporaryFolder();
  let files = 0;
  const sqlite: Store = {
    name: 'SQLite',
    create: async () => `sqlite:${join(folder, `${++files}.db`)}`,
    open: (setting) => openSqlite(setting.slice('sqlite:'.length), systemClock),
    pids: () => [],
    cpuUs: () => 0,
  };
  const started = process.env.ENGINE === 'sqlite' ? [] : [await startDatabaseServer(), await startDebianServer()];
  const servers = started.filter((each) => each !== undefined);
  const onServer = (server: DatabaseServer): Store => ({
    name: server.name,
    create: server.create,
    open: (url) => openPostgres({ url, connectionsMax: 10, timeoutMs: 30_000 }, systemClock),
    pids: server.pids,
    cpuUs: server.cpuUs,
  });
  const stores = [...(process.env.ENGINE === 'postgres' ? [] : [sqlite]), ...servers.map(onServer)];
  const stop = async () => {
    for (const server of servers) await server.stop();
  };
  return { stores, stop };
}

/** The loopback delivers these: it treats numbers that end in 9001 to 9014 in other ways. */
const numberOf = (index: number): string =>
  `+2782${1_000_000 + (Math.floor(index / 9_000) % 800) * 10_000 + (index % 9_000)}`;

/** Messages of all accounts that are due at once. */
export async function acceptAll(database: Database, accounts: readonly bigint[], count: number): Promise<void> {
  const accepting = createAccepting(database, Date.now);
  const settings = { region: 'ZA', timeZone: null, quietHours: null };
  const others = { sender: null, reference: null, sendAt: null, notAfter: null };
  for (let done = 0; done < count; done += BATCH) {
    const recipients = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) => ({
      number: numberOf(done + index),
      text: 'Your parcel has arrived.',
    }));
    const account = accounts[(done / BATCH) % accounts.length] as bigint;
    await accepting.accept(account, settings, { recipients, ...others });
  }
}

// As accepting writes them, without the ledger: a million in seconds.
const ROWS = 100_000;
const numbers = `with recursive numbers(number) as (select cast(0 as bigint) union all select number + 1 from numbers where number < ${ROWS - 1})`;
type Scheduling = { account: bigint; first: bigint; at: number };
const addScheduled = statement<Scheduling>(
  'bench.addScheduled',
  `insert into scheduled (account_id, message_id, recipient, text, number_key, held_parts, scheduled_at, created_at)
   ${numbers} select :account, :first + number, '+27825550201', 'Your parcel has arrived.', '27825550201', 1, :at + number, 0 from numbers`,
);
const addDispatch = statement<Scheduling>(
  'bench.addDispatch',
  `insert into dispatch (account_id, message_id, state, due_at, is_scheduled, held, parts, expires_at)
   ${numbers} select :account, :first + number, 'waiting', :at + number, 1, 1, 1, :at + number + ${DAY_MS} from numbers`,
);
const FIRST_SCHEDULED = 10n ** 12n;

/** Messages of all accounts for tomorrow. */
export async function scheduleAll(database: Database, accounts: readonly bigint[], count: number): Promise<void> {
  if (count % ROWS !== 0) throw new Error(`SCHEDULED: expected a multiple of ${whole(ROWS)}`);
  for (let done = 0; done < count; done += ROWS) {
    const account = accounts[(done / ROWS) % accounts.length] as bigint;
    const row = { account, first: FIRST_SCHEDULED + BigInt(done), at: Date.now() + DAY_MS };
    await database.run(addScheduled, row);
    await database.run(addDispatch, row);
    if ((done / ROWS) % 10 === 9) say(`${whole(done + ROWS)} are scheduled`);
  }
}

export interface SendingAccounts {
  readonly accounts: readonly bigint[];
  readonly userIds: readonly string[];
  /** Of an account that sends nothing. */
  readonly caller: string;
}

export async function addAccounts(database: Database): Promise<SendingAccounts> {
  const add = (username: string, credits: bigint) =>
    createAccount(database, { username, passwordHash: null, credits }, Date.now());
  const { userId: caller } = await add('caller', 0n);
  const accounts: bigint[] = [];
  const userIds: string[] = [];
  for (let index = 0; index < ACCOUNTS; index++) {
    const username = `bench-user-${index}`;
    userIds.push((await add(username, 2n ** 40n)).userId);
    accounts.push(await accountId(database, username));
  }
  return { accounts, userIds, caller };
}

export const ACCOUNTS_TEXT = `${ACCOUNTS} accounts`;
