import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { decide } from '../../../src/domain/sending/decide.ts';
import { createMaintenance, MAINTENANCE_EVERY_MS } from '../../../src/domain/sending/maintenance.ts';
import type { Database } from '../../../src/store/database.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';
import { openSending, START, UNKNOWN_OUTCOME } from '../../support/sending.ts';

/** The watch over submissions without a receipt: none of them is passed by. */
const DAY = 86_400_000;

async function opened(engine: Engine, t: TestContext) {
  const sending = await openSending(engine, t);
  const { database, now } = sending;
  const account = await sending.addAccount();
  const send = async (): Promise<bigint> => (await sending.accept(account)).accepted[0]?.id as bigint;
  return {
    ...sending,
    upkeepOn: (each: Database = database, receiptWaitMs = 3 * DAY) =>
      createMaintenance(each, createIncoming(each, now, null), { now, receiptWaitMs }),
    async submit(): Promise<bigint> {
      const id = await send();
      await sending.settle(await sending.claim(), { kind: 'submitted' });
      return id;
    },
    /** A message that an operator has to decide, four days after its only submission. */
    async unanswered(): Promise<bigint> {
      const id = await send();
      await sending.settle(
        await sending.claim(),
        { kind: 'unknown-outcome', dueAt: now() + UNKNOWN_OUTCOME, reason: 'lost' },
        'unknown-outcome',
      );
      sending.clock.now += UNKNOWN_OUTCOME;
      await sending.claim();
      sending.clock.now += 4 * DAY;
      return id;
    },
    decideOn: (each: Database, id: bigint) => decide(each, account, id, 'submitted', { at: now(), tryForMs: 2 * DAY }),
    statusOf: async (id: bigint) => (await sending.sent.show(account, id)).status,
  };
}

onEveryEngine('the watch over submissions without a receipt', (engine) => {
  test('a message without a receipt becomes UNKNOWN even after the clock has jumped ahead and back', async (t) => {
    for (const jump of [10 * DAY, DAY]) {
      const sent = await opened(engine, t);
      sent.clock.now += jump;
      const ahead = await sent.submit();
      sent.clock.now += 4 * DAY;
      await sent.upkeepOn().run();
      assert.equal(await sent.statusOf(ahead), 'UNKNOWN');
      sent.clock.now = START;
      const id = await sent.submit();
      sent.clock.now += 3 * DAY + 1;
      await sent.upkeepOn().run();
      assert.equal(await sent.statusOf(id), 'UNKNOWN', `${jump / DAY} days`);
    }
  });

  test('hosts with different waits take turns, and none reads attempts again that both have checked', async (t) => {
    const sent = await opened(engine, t);
    await sent.submit(); // both have passed it
    sent.clock.now += 3 * DAY;
    await sent.submit(); // only the shorter wait is over
    sent.clock.now += 2 * DAY;
    let read = 0;
    const counting: Database = {
      ...sent.database,
      all: async (statement, parameters) => {
        const rows = await sent.database.all(statement, parameters);
        if (statement.name === 'receipts.attemptsAfter') read += rows.length;
        return rows;
      },
    };
    const turn = async (wait: number): Promise<number> => {
      sent.clock.now += MAINTENANCE_EVERY_MS;
      read = 0;
      assert.ok(await sent.upkeepOn(counting, wait).run());
      return read;
    };
    const turns: number[] = [];
    for (const wait of [DAY, 3 * DAY, DAY, 3 * DAY]) turns.push(await turn(wait));
    assert.deepEqual(turns, [2, 0, 1, 0]);
  });

  test('a message that is decided while the maintenance checks for receipts still becomes UNKNOWN without a receipt', async (t) => {
    const sent = await opened(engine, t);
    const id = await sent.unanswered();
    const maintenance = sent.upkeepOn({
      ...sent.database,
      run: async (statement, parameters) => {
        if (statement.name === 'receipts.moveWatch') await sent.decideOn(sent.database, id);
        return sent.database.run(statement, parameters);
      },
    });
    await maintenance.run();
    assert.equal(await sent.statusOf(id), 'UNKNOWN');
  });

  test('a message whose decision is committed after the maintenance has checked it still becomes UNKNOWN without a receipt', async (t) => {
    const sent = await opened(engine, t);
    const id = await sent.unanswered();
    const other = await openStore(sent.setting);
    t.after(() => other.close());
    let running: Promise<unknown> | undefined;
    const deciding: Database = {
      ...sent.database,
      transaction: (account, work) =>
        sent.database.transaction(account, async (queries) => {
          const result = await work(queries);
          running = sent.upkeepOn(other).run();
          await Promise.race([running, sleep(200)]); // what waits for this transaction waits
          return result;
        }),
    };
    await sent.decideOn(deciding, id);
    await running;
    assert.equal(await sent.statusOf(id), 'UNKNOWN');
  });
});
