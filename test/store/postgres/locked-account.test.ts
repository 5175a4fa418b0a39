import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { systemClock } from '../../../src/base/clock.ts';
import { createSettler } from '../../../src/carriers/settler.ts';
import { createReceipts } from '../../../src/domain/sending/receipts.ts';
import { createSettling } from '../../../src/domain/sending/settle.ts';
import { openPostgres } from '../../../src/store/postgres/database.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { onPostgres } from '../../support/postgres-engines.ts';
import { message, openSending } from '../../support/sending.ts';

/** On a cluster, the first statements of a connection take longer than on one server. */
const TIMEOUT_MS = process.env.TEST_CITUS ? 2_000 : 200;

/** Two accounts with a due message each. Another program holds the row of the first one. */
async function opened(t: TestContext) {
  const engine = engines.find(({ name }) => name === 'postgres') as Engine;
  const sending = await openSending(engine, t);
  const impatient = await openPostgres({ url: sending.setting, connectionsMax: 5, timeoutMs: TIMEOUT_MS }, systemClock);
  const holder = new pg.Client({ connectionString: sending.setting });
  await holder.connect();
  const release = () => holder.query('rollback');
  t.after(async () => {
    await holder.end();
    await impatient.close();
  });
  const [locked, free] = [await sending.addAccount(), await sending.addAccount()];
  for (const account of [locked, free]) await sending.accept(account);
  const lock = () => holder.query(`begin; select from account where account_id = ${locked} for update`);
  return { ...sending, impatient, locked, free, lock, release };
}

onPostgres('an account that another transaction holds', () => {
  test('a locked account does not keep others from being claimed', async (t) => {
    const { claim, lock, release, locked, free } = await opened(t);
    await lock();
    assert.deepEqual(
      (await claim()).map(({ account }) => account),
      [free],
    );
    await release();
    assert.deepEqual(
      (await claim()).map(({ account }) => account),
      [locked],
    );
  });

  test('an account whose client calls without a pause is still claimed', async (t) => {
    const { claim, accept, locked } = await opened(t);
    await claim();
    const to = Array.from({ length: 200 }, (_, number) => `+2782555${String(number).padStart(4, '0')}`);
    await accept(locked, message({ to }));
    let isOver = false;
    const calling = Array.from({ length: 4 }, async () => {
      while (!isOver) await accept(locked);
    });
    let hits = 0;
    // On a busy machine a claim may wait in vain for the account; without waiting, hardly any finds it.
    for (let tries = 0; tries < 100 && hits < 15; tries++) {
      if ((await claim(5)).length > 0) hits += 1;
    }
    isOver = true;
    await Promise.all(calling);
    assert.equal(hits, 15);
  });

  test('a locked account does not keep the results of others from being settled', async (t) => {
    const { claim, lock, release, impatient, now, ledger, locked, free } = await opened(t);
    const claimed = await claim();
    await lock();
    const settler = createSettler(
      createSettling(impatient, now),
      () => new Promise(setImmediate),
      () => {},
    );
    const added = new Map(
      claimed.map((message) => {
        const parts = [{ part: 1, state: 'accepted' as const, gatewayId: null }];
        return [message.account, settler.add({ message, parts, outcome: { kind: 'submitted' } })];
      }),
    );
    await added.get(free);
    assert.equal((await ledger.balances(free)).used, 1n);
    assert.equal((await ledger.balances(locked)).used, 0n);
    await release();
    await added.get(locked);
    assert.equal((await ledger.balances(locked)).used, 1n);
  });

  test('a locked account does not make the receipts of others fail', async (t) => {
    const { claim, lock, release, impatient, now, sent, locked, free } = await opened(t);
    const claimed = await claim();
    await lock();
    const { receive } = createReceipts(impatient, now);
    const received = await Promise.allSettled(
      claimed.map(({ parts }) =>
        receive({
          connector: 'loopback',
          attemptId: parts[0]?.attemptId ?? null,
          gatewayId: null,
          status: 'DELIVERED',
          at: now(),
          detail: null,
        }),
      ),
    );
    const failed = claimed.filter((_, place) => received[place]?.status === 'rejected');
    assert.deepEqual(
      failed.map(({ account }) => account),
      [locked],
    );
    const id = claimed.find(({ account }) => account === free)?.id as bigint;
    assert.equal((await sent.show(free, id)).status, 'DELIVERED');
    await release();
  });
});
