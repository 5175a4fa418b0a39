import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addEntry } from '../../src/domain/contacts/blacklist.ts';
import { decideMany } from '../../src/domain/queue/queue.ts';
import { attemptsOf } from '../../src/domain/sending/attempts.ts';
import { HELD, HELD_WHEN_DUE, HELD_WITH_RECEIPT, sendWhenDue } from '../../src/domain/sending/hold.ts';
import { createMaintenance } from '../../src/domain/sending/maintenance.ts';
import { createReceipts } from '../../src/domain/sending/receipts.ts';
import { reschedule } from '../../src/domain/sending/schedule.ts';
import { adopt } from '../../src/serve/adopt.ts';
import { onOneEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { MINUTE, message, type Sending, START } from '../support/sending.ts';
import { adoptionOf, openOf, play } from './adopted.ts';

/** Messages that are due later than the restore, and may have been brought forward since the backup. */
const DUE = START + 10 * MINUTE;
const HOLDING = { holdScheduled: true };

async function schedule(one: Sending, account: bigint, count = 1, text = 'hello'): Promise<bigint[]> {
  const to = Array.from({ length: count }, (_, index) => `+2782555020${index}`);
  const { accepted } = await one.accept(account, message({ to, text, sendAt: DUE }));
  return accepted.map(({ id }) => id as bigint);
}

const bringForward = ({ database, now }: Sending, account: bigint, id: bigint, at: number) =>
  reschedule(database, account, [id], { at, now: now(), quietHours: null, timeZone: null, tryForMs: MINUTE });

/** In the lost time: the message is submitted before its time. Returns the id of its submission. */
async function sendForward(one: Sending, account: bigint, id: bigint): Promise<string> {
  await bringForward(one, account, id, START + 10_000);
  one.clock.now = START + 10_000;
  const claimed = await one.claim();
  await one.settle(claimed, { kind: 'submitted' });
  return claimed[0]?.parts[0]?.attemptId as string;
}

const delivered = ({ database, now }: Sending, attemptId: string) => {
  const about = { connector: 'smsc', attemptId, gatewayId: null, at: START, detail: null };
  return createReceipts(database, now).receive({ ...about, status: 'DELIVERED' });
};

const maintain = ({ database, now }: Sending) => {
  const incoming = { storeIncomplete: async () => 0, forgetOld: async () => 0 };
  return createMaintenance(database, incoming, { now, receiptWaitMs: 72 * 60 * MINUTE }).run();
};

onOneEngine('messages that are due later than a restore', (engine) => {
  test('a scheduled message is held when it is due, so one that was brought forward and sent after the backup is not sent again', async () => {
    let account = 0n;
    let ids: bigint[] = [];
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        ids = await schedule(one, account, 2);
      },
      async lost(one) {
        await bringForward(one, account, ids[0] as bigint, START + 10_000);
        one.clock.now = START + 10_000;
        const claimed = await one.claim();
        assert.equal(claimed.length, 1);
        await one.settle(claimed, { kind: 'submitted' });
      },
      async after(two) {
        const { held, scheduled } = await adopt(two.database, adoptionOf(two, HOLDING));
        assert.deepEqual({ held, scheduled }, { held: 0, scheduled: 2 });
        assert.equal((await two.scheduled.soonest(account, 10)).length, 2, 'clients see it as scheduled until then');
        assert.deepEqual(await attemptsOf(two.database, account, ids[1] as bigint), [], 'people see no attempt');
        const [row] = await two.database.all(REASONS, {});
        assert.equal(row?.reason, HELD_WHEN_DUE);
        two.clock.now = DUE;
        assert.deepEqual(await two.claim(), []);
        assert.deepEqual(
          await openOf(two),
          ids.map((id) => ({ id, state: 'needs-decision', reason: HELD })),
        );
        two.clock.now += 24 * 60 * MINUTE;
        assert.deepEqual(await two.claim(), []);
        await two.checkLedger('held');
        const settings = { at: two.now(), tryForMs: MINUTE };
        const all = { account: null, isHeld: true, limit: 1 } as const;
        await decideMany(two.database, { ...all, decision: 'submitted' }, settings);
        await decideMany(two.database, { ...all, decision: 'submit-again' }, settings);
        assert.deepEqual(
          (await two.claim()).map(({ id }) => id),
          [ids[1]],
        );
        await two.checkLedger('decided');
      },
    });
  });

  for (const [when, holdScheduled] of [
    ['before the message is due', true],
    ['after the message was held', true],
    ['before the message is due, which is not to be held', false],
    ['after the message was refused once, which was not to be held', false],
  ] as const) {
    test(`a scheduled message that was sent after the backup is settled by its receipt ${when}`, async () => {
      let [account, id, lost] = [0n, 0n, ''];
      await play(engine, {
        async before(one) {
          account = await one.addAccount();
          [id] = (await schedule(one, account)) as [bigint];
        },
        async lost(one) {
          lost = await sendForward(one, account, id);
        },
        async after(two) {
          await adopt(two.database, adoptionOf(two, { holdScheduled }));
          if (when.startsWith('after')) {
            two.clock.now = DUE;
            const claimed = await two.claim();
            assert.equal(claimed.length, holdScheduled ? 0 : 1);
            await two.settle(claimed, { kind: 'waiting', dueAt: DUE + MINUTE, reason: 'busy' }, 'refused');
          }
          await delivered(two, lost);
          assert.equal((await two.sent.show(account, id)).status, 'DELIVERED');
          assert.deepEqual(await two.scheduled.soonest(account, 10), []);
          two.clock.now = DUE + MINUTE;
          assert.deepEqual(await two.claim(), []);
          assert.deepEqual(await openOf(two), []);
          assert.deepEqual(await two.ledger.balances(account), { free: 999n, held: 0n, used: 1n });
          await two.checkLedger('settled');
        },
      });
    });
  }

  test('a scheduled message of several parts is held by a receipt of one, and of another restore too', async () => {
    let [account, id, lost] = [0n, 0n, ''];
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        [id] = (await schedule(one, account, 1, 'x'.repeat(400))) as [bigint];
      },
      async lost(one) {
        lost = await sendForward(one, account, id);
      },
      async after(two) {
        await adopt(two.database, adoptionOf(two));
        two.clock.now += MINUTE;
        await adopt(two.database, adoptionOf(two));
        assert.equal((await two.database.all(ATTEMPTS, {})).length, 1);
        await delivered(two, lost);
        two.clock.now = DUE;
        assert.deepEqual(await two.claim(), []);
        assert.deepEqual(await openOf(two), [{ id, state: 'needs-decision', reason: HELD_WITH_RECEIPT }]);
        const settings = { at: two.now(), tryForMs: MINUTE };
        await decideMany(two.database, { account, isHeld: true, limit: 1, decision: 'submit-again' }, settings);
        assert.equal((await two.claim()).length, 1);
      },
    });
  });

  test('a scheduled message is sent when it is due, after an operator has let those of its account go', async () => {
    let [own, other]: [bigint[], bigint[]] = [[], []];
    let account = 0n;
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        own = await schedule(one, account);
        other = await schedule(one, await one.addAccount());
      },
      async after(two) {
        await adopt(two.database, adoptionOf(two, HOLDING));
        const decided = await sendWhenDue(two.database, { account, limit: 10 });
        assert.deepEqual(decided, { decided: 1, isMoreLeft: false });
        two.clock.now = DUE;
        const claimed = [...(await two.claim()), ...(await two.claim())];
        assert.deepEqual(
          claimed.map(({ id, account: of }) => [of, id]),
          [[account, own[0]]],
        );
        assert.deepEqual(
          (await openOf(two)).map(({ id }) => id),
          other,
        );
      },
    });
    await play(engine, {
      async before(one) {
        await schedule(one, await one.addAccount(), 2);
        await schedule(one, await one.addAccount());
      },
      async after(two) {
        await adopt(two.database, adoptionOf(two, HOLDING));
        const some = { account: null, limit: 2 };
        assert.deepEqual(await sendWhenDue(two.database, some), { decided: 2, isMoreLeft: true });
        assert.deepEqual(await sendWhenDue(two.database, some), { decided: 1, isMoreLeft: false });
        two.clock.now = DUE;
        assert.equal([...(await two.claim()), ...(await two.claim())].length, 3);
      },
    });
  });

  for (const [how, hold] of [
    ['claim', (two: Sending) => two.claim()],
    ['maintenance', maintain],
  ] as const) {
    test(`a scheduled message whose time is over is held by the ${how} all the same, and does not expire`, async () => {
      await play(engine, {
        async before(one) {
          await schedule(one, await one.addAccount());
        },
        async after(two) {
          await adopt(two.database, adoptionOf(two, HOLDING));
          two.clock.now = DUE + 10 * 24 * 60 * MINUTE;
          await hold(two);
          const open = await openOf(two);
          assert.deepEqual(
            open.map(({ state, reason }) => [state, reason]),
            [['needs-decision', HELD]],
          );
          await two.checkLedger();
        },
      });
    });
  }

  test('a scheduled message to a number that has opted out since is held when it is due, too', async () => {
    let account = 0n;
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        await schedule(one, account);
      },
      async after(two) {
        await adopt(two.database, adoptionOf(two, HOLDING));
        const entry = { number: '+27825550200', sample: null, origin: 'user' } as const;
        await two.database.transaction(account, (queries) =>
          addEntry({ queries, account, at: two.now() }, entry, null),
        );
        two.clock.now = DUE;
        assert.deepEqual(await two.claim(), []);
        assert.equal((await openOf(two))[0]?.reason, HELD);
      },
    });
  });

  test('a scheduled message that was accepted after the restore is sent when it is due', async () => {
    let account = 0n;
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
      },
      async after(two) {
        await adopt(two.database, adoptionOf(two, HOLDING));
        await schedule(two, account);
        two.clock.now = DUE;
        assert.equal((await two.claim()).length, 1);
      },
    });
  });

  test('a scheduled message that is brought forward to now leaves five seconds later, when a backup has its new time', async () => {
    await play(engine, {
      async before(one) {
        const account = await one.addAccount();
        const [id] = (await schedule(one, account)) as [bigint];
        await bringForward(one, account, id, START + 1);
        one.clock.now = START + 4_999;
        assert.deepEqual(await one.claim(), []);
      },
      async after(two) {
        assert.equal((await adopt(two.database, adoptionOf(two))).held, 1, 'it may have left since');
      },
    });
  });
});

const ATTEMPTS = sql<object, { attempt: bigint }>('select attempt from attempt');
const REASONS = sql<Record<string, never>, { reason: string | null }>(
  'select reason from dispatch order by message_id',
);
