import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { queuedMessages } from '../../../src/domain/queue/queue.ts';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import type { ClaimedMessage } from '../../../src/domain/sending/claim.ts';
import { decide } from '../../../src/domain/sending/decide.ts';
import { createMaintenance } from '../../../src/domain/sending/maintenance.ts';
import { createReceipts } from '../../../src/domain/sending/receipts.ts';
import type { Outcome, PartResult } from '../../../src/domain/sending/settle.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { LEASE, message, openSending, START, UNKNOWN_OUTCOME } from '../../support/sending.ts';

/** Parts of one message with different outcomes, in several attempts. */
const TWO_PARTS = 'x'.repeat(300);
const DAY = 86_400_000;
const attemptIdOf = sql<{ account: bigint; id: bigint; attempt: number; part: number }, { attempt_id: string }>(
  `select attempt_id from attempt
   where account_id = :account and message_id = :id and attempt = :attempt and part = :part`,
);
const disable = sql<{ account: bigint }>('update account set disabled_at = 1 where account_id = :account');

async function opened(engine: Engine, t: TestContext, given: { policy?: 'submit-again'; notAfter?: number } = {}) {
  const sending = await openSending(engine, t);
  const { database, now } = sending;
  const account = await sending.addAccount(given.policy ? { unknownOutcomePolicy: given.policy } : {});
  const receipts = createReceipts(database, now);
  const maintenance = createMaintenance(database, createIncoming(database, now, null), { now, receiptWaitMs: 3 * DAY });
  let id = 0n;
  return {
    ...sending,
    account,
    maintenance,
    async send(text = 'hello'): Promise<ClaimedMessage> {
      const { accepted } = await sending.accept(account, message({ text, notAfter: given.notAfter ?? null }));
      id = accepted[0]?.id as bigint;
      return (await sending.claim())[0] as ClaimedMessage;
    },
    /** The answer to the first attempt is lost, and the policy submits again. */
    async claimAgain(): Promise<ClaimedMessage> {
      sending.clock.now += LEASE;
      await sending.claim();
      sending.clock.now += UNKNOWN_OUTCOME;
      return (await sending.claim())[0] as ClaimedMessage;
    },
    answer: (claimed: ClaimedMessage, outcome: Outcome, ...states: readonly PartResult['state'][]) =>
      sending.settling.settle([
        {
          message: claimed,
          outcome,
          parts: claimed.parts.map(({ number: part }, index) => ({
            part,
            state: states[index] ?? 'unknown-outcome',
            gatewayId: null,
          })),
        },
      ]),
    async receipt(attempt: number, part: number, status: string): Promise<void> {
      const row = await database.first(attemptIdOf, { account, id, attempt, part });
      const attemptId = row?.attempt_id as string;
      await receipts.receive({ connector: 'loopback', attemptId, gatewayId: null, status, at: now(), detail: null });
    },
    decide: (decision: Parameters<typeof decide>[3]) =>
      decide(database, account, id, decision, { at: now(), tryForMs: 2 * DAY }),
    remove: () => sending.sent.delete(account, id),
    history: async () => (await sending.sent.show(account, id)).history.map(({ status }) => status),
    /** Status, state in the queue, and credits that are held and used. */
    async seen() {
      await sending.checkLedger();
      const { held, used } = await sending.ledger.balances(account);
      const [queued] = await queuedMessages(database, { kind: null, after: null, limit: 10 });
      const status = await sending.sent.show(account, id).then(
        (sent) => sent.status,
        () => null,
      );
      return [status, queued?.state ?? null, held, used];
    },
  };
}

const unknownOutcomeFor = (now: number): Outcome => ({
  kind: 'unknown-outcome',
  dueAt: now + UNKNOWN_OUTCOME,
  reason: 'no answer',
});
const throttledFor = (now: number): Outcome => ({ kind: 'waiting', dueAt: now + 1_000, reason: 'throttled' });
const REFUSED: Outcome = { kind: 'rejected', reason: 'a duplicate' };

onEveryEngine('outcomes of single parts', (engine) => {
  test('a refused second attempt does not make a message REJECTED whose first attempt was never answered', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again' });
    await sent.send();
    await sent.answer(await sent.claimAgain(), REFUSED, 'refused');
    assert.deepEqual(await sent.seen(), ['UNKNOWN', 'needs-decision', 1n, 0n]);
    await sent.receipt(1, 1, 'DELIVERED');
    assert.deepEqual(await sent.seen(), ['DELIVERED', null, 0n, 1n]);
  });

  test('a message with an unanswered attempt needs a decision at its notAfter, and does not expire free of charge', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again', notAfter: START + LEASE + UNKNOWN_OUTCOME + 500 });
    await sent.send();
    await sent.answer(await sent.claimAgain(), throttledFor(sent.now()), 'refused');
    sent.clock.now += 1_000;
    assert.deepEqual(await sent.claim(), []);
    assert.deepEqual(await sent.seen(), ['UNKNOWN', 'needs-decision', 1n, 0n]);
    await sent.decide('not-submitted');
    assert.deepEqual(await sent.seen(), ['REJECTED', null, 0n, 0n]);
  });

  test('the decision not-submitted releases no credit of a part that the carrier has taken', async (t) => {
    const sent = await opened(engine, t);
    await sent.answer(await sent.send(TWO_PARTS), unknownOutcomeFor(sent.now()), 'accepted', 'unknown-outcome');
    await sent.decide('not-submitted');
    assert.deepEqual(await sent.seen(), ['REJECTED', null, 0n, 1n]);
  });

  test('a message that a receipt has proved needs no decision after an unknown outcome', async (t) => {
    const sent = await opened(engine, t);
    const claimed = await sent.send();
    await sent.receipt(1, 1, 'DELIVERED');
    await sent.answer(claimed, unknownOutcomeFor(sent.now()), 'unknown-outcome');
    assert.deepEqual(await sent.seen(), ['DELIVERED', null, 0n, 1n]);
  });

  test('a message that a receipt has proved has no unknown outcome when the lease of its dead process runs out', async (t) => {
    const sent = await opened(engine, t);
    await sent.send();
    await sent.receipt(1, 1, 'DELIVERED');
    sent.clock.now += LEASE;
    await sent.claim();
    assert.deepEqual(await sent.seen(), ['DELIVERED', null, 0n, 1n]);
  });

  test('the decision submitted captures no credits for a part that the carrier has refused', async (t) => {
    const sent = await opened(engine, t);
    await sent.answer(await sent.send(TWO_PARTS), unknownOutcomeFor(sent.now()), 'unknown-outcome', 'refused');
    await sent.decide('submitted');
    assert.deepEqual(await sent.seen(), ['QUEUED', 'waiting', 2n, 0n]);
    const [again] = await sent.claim();
    assert.deepEqual(
      again?.parts.map(({ number }) => number),
      [2],
      'the part that it lacks goes out',
    );
    await sent.answer(again as ClaimedMessage, { kind: 'submitted' }, 'accepted');
    assert.deepEqual(await sent.seen(), ['SUBMITTED', null, 0n, 2n]);
  });

  test('a message that an operator called submitted becomes UNKNOWN where no receipt comes', async (t) => {
    for (const decidedAfter of [UNKNOWN_OUTCOME, 4 * DAY]) {
      const sent = await opened(engine, t);
      await sent.answer(await sent.send(), unknownOutcomeFor(sent.now()), 'unknown-outcome');
      sent.clock.now += decidedAfter;
      await sent.claim();
      await sent.maintenance.run();
      await sent.decide('submitted');
      sent.clock.now += 4 * DAY;
      await sent.maintenance.run();
      assert.deepEqual(await sent.seen(), ['UNKNOWN', null, 0n, 1n], `decided after ${decidedAfter} ms`);
      await sent.receipt(1, 1, 'DELIVERED');
      assert.deepEqual((await sent.seen())[0], 'DELIVERED');
    }
  });

  test('attempts of messages that are deleted after 72 hours are deleted too', async (t) => {
    const sent = await opened(engine, t);
    const attempts = sql<Record<string, never>, { attempt: bigint }>('select attempt from attempt');
    await sent.answer(await sent.send(), { kind: 'submitted' }, 'accepted');
    for (const left of [1, 0, 0]) {
      sent.clock.now += 4 * DAY;
      await sent.maintenance.run();
      assert.equal((await sent.database.all(attempts, {})).length, left);
      if (left === 1) await sent.remove();
    }
  });

  test('a client that deletes a message while it is tried again pays for the parts that the carrier has taken', async (t) => {
    const sent = await opened(engine, t);
    await sent.answer(await sent.send(TWO_PARTS), throttledFor(sent.now()), 'accepted', 'refused');
    await sent.remove();
    sent.clock.now += 1_000;
    assert.deepEqual(await sent.claim(), []);
    assert.deepEqual(await sent.seen(), [null, null, 0n, 1n]);
  });

  test('a message needs no decision after a receipt has proved its only part with an unknown outcome', async (t) => {
    for (const isLate of [false, true]) {
      const sent = await opened(engine, t);
      await sent.answer(await sent.send(TWO_PARTS), unknownOutcomeFor(sent.now()), 'unknown-outcome', 'refused');
      if (isLate) {
        sent.clock.now += UNKNOWN_OUTCOME;
        await sent.claim();
        assert.equal((await sent.seen())[1], 'needs-decision');
      }
      await sent.receipt(1, 1, 'DELIVERED');
      const [again] = await sent.claim();
      assert.deepEqual(
        again?.parts.map(({ number }) => number),
        [2],
      );
      await sent.answer(again as ClaimedMessage, { kind: 'submitted' }, 'accepted');
      await sent.receipt(2, 2, 'DELIVERED');
      assert.deepEqual(await sent.seen(), ['DELIVERED', null, 0n, 2n]);
    }
  });

  test('a late answer to an older claim ends the wait for a decision', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again', notAfter: START + LEASE + UNKNOWN_OUTCOME + 500 });
    const first = await sent.send();
    await sent.answer(await sent.claimAgain(), unknownOutcomeFor(sent.now()), 'unknown-outcome');
    sent.clock.now += UNKNOWN_OUTCOME;
    await sent.claim();
    assert.equal((await sent.seen())[1], 'needs-decision');
    await sent.answer(first, { kind: 'submitted' }, 'accepted');
    assert.deepEqual(await sent.seen(), ['SUBMITTED', null, 0n, 1n]);
    await sent.receipt(1, 1, 'DELIVERED');
    assert.deepEqual(await sent.seen(), ['DELIVERED', null, 0n, 1n]);
  });

  test('a late refusal of an older claim changes nothing while a newer claim submits the message', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again' });
    const first = await sent.send();
    const second = await sent.claimAgain();
    await sent.answer(first, REFUSED, 'refused');
    assert.deepEqual(await sent.seen(), ['QUEUED', 'submitting', 1n, 0n]);
    await sent.answer(first, throttledFor(sent.now()), 'refused');
    assert.deepEqual(await sent.seen(), ['QUEUED', 'submitting', 1n, 0n]);
    await sent.settling.quarantine([{ message: first, parts: [], outcome: REFUSED }]);
    assert.deepEqual(await sent.seen(), ['QUEUED', 'submitting', 1n, 0n]);
    await sent.answer(second, { kind: 'submitted' }, 'accepted');
    assert.deepEqual(await sent.seen(), ['SUBMITTED', null, 0n, 1n]);
  });

  test('a message that needs a decision is submitted again, once, if its late answer is a temporary refusal', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again' });
    const first = await sent.send();
    await sent.answer(await sent.claimAgain(), REFUSED, 'refused');
    assert.equal((await sent.seen())[1], 'needs-decision');
    assert.deepEqual(await sent.claim(), [], 'nobody submits it while it needs a decision');
    await sent.answer(first, throttledFor(sent.now()), 'refused');
    assert.equal((await sent.seen())[1], 'waiting');
    const [third] = await sent.claim();
    assert.equal(third?.attempt, 3);
    await sent.answer(third as ClaimedMessage, { kind: 'submitted' }, 'accepted');
    assert.deepEqual(await sent.seen(), ['SUBMITTED', null, 0n, 1n]);
  });

  test('a message whose answer could not be settled waits for the operator, whatever arrives late', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again' });
    const claimed = await sent.send(TWO_PARTS);
    const parts = [
      { part: 1, state: 'accepted', gatewayId: null },
      { part: 2, state: 'refused', gatewayId: null },
    ] as const;
    await sent.settling.quarantine([{ message: claimed, parts, outcome: throttledFor(sent.now()) }]);
    // The answer of an older claim, which may be the last one that was missing.
    await sent.settling.settle([{ message: { ...claimed, fence: 0n }, parts, outcome: throttledFor(sent.now()) }]);
    assert.equal((await sent.seen())[1], 'needs-decision');
    sent.clock.now += UNKNOWN_OUTCOME;
    assert.deepEqual(await sent.claim(), []);
  });

  test('by never-twice a message that needs a decision waits for an operator, however long that takes', async (t) => {
    const sent = await opened(engine, t);
    await sent.answer(await sent.send(), unknownOutcomeFor(sent.now()), 'unknown-outcome');
    for (const passed of [UNKNOWN_OUTCOME, UNKNOWN_OUTCOME, LEASE, DAY]) {
      sent.clock.now += passed;
      assert.deepEqual(await sent.claim(), []);
      assert.deepEqual(await sent.seen(), ['UNKNOWN', 'needs-decision', 1n, 0n]);
    }
  });

  test('a message is not submitted a third time after both of its submissions were refused permanently', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again' });
    const first = await sent.send();
    await sent.answer(await sent.claimAgain(), REFUSED, 'refused');
    assert.equal((await sent.seen())[1], 'needs-decision');
    await sent.answer(first, REFUSED, 'refused');
    assert.deepEqual(await sent.claim(), []);
    assert.deepEqual(await sent.seen(), ['REJECTED', null, 0n, 0n]);
  });

  test('a decision keeps the failure that a receipt reported while the second attempt was on its way', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again' });
    await sent.send();
    await sent.claimAgain();
    await sent.receipt(1, 1, 'UNDELIVERABLE');
    sent.clock.now += LEASE;
    await sent.decide('not-submitted');
    assert.deepEqual(await sent.seen(), ['UNDELIVERABLE', null, 0n, 1n]);
  });

  test('a receipt of UNKNOWN for a message that needs a decision adds UNKNOWN to the history once', async (t) => {
    const sent = await opened(engine, t);
    await sent.answer(await sent.send(), unknownOutcomeFor(sent.now()), 'unknown-outcome');
    sent.clock.now += UNKNOWN_OUTCOME;
    await sent.claim();
    await sent.receipt(1, 1, 'UNKNOWN');
    const [status, state] = await sent.seen();
    const history = await sent.history();
    assert.deepEqual([status, state, history], ['UNKNOWN', null, ['QUEUED', 'UNKNOWN']]);
  });

  test('an operator can decide about a message whose account was disabled while it was submitted', async (t) => {
    const sent = await opened(engine, t);
    await sent.send();
    await sent.database.run(disable, { account: sent.account });
    await assert.rejects(sent.decide('submitted'), { kind: 'conflict' }, 'its answer may still come');
    sent.clock.now += LEASE;
    await sent.claim();
    await sent.decide('submitted');
    assert.deepEqual(await sent.seen(), ['SUBMITTED', null, 0n, 1n]);
  });

  test('a receipt after the end of the lease settles the held credits of a disabled account', async (t) => {
    const sent = await opened(engine, t);
    await sent.send();
    await sent.database.run(disable, { account: sent.account });
    sent.clock.now += LEASE;
    await sent.receipt(1, 1, 'DELIVERED');
    assert.deepEqual(await sent.seen(), ['DELIVERED', null, 0n, 1n]);
  });

  test('a failure of the first attempt is not final while the second is on its way', async (t) => {
    const ends: readonly (readonly [Outcome, PartResult['state'], string | null, string])[] = [
      [{ kind: 'submitted' }, 'accepted', 'DELIVERED', 'DELIVERED'],
      [REFUSED, 'refused', null, 'UNDELIVERABLE'],
      [unknownOutcomeFor(START), 'unknown-outcome', 'DELIVERED', 'DELIVERED'],
      [unknownOutcomeFor(START), 'unknown-outcome', null, 'ENROUTE'],
    ];
    for (const [outcome, state, later, expected] of ends) {
      const sent = await opened(engine, t, { policy: 'submit-again' });
      await sent.send();
      const again = await sent.claimAgain();
      await sent.receipt(1, 1, 'ENROUTE');
      await sent.receipt(1, 1, 'UNDELIVERABLE');
      await sent.answer(again, outcome, state);
      if (later) await sent.receipt(2, 1, later);
      assert.deepEqual(await sent.seen(), [expected, null, 0n, 1n], `the second is ${state}`);
    }
  });

  test('a failure of the first attempt is not final while the outcome of the second is unknown', async (t) => {
    for (const later of ['DELIVERED', 'UNDELIVERABLE', null]) {
      const sent = await opened(engine, t, { policy: 'submit-again' });
      await sent.send();
      await sent.answer(await sent.claimAgain(), unknownOutcomeFor(sent.now()), 'unknown-outcome');
      await sent.receipt(1, 1, 'UNDELIVERABLE');
      assert.deepEqual(await sent.seen(), ['UNKNOWN', null, 0n, 1n], 'a carrier had it, and it may have it again');
      if (later) await sent.receipt(2, 1, later);
      sent.clock.now += 4 * DAY;
      await sent.maintenance.run();
      assert.deepEqual(await sent.seen(), [later ?? 'UNKNOWN', null, 0n, 1n]);
    }
  });

  test('a message whose first attempt failed and whose second was never answered becomes UNKNOWN', async (t) => {
    const sent = await opened(engine, t, { policy: 'submit-again' });
    await sent.send();
    const again = await sent.claimAgain();
    await sent.receipt(1, 1, 'ENROUTE');
    await sent.receipt(1, 1, 'UNDELIVERABLE');
    await sent.answer(again, unknownOutcomeFor(sent.now()), 'unknown-outcome');
    sent.clock.now += 4 * DAY;
    await sent.maintenance.run();
    assert.deepEqual(await sent.seen(), ['UNKNOWN', null, 0n, 1n]);
    await sent.receipt(2, 1, 'DELIVERED');
    assert.deepEqual(await sent.seen(), ['DELIVERED', null, 0n, 1n]);
  });
});
