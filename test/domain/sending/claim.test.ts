import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provePart } from '../../../src/domain/sending/end.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { LEASE, MINUTE, message, openSending, START, UNKNOWN_OUTCOME } from '../../support/sending.ts';

const LONG = 'x'.repeat(400); // three parts
const idsOf = (claimed: readonly { id: bigint }[]) => claimed.map(({ id }) => id);

onEveryEngine('claiming and settling', (engine) => {
  test('a message without sendAt is QUEUED among the sent ones and is claimed at once', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const { accepted } = await sending.accept(account);
    const id = accepted[0]?.id as bigint;
    assert.deepEqual((await sending.sent.show(account, id)).history, [{ status: 'QUEUED', at: START, detail: null }]);
    const claimed = await sending.claim();
    assert.deepEqual(idsOf(claimed), [id]);
    assert.deepEqual(await sending.claim(), [], 'nobody claims it a second time');
    await sending.settle(claimed, { kind: 'submitted' });
    const { status, marked, history } = await sending.sent.show(account, id);
    assert.deepEqual(
      [status, marked, history.map((each) => each.status)],
      ['SUBMITTED', false, ['QUEUED', 'SUBMITTED']],
    );
    assert.deepEqual(await sending.ledger.balances(account), { free: 999n, held: 0n, used: 1n });
    await sending.checkLedger();
  });

  test('a scheduled message is listed until it is claimed, and never before its time', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    await sending.accept(account, message({ sendAt: START + MINUTE, reference: 'order-1' }));
    assert.equal((await sending.scheduled.soonest(account, 10)).length, 1);
    sending.clock.now += MINUTE - 1;
    assert.deepEqual(await sending.claim(), []);
    sending.clock.now += 1;
    const claimed = await sending.claim();
    assert.equal(claimed.length, 1);
    assert.deepEqual(await sending.scheduled.soonest(account, 10), []);
    const [sent] = await sending.sent.newest(account, 10);
    assert.deepEqual([sent?.status, sent?.reference, sent?.sentAt], ['QUEUED', 'order-1', START + MINUTE]);
    await sending.checkLedger('claimed');
    await sending.settle(claimed, { kind: 'submitted' });
    await sending.checkLedger('settled');
  });

  test('a cancelled message is not claimed, and a claimed one is not cancelled', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const { accepted } = await sending.accept(
      account,
      message({ to: ['+27825550201', '+27825550202'], sendAt: START + 1 }),
    );
    const [first, second] = accepted.map(({ id }) => id as bigint);
    assert.equal(await sending.scheduled.delete(account, first as bigint), true);
    sending.clock.now += MINUTE;
    assert.deepEqual(idsOf(await sending.claim()), [second]);
    assert.equal(await sending.scheduled.delete(account, second as bigint), false);
    await assert.rejects(sending.cancellation.cancel(account, second as bigint), { kind: 'conflict' });
    await sending.checkLedger();
    assert.deepEqual(await sending.ledger.balances(account), { free: 999n, held: 1n, used: 0n });
  });

  test('a permanent refusal makes a message REJECTED with its reason, and frees its credits', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account)).accepted[0]?.id as bigint;
    await sending.settle(await sending.claim(), { kind: 'rejected', reason: 'no such number' }, 'refused');
    const { status, history } = await sending.sent.show(account, id);
    assert.deepEqual([status, history.at(-1)?.detail], ['REJECTED', 'no such number']);
    assert.deepEqual(await sending.ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
    await sending.checkLedger();
  });

  test('a temporary refusal waits for its time, and at notAfter the message is EXPIRED', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account, message({ notAfter: START + 10 * MINUTE }))).accepted[0]?.id as bigint;
    const retry = { kind: 'waiting', dueAt: START + MINUTE, reason: 'throttled' } as const;
    await sending.settle(await sending.claim(), retry, 'refused');
    assert.equal((await sending.sent.show(account, id)).status, 'QUEUED');
    assert.deepEqual(await sending.claim(), []);
    sending.clock.now = START + MINUTE;
    const [again] = await sending.claim();
    assert.equal(again?.attempt, 2);
    await sending.settle([again as never], { ...retry, dueAt: START + 10 * MINUTE }, 'refused');
    sending.clock.now = START + 10 * MINUTE;
    assert.deepEqual(await sending.claim(), []);
    const { status, history } = await sending.sent.show(account, id);
    assert.deepEqual([status, history.at(-1)?.detail], ['EXPIRED', 'throttled']);
    assert.deepEqual(await sending.ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
    await sending.checkLedger();
  });

  test('after 48 hours without a notAfter a message is EXPIRED', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account)).accepted[0]?.id as bigint;
    sending.clock.now += 48 * 60 * MINUTE;
    assert.deepEqual(await sending.claim(), []);
    assert.equal((await sending.sent.show(account, id)).status, 'EXPIRED');
    await sending.checkLedger();
  });

  test('only the parts that no carrier has are submitted again', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account, message({ text: LONG }))).accepted[0]?.id as bigint;
    const [first] = await sending.claim();
    assert.equal(first?.parts.length, 3);
    await sending.settling.settle([
      {
        message: first as never,
        parts: [
          { part: 1, state: 'accepted', gatewayId: 'g1' },
          { part: 2, state: 'refused', gatewayId: null },
          { part: 3, state: 'accepted', gatewayId: 'g3' },
        ],
        outcome: { kind: 'waiting', dueAt: START + 1, reason: 'throttled' },
      },
    ]);
    sending.clock.now += 1;
    const [again] = await sending.claim();
    assert.deepEqual([again?.parts.map(({ number }) => number), again?.partsTotal], [[2], 3]);
    await sending.settle([again as never], { kind: 'rejected', reason: 'no' }, 'refused');
    assert.equal((await sending.sent.show(account, id)).status, 'REJECTED');
    assert.deepEqual(await sending.ledger.balances(account), { free: 998n, held: 0n, used: 2n }, 'two parts are used');
    await sending.checkLedger();
  });

  test('a lease that ran out gives a message an unknown outcome, and by never-twice it needs a decision while its credits stay held', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account)).accepted[0]?.id as bigint;
    assert.equal((await sending.claim()).length, 1);
    sending.clock.now += LEASE;
    assert.deepEqual(await sending.claim(), []);
    assert.equal((await sending.sent.show(account, id)).status, 'QUEUED', 'a receipt may still come');
    sending.clock.now += UNKNOWN_OUTCOME;
    assert.deepEqual(await sending.claim(), []);
    assert.equal((await sending.sent.show(account, id)).status, 'UNKNOWN');
    sending.clock.now += 100 * 24 * 60 * MINUTE;
    assert.deepEqual(await sending.claim(), []);
    assert.deepEqual(await sending.ledger.balances(account), { free: 999n, held: 1n, used: 0n });
    await sending.checkLedger();
  });

  test('by submit-again a message with an unknown outcome is claimed again after the deadline', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ unknownOutcomePolicy: 'submit-again' });
    await sending.accept(account);
    const [lost] = await sending.claim();
    sending.clock.now += LEASE;
    assert.deepEqual(await sending.claim(), []);
    sending.clock.now += UNKNOWN_OUTCOME;
    const [again] = await sending.claim();
    assert.deepEqual([again?.id, again?.attempt], [lost?.id, 2]);
    // The first process was only slow: its answer comes too late for the message.
    await sending.settle([lost as never], { kind: 'rejected', reason: 'late' }, 'refused');
    await sending.settle([again as never], { kind: 'submitted' });
    assert.equal((await sending.sent.show(account, lost?.id as bigint)).status, 'SUBMITTED');
    await sending.checkLedger();
  });

  test('a refused second attempt releases no credits of a message whose first attempt got a receipt meanwhile', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ unknownOutcomePolicy: 'submit-again' });
    await sending.accept(account);
    const [lost] = await sending.claim();
    sending.clock.now += LEASE;
    await sending.claim();
    sending.clock.now += UNKNOWN_OUTCOME;
    const [again] = await sending.claim();
    assert.equal(again?.attempt, 2);
    const messageId = lost?.id as bigint;
    await sending.database.transaction(account, (queries) =>
      provePart({ queries, account, at: START }, { messageId, attempt: 1n, part: 1n }),
    );
    await sending.settle([again as never], { kind: 'rejected', reason: 'a duplicate' }, 'refused');
    assert.equal((await sending.sent.show(account, messageId)).status, 'SUBMITTED');
    assert.deepEqual(await sending.ledger.balances(account), { free: 999n, held: 0n, used: 1n });
    await sending.checkLedger();
  });

  test('an answer that comes after the lease still settles the message, unless it was claimed again', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account)).accepted[0]?.id as bigint;
    const claimed = await sending.claim();
    sending.clock.now += LEASE + UNKNOWN_OUTCOME;
    await sending.claim();
    sending.clock.now += UNKNOWN_OUTCOME;
    await sending.claim();
    assert.equal((await sending.sent.show(account, id)).status, 'UNKNOWN');
    await sending.settle(claimed, { kind: 'submitted' });
    assert.equal((await sending.sent.show(account, id)).status, 'SUBMITTED');
    assert.deepEqual(await sending.ledger.balances(account), { free: 999n, held: 0n, used: 1n });
    await sending.checkLedger();
  });

  test('a receipt proves that the carrier has a message with an unknown outcome: its credits are used and it is not submitted again', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ unknownOutcomePolicy: 'submit-again' });
    await sending.accept(account, message({ text: LONG }));
    const claimed = await sending.claim();
    const unknown = { kind: 'unknown-outcome', dueAt: START + UNKNOWN_OUTCOME, reason: 'no answer' } as const;
    await sending.settle(claimed, unknown, 'unknown-outcome');
    for (const part of [1n, 2n, 3n]) {
      assert.equal((await sending.ledger.balances(account)).used, 0n);
      const messageId = claimed[0]?.id as bigint;
      await sending.database.transaction(account, (queries) =>
        provePart({ queries, account, at: START }, { messageId, attempt: 1n, part }),
      );
    }
    assert.deepEqual(await sending.ledger.balances(account), { free: 997n, held: 0n, used: 3n });
    sending.clock.now += 2 * UNKNOWN_OUTCOME;
    assert.deepEqual(await sending.claim(), []);
    await sending.checkLedger();
  });

  test('a message that the client deleted before its claim is not submitted, and its credits are free again', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account)).accepted[0]?.id as bigint;
    assert.equal(await sending.sent.delete(account, id), true);
    assert.deepEqual(await sending.claim(), []);
    assert.deepEqual(await sending.ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
    await sending.checkLedger();
  });

  test('a message that the client deleted after its claim keeps its movements', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account)).accepted[0]?.id as bigint;
    const claimed = await sending.claim();
    await sending.sent.delete(account, id);
    await sending.settle(claimed, { kind: 'submitted' });
    const kinds = (await sending.ledger.movements(account, 10)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['capture', 'hold', 'grant']);
    await sending.checkLedger();
  });

  test('nothing is claimed in the quiet hours of the account, and others are served', async (t) => {
    const sending = await openSending(engine, t);
    const quiet = await sending.addAccount({ timeZone: 'Africa/Johannesburg', quietHours: '13:30-15:00' }); // 11:30-13:00 UTC
    const other = await sending.addAccount();
    await sending.accept(quiet); // as if it had been accepted before the quiet hours began
    await sending.accept(other);
    assert.deepEqual(
      (await sending.claim()).map(({ account }) => account),
      [other],
    );
    sending.clock.now += 60 * MINUTE - 1;
    assert.deepEqual(await sending.claim(), []);
    sending.clock.now += 1;
    assert.deepEqual(
      (await sending.claim()).map(({ account }) => account),
      [quiet],
    );
  });

  test('accounts of a higher priority are claimed first, and those of one priority share a claim', async (t) => {
    const sending = await openSending(engine, t);
    const numbers = (count: number) => Array.from({ length: count }, (_, at) => `+2782555${String(1_000 + at)}`);
    const flood = await sending.addAccount();
    const small = await sending.addAccount();
    const urgent = await sending.addAccount({ priority: 5 });
    await sending.accept(flood, message({ to: numbers(40) }));
    await sending.accept(small, message({ to: numbers(2) }));
    await sending.accept(urgent, message({ to: numbers(3) }));
    const claimed = await sending.claim(12);
    const countOf = (account: bigint) => claimed.filter((each) => each.account === account).length;
    assert.deepEqual([countOf(urgent), countOf(small), countOf(flood)], [3, 2, 4]);
    assert.equal(claimed[0]?.account, urgent);
  });

  test('a message is submitted through the connector of its account', async (t) => {
    const sending = await openSending(engine, t);
    const other = await sending.addAccount({ connector: 'kannel' });
    await sending.accept(other);
    assert.deepEqual(await sending.claim(), []);
    assert.equal((await sending.claim(100, 'kannel')).length, 1);
  });

  test('two concurrent dispatchers claim every message once', async (t) => {
    const sending = await openSending(engine, t);
    const accounts = await Promise.all([1, 2, 3].map(() => sending.addAccount()));
    const numbers = Array.from({ length: 30 }, (_, at) => `+2782555${1_000 + at}`);
    for (const account of accounts) await sending.accept(account, message({ to: numbers }));
    const dispatchers = ['one', 'two', 'three', 'four'].map(sending.claimingAs);
    const claimed: string[] = [];
    for (let round = 0; claimed.length < 90 && round < 100; round++) {
      const all = await Promise.all(
        dispatchers.map((each) => each.claim({ connector: 'loopback', isDefault: true }, 7)),
      );
      claimed.push(...all.flat().map(({ account, id }) => `${account}/${id}`));
    }
    assert.equal(claimed.length, 90);
    assert.equal(new Set(claimed).size, 90);
  });

  test('gateway ids are passed on within the transaction of the settlement', async (t) => {
    const told: string[] = [];
    const sending = await openSending(engine, t, async (_transaction, parts) => {
      told.push(...parts.map(({ gatewayId }) => gatewayId));
    });
    const account = await sending.addAccount();
    await sending.accept(account);
    const [claimed] = await sending.claim();
    await sending.settling.settle([
      {
        message: claimed as never,
        parts: [{ part: 1, state: 'accepted', gatewayId: 'abc' }],
        outcome: { kind: 'submitted' },
      },
    ]);
    assert.deepEqual(told, ['abc']);
  });

  test('a clock that jumps ahead and back submits nothing twice', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    await sending.accept(account);
    const claimed = await sending.claim();
    sending.clock.now += 365 * 24 * 60 * MINUTE;
    assert.deepEqual(await sending.claim(), []);
    sending.clock.now = START;
    assert.deepEqual(await sending.claim(), []);
    await sending.settle(claimed, { kind: 'submitted' });
    assert.deepEqual(await sending.claim(), []);
    await sending.checkLedger();
  });
});
