import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { createMaintenance, MAINTENANCE_EVERY_MS } from '../../../src/domain/sending/maintenance.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { MINUTE, message, openSending, START } from '../../support/sending.ts';

const DAY = 24 * 60 * MINUTE;
const disable = sql<{ account: bigint }>('update account set disabled_at = 1 where account_id = :account');
const quiet = sql<{ account: bigint }>(
  `update account set quiet_hours = '00:00-23:59', time_zone = 'UTC' where account_id = :account`,
);
const waiting = sql<Record<string, never>, { total: bigint }>('select count(*) as total from dispatch');

async function open(engine: Engine, t: TestContext) {
  const sending = await openSending(engine, t);
  const failures: unknown[] = [];
  const { database, now, clock } = sending;
  const maintenance = createMaintenance(database, createIncoming(database, now, null), {
    now,
    receiptWaitMs: 3 * DAY,
    failed: (thrown) => failures.push(thrown),
  });
  /** One run, at this time. */
  const runAt = async (time: number) => {
    clock.now = time;
    return (await maintenance.run())?.expired;
  };
  return { ...sending, runAt, failures };
}

onEveryEngine('messages that expire without a claim', (engine) => {
  const HINDRANCES = {
    'whose connector is paused': async () => {},
    'of a disabled account': (bench: Awaited<ReturnType<typeof open>>, account: bigint) =>
      bench.database.run(disable, { account }),
    'of an account in its quiet hours': (bench: Awaited<ReturnType<typeof open>>, account: bigint) =>
      bench.database.run(quiet, { account }),
  };
  for (const [what, hinder] of Object.entries(HINDRANCES)) {
    test(`a message ${what} expires at its notAfter, and releases its credits`, async (t) => {
      const bench = await open(engine, t);
      const account = await bench.addAccount();
      const notAfter = START + 10 * MINUTE;
      const [one] = (await bench.accept(account, message({ notAfter }))).accepted;
      const [other] = (await bench.accept(account, message({ notAfter: notAfter + DAY }))).accepted;
      await hinder(bench, account);
      assert.equal(await bench.runAt(notAfter - 1), 0);
      assert.equal(await bench.runAt(notAfter + MAINTENANCE_EVERY_MS), 1);
      assert.equal((await bench.sent.show(account, one?.id as bigint)).status, 'EXPIRED');
      assert.deepEqual(await bench.ledger.balances(account), { free: 999n, held: 1n, used: 0n });
      assert.equal(await bench.runAt(notAfter + DAY + MAINTENANCE_EVERY_MS), 1);
      assert.equal((await bench.sent.show(account, other?.id as bigint)).status, 'EXPIRED');
      assert.deepEqual(await bench.ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
      assert.deepEqual([await bench.claim(), bench.failures], [[], []]);
      await bench.checkLedger();
    });
  }

  test('an expired message names the reason of its last refusal', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    const notAfter = START + 10 * MINUTE;
    const id = (await bench.accept(account, message({ notAfter }))).accepted[0]?.id as bigint;
    const retry = { kind: 'waiting', dueAt: START + DAY, reason: 'throttled' } as const;
    await bench.settle(await bench.claim(), retry, 'refused');
    assert.equal(await bench.runAt(notAfter), 1);
    const { status, history } = await bench.sent.show(account, id);
    assert.deepEqual([status, history.at(-1)?.detail], ['EXPIRED', 'throttled']);
    await bench.checkLedger();
  });

  test('a message that is being submitted, or whose answer was lost, does not expire', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    const notAfter = START + 10 * MINUTE;
    await bench.accept(account, message({ to: ['+27825550201', '+27825550202'], notAfter }));
    const [first] = await bench.claim();
    await bench.settle(
      [first as never],
      { kind: 'unknown-outcome', dueAt: START + DAY, reason: 'no answer' },
      'unknown-outcome',
    );
    assert.equal(await bench.runAt(notAfter + MINUTE), 0);
    assert.deepEqual(await bench.ledger.balances(account), { free: 998n, held: 2n, used: 0n });
  });

  test('a deleted message does not become EXPIRED', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    const notAfter = START + DAY;
    const sendAt = START + 60 * MINUTE;
    const ids = (await bench.accept(account, message({ to: ['+27825550201', '+27825550202'], sendAt, notAfter })))
      .accepted;
    await bench.scheduled.delete(account, ids[0]?.id as bigint);
    await bench.runAt(notAfter);
    await assert.rejects(bench.sent.show(account, ids[0]?.id as bigint), { kind: 'not-found' });
    assert.equal((await bench.sent.show(account, ids[1]?.id as bigint)).status, 'EXPIRED');
    assert.deepEqual(await bench.ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
    await bench.checkLedger();
  });

  test('a run checks 5,000 messages, and the next runs check the others', async (t) => {
    const bench = await open(engine, t);
    const notAfter = START + 10 * MINUTE;
    for (let count = 0; count < 6; count++) {
      const account = await bench.addAccount();
      const to = Array.from({ length: 900 }, (_, index) => `+2782${5_000_000 + index}`);
      await bench.accept(account, message({ to, notAfter }));
    }
    let ended = 0;
    for (let run = 1; run <= 3; run++) ended += (await bench.runAt(notAfter + run * MAINTENANCE_EVERY_MS)) ?? 0;
    assert.deepEqual([ended, bench.failures], [5_400, []]);
    assert.equal((await bench.database.first(waiting, {}))?.total, 0n);
    await bench.checkLedger();
  });
});
