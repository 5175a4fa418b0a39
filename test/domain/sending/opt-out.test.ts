import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide } from '../../../src/domain/sending/decide.ts';
import { createOptOuts, optOutsOf } from '../../../src/domain/sending/opt-out.ts';
import { createSettling } from '../../../src/domain/sending/settle.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { MINUTE, message, openSending, type Sending, START, UNKNOWN_OUTCOME } from '../../support/sending.ts';

const NUMBER = '+27825550201';
const LONG = 'x'.repeat(200);
const HOURS = 60 * MINUTE;
const THROTTLED = { kind: 'waiting', dueAt: START + MINUTE, reason: 'throttled' } as const;
const UNANSWERED = { kind: 'unknown-outcome', dueAt: START + UNKNOWN_OUTCOME, reason: 'no answer' } as const;

const optOut = ({ database, now }: Sending, account: bigint, number = NUMBER) =>
  createOptOuts(database, now, async () => 'ZA').add(account, number, null);

const releases = sql<{ account: bigint; id: bigint }, { amount: bigint; reason: string }>(
  `select amount, reason from movement where account_id = :account and message_id = :id and kind = 'release'`,
);
const idOf = (accepted: readonly { id: bigint | null }[]): bigint => accepted[0]?.id as bigint;

onEveryEngine('an opt-out while messages wait', (engine) => {
  test('an opt-out makes a waiting message DELETED with its reason and frees its credits, and leaves others alone', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const { accepted } = await sending.accept(account, message({ to: [NUMBER, '+27825550202'], text: LONG }));
    const version = await sending.database.version(account);
    assert.deepEqual(await optOut(sending, account, '082 555 0201'), { isNew: true, cancelled: 1 });
    const ended = await sending.sent.show(account, idOf(accepted));
    assert.equal(ended.status, 'DELETED');
    assert.equal(ended.marked, false);
    assert.deepEqual(
      ended.history.map(({ status, detail }) => [status, detail]),
      [
        ['QUEUED', null],
        ['DELETED', 'the recipient is on the blacklist'],
      ],
    );
    assert.deepEqual(await sending.ledger.balances(account), { free: 998n, held: 2n, used: 0n });
    const released = await sending.database.all(releases, { account, id: ended.id });
    assert.deepEqual(released, [{ amount: 2n, reason: 'blacklisted' }]);
    assert.notEqual(await sending.database.version(account), version);
    assert.deepEqual(
      (await sending.claim()).map(({ recipient }) => recipient),
      ['+27825550202'],
    );
    await sending.checkLedger();
  });

  test('an opt-out ends 1,000 waiting messages, 100 scheduled ones and one in a back-off, each once, in one call', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ credits: 5_000n });
    await sending.accept(account);
    await sending.settle(await sending.claim(), THROTTLED, 'refused');
    for (let count = 0; count < 1_000; count++) await sending.accept(account);
    const sendAt = START + 24 * HOURS;
    for (let count = 0; count < 100; count++) await sending.accept(account, message({ sendAt }));
    assert.deepEqual(await optOut(sending, account), { isNew: true, cancelled: 1_101 });
    assert.deepEqual(await optOut(sending, account), { isNew: false, cancelled: 0 });
    assert.deepEqual(await sending.ledger.balances(account), { free: 5_000n, held: 0n, used: 0n });
    sending.clock.now = START + 48 * HOURS;
    assert.deepEqual(await sending.claim(), []);
    assert.deepEqual(await sending.scheduled.soonest(account, 10), []);
    assert.equal((await sending.sent.newest(account, 2_000)).filter((each) => each.status === 'DELETED').length, 1_001);
    await sending.checkLedger();
  });

  test('a claimed message is not called back by an opt-out, and is not submitted again if the carrier refuses it', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const { accepted } = await sending.accept(account);
    const claimed = await sending.claim();
    assert.deepEqual(await optOut(sending, account), { isNew: true, cancelled: 0 });
    assert.equal((await sending.sent.show(account, idOf(accepted))).status, 'QUEUED');
    const settling = createSettling(sending.database, sending.now, undefined, optOutsOf('ZA'));
    const parts = [{ part: 1, state: 'refused', gatewayId: null }] as const;
    await settling.settle([{ message: claimed[0] as (typeof claimed)[0], parts, outcome: THROTTLED }]);
    assert.equal((await sending.sent.show(account, idOf(accepted))).status, 'DELETED');
    assert.deepEqual(await sending.ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
    await sending.checkLedger();
  });

  test('a claim checks the blacklist, so a message whose number another program has blocked is not submitted', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ unknownOutcomePolicy: 'submit-again' });
    const { accepted } = await sending.accept(account);
    // Another program knows nothing of the messages that wait, as a node of the previous version.
    const block = sql<{ account: bigint }>(
      `insert into blocked_number (account_id, number, number_key, blocked_at) values (:account, '082 555 0201', '0825550201', 0)`,
    );
    await sending.change(account, { region: 'ZA' });
    await sending.database.run(block, { account });
    assert.deepEqual(await sending.claim(), []);
    assert.equal((await sending.sent.show(account, idOf(accepted))).status, 'DELETED');
    assert.deepEqual(await sending.ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
    await sending.checkLedger();
  });

  test('a scheduled message that is due and activated is not submitted after an opt-out', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    await sending.accept(account, message({ sendAt: START + MINUTE }));
    sending.clock.now = START + 2 * MINUTE;
    assert.deepEqual(await optOut(sending, account), { isNew: true, cancelled: 1 });
    assert.deepEqual(await sending.claim(), []);
    assert.deepEqual(await sending.scheduled.soonest(account, 10), []);
    await sending.checkLedger();
  });

  test('a message with an unknown outcome is not submitted again after an opt-out: its credits wait for a decision', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ unknownOutcomePolicy: 'submit-again' });
    const { accepted } = await sending.accept(account);
    const id = idOf(accepted);
    await sending.settle(await sending.claim(), UNANSWERED, 'unknown-outcome');
    assert.deepEqual(await optOut(sending, account), { isNew: true, cancelled: 0 });
    sending.clock.now = START + UNKNOWN_OUTCOME + MINUTE;
    assert.deepEqual(await sending.claim(), []);
    const found = await sending.sent.show(account, id);
    assert.equal(found.status, 'UNKNOWN');
    assert.match(found.history.at(-1)?.detail ?? '', /on the blacklist; an earlier submission was not answered/);
    assert.deepEqual(await sending.ledger.balances(account), { free: 999n, held: 1n, used: 0n });
    await decide(sending.database, account, id, 'submit-again', { at: sending.clock.now, tryForMs: HOURS });
    assert.deepEqual(await sending.claim(), []);
    await decide(sending.database, account, id, 'not-submitted', { at: sending.clock.now, tryForMs: HOURS });
    assert.deepEqual(await sending.ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
    await sending.checkLedger();
  });

  test('an opt-out frees the credits of the parts that no carrier has, and of no others', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const { accepted } = await sending.accept(account, message({ text: LONG }));
    const [claimed] = await sending.claim();
    const states = ['accepted', 'refused'] as const;
    const parts = states.map((state, index) => ({ part: index + 1, state, gatewayId: null }));
    await sending.settling.settle([{ message: claimed as NonNullable<typeof claimed>, parts, outcome: THROTTLED }]);
    await optOut(sending, account);
    assert.equal((await sending.sent.show(account, idOf(accepted))).status, 'DELETED');
    assert.deepEqual(await sending.ledger.balances(account), { free: 999n, held: 0n, used: 1n });
    await sending.checkLedger();
  });

  test('while dispatchers claim, each message is claimed or ended by the opt-out, never both', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    for (let count = 0; count < 60; count++) await sending.accept(account);
    const claimers = ['one', 'two'].map((owner) => sending.claimingAs(owner));
    const claimed = new Set<bigint>();
    let isAcknowledged = false;
    const claim = async (claiming: (typeof claimers)[0]) => {
      for (let turn = 0; turn < 12; turn++) {
        const isAfter = isAcknowledged;
        for (const each of await claiming.claim({ connector: 'loopback', isDefault: true }, 3)) {
          assert.equal(isAfter, false, 'a claim that began after the acknowledged opt-out claimed a message');
          assert.ok(!claimed.has(each.id));
          claimed.add(each.id);
        }
      }
    };
    const running = claimers.map(claim);
    const { cancelled } = await optOut(sending, account);
    isAcknowledged = true;
    await Promise.all(running);
    assert.equal(claimed.size + cancelled, 60);
    const deleted = (await sending.sent.newest(account, 100)).filter(({ status }) => status === 'DELETED');
    assert.equal(deleted.length, cancelled);
    for (const { id } of deleted) assert.ok(!claimed.has(id));
    assert.deepEqual(await sending.ledger.balances(account), {
      free: 1_000n - BigInt(claimed.size),
      held: BigInt(claimed.size),
      used: 0n,
    });
    await sending.checkLedger();
  });
});

onEveryEngine('cancelling a message that is due', (engine) => {
  test('a waiting message that is cancelled becomes DELETED, and its credits are free again', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const { accepted } = await sending.accept(account, message({ text: LONG }));
    const id = idOf(accepted);
    assert.equal(await sending.cancellation.cancel(account, id), 2n);
    const { status, history } = await sending.sent.show(account, id);
    assert.equal(status, 'DELETED');
    assert.equal(history.at(-1)?.detail, 'cancelled before it was submitted');
    assert.deepEqual(await sending.database.all(releases, { account, id }), [{ amount: 2n, reason: 'cancelled' }]);
    assert.deepEqual(await sending.claim(), []);
    await assert.rejects(sending.cancellation.cancel(account, id), /has already ended with the status DELETED/);
    await sending.checkLedger();
  });

  test('the refusal of a cancel says whether the message is being submitted, was sent, or has an unknown outcome', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = idOf((await sending.accept(account)).accepted);
    const claimed = await sending.claim();
    await assert.rejects(sending.cancellation.cancel(account, id), /is being submitted at this moment/);
    await sending.settle(claimed, { kind: 'submitted' });
    await assert.rejects(sending.cancellation.cancel(account, id), /was sent already/);
    const second = idOf((await sending.accept(account)).accepted);
    await sending.settle(await sending.claim(), UNANSWERED, 'unknown-outcome');
    await assert.rejects(
      sending.cancellation.cancel(account, second),
      /Nobody knows whether the carrier has the message/,
    );
    await assert.rejects(sending.cancellation.cancel(account, 999n), /waiting message with this id/);
    assert.deepEqual(await sending.ledger.balances(account), { free: 998n, held: 1n, used: 1n });
    await sending.checkLedger();
  });

  test('two concurrent cancels and a claim end or claim a message once', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    for (let round = 0; round < 10; round++) {
      const id = idOf((await sending.accept(account)).accepted);
      const cancel = () => sending.cancellation.cancel(account, id).then(Number, () => 0);
      const [one, other, claimed] = await Promise.all([cancel(), cancel(), sending.claim()]);
      assert.equal(one + other + claimed.length, 1);
      await sending.settle(claimed, { kind: 'submitted' });
      await sending.checkLedger();
    }
  });
});
