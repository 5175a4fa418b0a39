import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/config/settings.ts';
import { createLedger } from '../../../src/domain/accounts/ledger.ts';
import { deleteSent } from '../../../src/domain/privacy/retention.sql.ts';
import { APPLY_EVERY_MS, createRetention, LOOK_EVERY_MS } from '../../../src/domain/privacy/retention.ts';
import { createApp } from '../../../src/serve/compose/contract.ts';
import type { Database } from '../../../src/store/database.ts';
import { openActions } from '../../support/actions.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { message, openSending } from '../../support/sending.ts';

const DAY_MS = 86_400_000;
const count = async (database: Database, table: string): Promise<number> =>
  Number(
    (await database.first(sql<Record<string, never>, { total: bigint }>(`select count(*) as total from ${table}`), {}))
      ?.total,
  );
const setRetention = sql("insert into retention (kind, days) values ('sent', 1)");
const noPause = async () => {};
const never = () => false;
const TEN_DAYS = { inbox: 10, sent: 10, unrouted: 10, audit: 10, ledger: 10 };

onEveryEngine('retention', (engine) => {
  test('messages older than the setting are deleted, younger ones stay, and the preview counts the same', async (t) => {
    const { database, clock, of, run, account } = await openActions(engine, t);
    await account('acme', { credits: '100' });
    const add = async (name: string) => {
      await of('acme', 'inbox receive', { body: { gatewayId: name, sender: '0825550201', text: name } });
      await of('acme', 'message record', { body: { recipient: '0825550201', text: name } });
      await of('acme', 'credits add', { body: { amount: '5', reason: name } });
    };
    await add('old 1');
    await add('old 2');
    clock.now += 11 * DAY_MS;
    await add('young');
    const dry = await run('retention set', { query: { dry_run: 'true' }, body: TEN_DAYS });
    assert.deepEqual(dry.older, { inbox: 2, sent: 2, unrouted: 0, audit: 7, ledger: 2, clients: 0 });
    const retention = createRetention(database, () => clock.now);
    assert.equal(await retention.applyDue(noPause, never), 0, 'a dry run sets nothing');
    const { older } = await run('retention set', { body: TEN_DAYS });
    assert.deepEqual(older, dry.older);
    const auditBefore = await count(database, 'audit');
    await retention.applyDue(noPause, never);
    const texts = async (list: string) => (await of('acme', list)).items.map(({ text }: { text: string }) => text);
    assert.deepEqual(await texts('inbox list'), ['young']);
    assert.deepEqual(await texts('message list'), ['young']);
    assert.equal(await count(database, 'history'), 1);
    assert.equal(await count(database, 'gateway_message'), 1);
    assert.equal(auditBefore - (await count(database, 'audit')), older.audit);
    const movements = (await of('acme', 'credits movements')).items;
    assert.deepEqual(
      movements.map(({ amount, reason }: { amount: string; reason: string }) => `${amount} ${reason}`),
      ['5 young', '110 carried forward'],
    );
    assert.deepEqual((await createLedger(database, () => clock.now).check()).discrepancies, []);
    assert.deepEqual((await run('retention show')).older, {
      inbox: 0,
      sent: 0,
      unrouted: 0,
      audit: 0,
      ledger: 0,
      clients: 0,
    });
  });

  test('retention keeps a message that is still tried again', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    for (const outcome of ['sent', 'tried again']) {
      await sending.accept(account, message({ text: outcome, notAfter: sending.now() + 5 * DAY_MS }));
      const later = { kind: 'waiting', dueAt: sending.now() + 2 * DAY_MS, reason: 'throttled' } as const;
      const isSent = outcome === 'sent';
      await sending.settle(
        await sending.claim(),
        isSent ? { kind: 'submitted' } : later,
        isSent ? 'accepted' : 'refused',
      );
    }
    await sending.database.run(setRetention, {});
    sending.clock.now += 1.5 * DAY_MS;
    const retention = createRetention(sending.database, sending.now);
    await retention.applyDue(noPause, never);
    const left = await sending.sent.newest(account, 10);
    assert.deepEqual(
      left.map(({ text }) => text),
      ['tried again'],
    );
    sending.clock.now += DAY_MS;
    assert.equal((await sending.claim()).length, 1, 'it is submitted at its time');
  });

  test('one process applies retention in an hour, in batches of 100, and stops after a batch', async (t) => {
    const { database, clock, account } = await openActions(engine, t);
    const id = await account('acme');
    const addSent = sql<{ account: bigint; id: bigint }>(
      `insert into sent (account_id, message_id, status, sent_at, updated_at, is_marked)
       values (:account, :id, 'SUBMITTED', 0, 0, 0)`,
    );
    const rows = Array.from({ length: 250 }, (_, index) => ({ account: id, id: BigInt(index + 1) }));
    await database.transaction(id, (queries) => queries.runAll(addSent, rows));
    const sizes: number[] = [];
    const watched: Database = {
      ...database,
      async run(statement, parameters) {
        const gone = await database.run(statement, parameters);
        if (statement.name === deleteSent.name) sizes.push(gone);
        return gone;
      },
    };
    const retention = createRetention(watched, () => clock.now);
    await retention.set({ sent: 1 });
    assert.equal(await retention.applyDue(noPause, () => sizes.length > 0), 100, 'stopped after a batch');
    const both = [retention, createRetention(watched, () => clock.now)];
    const removed = await Promise.all(both.map((each) => each.applyDue(noPause, never)));
    assert.deepEqual(removed.sort(), [0, 150]);
    assert.deepEqual(sizes, [100, 100, 50, 0]);
    assert.equal(await count(database, 'sent'), 0);
    await database.transaction(id, (queries) => queries.runAll(addSent, rows));
    assert.equal(await retention.applyDue(noPause, never), 0, 'done this hour');
    clock.now += APPLY_EVERY_MS;
    assert.equal(await retention.applyDue(noPause, never), 250);
  });

  test('a run that is cut off goes on after five minutes, not after an hour', async (t) => {
    const { database, clock, account, of } = await openActions(engine, t);
    await account('acme');
    await of('acme', 'message record', { body: { recipient: '0825550201', text: 'old' } });
    clock.now += 2 * DAY_MS;
    const retention = createRetention(database, () => clock.now);
    await retention.set({ sent: 1 });
    const dead: Database = {
      ...database,
      run: async (statement, parameters) => {
        if (statement.name === deleteSent.name) throw new Error('the process died');
        return database.run(statement, parameters);
      },
    };
    await assert.rejects(createRetention(dead, () => clock.now).applyDue(noPause, never), /died/);
    clock.now += LOOK_EVERY_MS - 1;
    assert.equal(await retention.applyDue(noPause, never), 0, 'another one may still work at it');
    clock.now += 1;
    assert.equal(await retention.applyDue(noPause, never), 1);
  });
});

onEveryEngine('a server that starts', (engine) => {
  test('the retention run of a server deletes rows that are too old', async (t) => {
    const setting = await engine.fresh('empty');
    const config = readConfig({ COLUMBA_DATABASE: setting, COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' });
    const around = {
      clock: { ...systemClock, now: () => 11 * DAY_MS, sleep: noPause },
      log: pino({ level: 'silent' }),
    };
    const app = await createApp(config, around);
    await app.database.run(sql("insert into retention (kind, days) values ('audit', 10)"), {});
    const entry = sql<{ id: bigint; at: number }>(
      `insert into audit (audit_id, at, actor_kind, actor_name, action, target, fields)
       values (:id, :at, 'command', 'tester', 'test', 'test', '')`,
    );
    await app.database.run(entry, { id: 1n, at: 0 });
    await app.database.run(entry, { id: 2n, at: 10 * DAY_MS });
    await app.start();
    t.after(() => app.stop());
    while ((await count(app.database, 'audit')) > 1) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await count(app.database, 'audit where audit_id = 2'), 1);
  });
});
