import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { deleteSome } from '../../src/domain/messages/purge.sql.ts';
import type { Database } from '../../src/store/database.ts';
import { adopt } from './contract-client.ts';
import type { Engine } from './engines.ts';
import { openOutside } from './other-process.ts';
import { until } from './program.ts';
import { serve } from './serving.ts';

/** More than two batches. */
export const MANY = 450;
export const BATCH = 100;

const messages = (count: number, text = 'old') =>
  Array.from({ length: count }, (_, id) => ({
    id: id + 1,
    message: `${text} ${id}`,
    timestamp: '2026-05-01T00:00:00Z',
    read: id % 2 === 0,
  }));

/** A service whose purge goes on only when the test lets it: how many batches, and what happens before each. */
export async function startPurging(setting: string, t: TestContext) {
  let allowed = 0;
  let waiting: (() => void) | undefined;
  let failure: unknown;
  const mayGo = async () => {
    while (allowed === 0) await new Promise<void>((resolve) => (waiting = resolve));
    waiting = undefined;
    allowed -= 1;
    const thrown = failure;
    failure = undefined;
    if (thrown) throw thrown;
  };
  const around = (opened: Database): Database => ({
    ...opened,
    async run(statement, parameters) {
      if (statement.name === deleteSome.name) await mayGo();
      return opened.run(statement, parameters);
    },
  });
  const serving = await serve(setting, { database: around });
  const allow = (batches: number) => {
    allowed += batches;
    waiting?.();
  };
  const hold = () => {
    allowed = 0;
  };
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= serving.app.stop();
    return stopping;
  };
  t.after(() => {
    allow(Number.POSITIVE_INFINITY);
    return stop();
  });
  return {
    ...serving,
    allow,
    hold,
    stop,
    /** Its next batch is due and waits to be allowed. */
    waits: () => until('the next batch is due', () => waiting !== undefined),
    /** The next batch that is allowed fails. */
    failNext(thrown: unknown) {
      failure = thrown;
    },
    as:
      (user_id: string) =>
      (operation: string, args = {}) =>
        serving.ask('inbox', operation, { user_id, ...args }),
  };
}

/** The database from outside, with accounts of so many messages. */
export async function prepare(engine: Engine, t: TestContext, inboxes: Readonly<Record<string, number>>) {
  const setting = await engine.fresh('empty');
  const { app } = await serve(setting);
  for (const [username, count] of Object.entries(inboxes)) {
    await adopt(app, { username, userID: username, inbox: messages(count) });
  }
  await app.stop();
  const outside = await openOutside(setting);
  t.after(() => outside.close());
  const idOf = (username: string) => `(select account_id from account where username = '${username}')`;
  const rowsOf = async (username: string) =>
    Number(
      (await outside.query(`select count(*) as total from received where account_id = ${idOf(username)}`))[0]?.total,
    );
  return {
    setting,
    outside,
    rowsOf,
    left: (username: string, count: number) =>
      until(`${count} rows of ${username}`, async () => (await rowsOf(username)) === count),
    /** Nothing is left to be purged. */
    purged: () =>
      until('the purge has ended', async () => {
        const rows = await outside.query('select account_id from tally where purged_generation < generation');
        return rows.length === 0;
      }),
    async receive(username: string, id: number) {
      const inbox = `from tally where account_id = ${idOf(username)}`;
      await outside.query(`insert into received (account_id, message_id, text, received_at, generation)
        select account_id, ${id}, 'new ${id}', 1790000000000, generation ${inbox}`);
      await outside.query(`insert into unread_message (account_id, message_id, received_at, generation)
        select account_id, ${id}, 1790000000000, generation ${inbox}`);
    },
  };
}

const RANGE = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', max_count: 10_000 };

type Ask = (operation: string, args?: object) => Promise<string>;

/** In every list, and by every count. */
export async function hasMessages(ask: Ask, ids: readonly number[]): Promise<void> {
  for (const operation of ['Unread', 'Read', 'InboxDS']) {
    const text = await ask(operation, operation === 'Read' ? RANGE : { max_count: 10_000 });
    const found = [...text.matchAll(/<id>(\d+)<\/id>/g)].map(([, id]) => Number(id));
    assert.deepEqual(found.sort(), [...ids], operation);
  }
  assert.match(await ask('CountUnread'), new RegExp(`>${ids.length}<`));
  assert.match(await ask('CountRead'), />0</);
}
