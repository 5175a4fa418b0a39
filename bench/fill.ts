import { hash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { systemClock } from '../src/base/clock.ts';
import { openPostgres } from '../src/store/postgres/database.ts';
import { openSqlite } from '../src/store/sqlite/database.ts';

/**
 * Databases of any size, filled by SQL: a million messages in seconds, where an import takes minutes. The tables are made
 * by Columba itself.
 */
export interface Filling {
  readonly accounts: number;
  /** Account 0 is full, and so is every account at this distance from it. */
  readonly every: number;
  /** In the inbox of a full account. */
  readonly messages: number;
  /** In that of every other. */
  readonly others?: number;
  /** Whether the full ones have sent as many. */
  readonly sent?: boolean;
}

/** A database from the outside. */
export interface Filled {
  /** As a setting of Columba. */
  readonly database: string;
  readonly dialect: Dialect;
  /** 64-bit numbers come as bigint or as text. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Spread, as random ids are: 48,271 generates all numbers below that prime. */
export const ACCOUNT_ID = '(number * 48271) % 2147483647 + 1';
/** The first message came then, and one more every minute. */
export const FIRST_AT = Date.UTC(2026, 0, 1);
export const FIRST_ID = 1_000_000;

export interface Dialect {
  /** Rows with a column `number`, from 0 up. */
  numbers(count: number): string;
  /** Of a number, with leading zeros. */
  padded(number: string, digits: number): string;
  sha256(text: string): string;
}

const sqlite: Dialect = {
  numbers: (count) =>
    `(with recursive numbers(number) as (select 0 union all select number + 1 from numbers where number < ${count - 1})
      select number from numbers)`,
  padded: (number, digits) => `printf('%0${digits}d', ${number})`,
  sha256: (text) => `sha256(${text})`,
};

const postgres: Dialect = {
  numbers: (count) => `(select generate_series::bigint as number from generate_series(0, ${count - 1}))`,
  padded: (number, digits) => `to_char(${number}, 'FM${'0'.repeat(digits)}')`,
  sha256: (text) => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`,
};

/** Accounts and messages as data.ts makes them, and with the same user_ids. */
function statements({ accounts, every, messages, others = 0, sent = false }: Filling, dialect: Dialect): string[] {
  const name = (prefix: string) => `'${prefix}' || ${dialect.padded('number', 6)}`;
  const owned = (which: string, count: number) =>
    `(select ${ACCOUNT_ID} as id, number as account from ${dialect.numbers(accounts)} as numbered where ${which}) as owners
     cross join ${dialect.numbers(count)} as messages order by id, number`;
  const full = owned(`number % ${every} = 0`, messages);
  return [
    `insert into account (account_id, username, contact_name, contact_surname, company, email, tel, mobile, address,
       credits, used_credits, priority, tag, created_at, last_login_at)
     select ${ACCOUNT_ID} as id, ${name('account')}, 'Thandi', 'Nkosi & Söhne', 'Acme "Fresh" Produce', 'thandi@acme.example',
       '+27115550100', '+27825550100', '1 Long Street, Cape Town, 8001', 9007199254740993, 4294967296, 1, 7,
       1551398399123, 1793434500000
     from ${dialect.numbers(accounts)} as accounts order by id`,
    `insert into credential (account_id, user_id_hash, created_at)
     select ${ACCOUNT_ID}, ${dialect.sha256(name('bench-user-'))} as hash, 0
     from ${dialect.numbers(accounts)} as accounts order by hash`,
    ...receivedFrom(full, dialect),
    ...(sent ? [sentFrom(full, dialect)] : []),
    ...(others > 0 ? receivedFrom(owned(`number % ${every} <> 0`, others), dialect) : []),
  ];
}

const TEXT = `'Message ' || number || ' of account ' || account || ': is the market open today & tomorrow? 😀'`;
const AT = `${FIRST_AT} + number * 60000`;
const phone = ({ padded }: Dialect) => `'+2782555' || ${padded('number % 10000', 4)}`;

/** Unread messages. Each row has the id and the number of an account, and the number of a message. `rest` ends both statements. */
export const receivedFrom = (rows: string, dialect: Dialect, rest = ''): string[] => [
  `insert into received (account_id, message_id, sender, text, short_code, received_at)
   select id, ${FIRST_ID} + number, ${phone(dialect)}, ${TEXT}, '31000', ${AT} from ${rows} ${rest}`,
  unreadFrom(rows, rest),
];
export const unreadFrom = (rows: string, rest = ''): string =>
  `insert into unread_message (account_id, generation, received_at, message_id)
   select id, 0, ${AT}, ${FIRST_ID} + number from ${rows} ${rest}`;
const sentFrom = (rows: string, dialect: Dialect): string =>
  `insert into sent (account_id, message_id, recipient, text, status, sent_at, updated_at, is_marked)
   select id, ${FIRST_ID} + number, ${phone(dialect)}, ${TEXT}, 'DELIVERED', ${AT}, ${AT}, 0 from ${rows}`;

export async function fillSqlite(path: string, filling: Filling): Promise<Filled> {
  await (await openSqlite(path, systemClock)).close();
  const database = new DatabaseSync(path, { timeout: 60_000 });
  database.function('sha256', { deterministic: true }, (text) => hash('sha256', String(text)));
  database.exec('pragma synchronous = off; pragma cache_size = -500000; pragma temp_store = memory; begin');
  for (const statement of statements(filling, sqlite)) database.exec(statement);
  database.exec('commit; pragma wal_checkpoint(truncate); pragma cache_size = -2000; pragma synchronous = full');
  return {
    database: `sqlite:${path}`,
    dialect: sqlite,
    query: async (sql) => {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      return statement.all();
    },
    close: async () => database.close(),
  };
}

const COUNT = `
  insert into tally (account_id, unread, unmarked)
  select account_id, coalesce(inbox.total, 0), coalesce(outbox.total, 0) from account
  left join (select account_id, count(*) as total from received group by account_id) as inbox using (account_id)
  left join (select account_id, count(*) as total from sent group by account_id) as outbox using (account_id)`;

/** The database must be there, and empty. */
export async function fillPostgres(url: string, filling: Filling): Promise<Filled> {
  await (await openPostgres({ url, connectionsMax: 1, timeoutMs: 60_000 }, systemClock)).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Without triggers, which also look up the account of every message: then all are counted at once.
  await client.query('set session_replication_role = replica');
  for (const statement of [...statements(filling, postgres), COUNT]) await client.query(statement);
  await client.query('set session_replication_role = origin');
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  return {
    database: url,
    dialect: postgres,
    query: async (sql) => (await client.query(sql)).rows,
    close: () => client.end(),
  };
}
