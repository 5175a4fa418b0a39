import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as purgeSql from '../../src/domain/messages/purge.sql.ts';
import { createPurge } from '../../src/domain/messages/purge.ts';
import * as inboxSql from '../../src/domain/messages/received.sql.ts';
import { createReceived } from '../../src/domain/messages/received.ts';
import * as outboxSql from '../../src/domain/messages/sent.sql.ts';
import { createSent } from '../../src/domain/messages/sent.ts';
import type { Database, TransactionQueries } from '../../src/store/database.ts';
import { readAccount } from '../../src/transfer/account-json.ts';
import { createArchive } from '../../src/transfer/archive.ts';
import type { Engine } from './engines.ts';
import { openStore, sql } from './opened-database.ts';

type Account = { account: bigint };
type Counts = { unread: bigint; read: bigint; unmarked: bigint };

/** Also locks it: nobody empties the inbox before the transaction has ended. */
const generation = sql<Account, { generation: bigint }>(
  'update tally set generation = generation where account_id = :account returning generation',
);
const tally = sql<Account, Counts>('select unread, read, unmarked from tally where account_id = :account');
const current = 'account_id = :account and generation = (select generation from tally where account_id = :account)';
const counted = sql<Account, Counts>(`select
  (select count(*) from unread_message where ${current}) as unread,
  (select count(*) from received where ${current} and message_id not in (select message_id from unread_message where ${current})) as read,
  (select count(*) from sent where account_id = :account and is_marked = 0) as unmarked`);
const ids = sql<{ username: string }, { account_id: bigint }>(
  'select account_id from account where username = :username',
);
export const stored = sql<Account, { total: bigint }>(
  'select count(*) as total from received where account_id = :account',
);

export const ALL = 1_000_000;

/** The domain on a database of its own, or on that one; nothing is purged unless the test does it. */
export async function openDomain(engine: Engine, t: TestContext, setting?: string) {
  const database = await openStore(setting ?? (await engine.fresh('empty')));
  t.after(() => database.close());
  const [inbox, outbox] = [createReceived(database, () => 0, { wake() {} }), createSent(database, () => 0)];
  const archive = createArchive(database, Date.now, null);

  async function add(username: string, messages: readonly object[], sent: readonly object[] = []): Promise<bigint> {
    const demanded = { userID: username, credits: 0, usedCredits: 0, datetimeCreated: '2026-01-01T00:00:00Z' };
    await archive.load(await readAccount({ ...demanded, username, inbox: messages, sent }, 0));
    return (await database.first(ids, { username }))?.account_id as bigint;
  }
  /** What is told, what is kept and what is there are the same. */
  async function check(account: bigint, when: string): Promise<Counts> {
    const told: Counts = {
      unread: await inbox.countUnread(account),
      read: await inbox.countRead(account),
      unmarked: await outbox.countUnmarked(account),
    };
    const there = await database.first(counted, { account });
    assert.deepEqual({ ...(await database.first(tally, { account })) }, { ...there }, when);
    assert.deepEqual(told, { ...there }, when);
    assert.equal(BigInt((await inbox.unread(account, ALL)).length), told.unread, when);
    assert.equal(BigInt((await inbox.newest(account, ALL)).length), told.unread + told.read, when);
    assert.equal(BigInt((await outbox.unmarked(account, ALL)).length), told.unmarked, when);
    return told;
  }
  return { database, inbox, outbox, add, check };
}

export async function purgeAll(database: Database): Promise<void> {
  const failures: unknown[] = [];
  const purge = createPurge(
    database,
    async () => {},
    (thrown) => failures.push(thrown),
  );
  // Others may empty an inbox at the same time, and wake nobody.
  while (failures.length === 0 && (await database.first(purgeSql.next, {}))) {
    purge.wake();
    await nextTurn();
  }
  await purge.stop();
  assert.deepEqual(failures, []);
}

const AT = '2026-05-01T00:00:00Z';
export const received = (id: number, read: boolean) => ({ id, read, message: 'in', timestamp: AT });
export const sent = (id: number, marked: boolean) => ({
  id,
  marked,
  recipient: '+27825550201',
  message: 'out',
  delivery_status: 'DELIVERED',
  timestamp_sent: AT,
  timestamp_updated: AT,
});
export const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

/** As a message arrives: in the generation that the inbox has then. */
export async function arrive(
  queries: TransactionQueries,
  account: bigint,
  numbers: readonly number[],
  isRead: boolean,
): Promise<void> {
  const now = Number((await queries.first(generation, { account }))?.generation);
  const texts = { sender: null, text: 'in', shortCode: null };
  const messages = numbers.map((id) => ({ account, id: BigInt(id), generation: now, receivedAt: 5 }));
  await queries.runAll(
    inboxSql.addReceived,
    messages.map((message) => ({ ...message, ...texts })),
  );
  if (!isRead) await queries.runAll(inboxSql.addUnread, messages);
}
export async function leave(
  queries: TransactionQueries,
  account: bigint,
  numbers: readonly number[],
  isMarked: number,
): Promise<void> {
  const texts = { reference: null, recipient: null, text: 'out', status: 'ENROUTE', sentAt: 5, updatedAt: 5 };
  await queries.runAll(
    outboxSql.addSent,
    numbers.map((id) => ({ account, id: BigInt(id), isMarked, batch: null, ...texts })),
  );
}
