import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setDisabledAt } from '../../../src/domain/accounts/accounts.sql.ts';
import { createRetention } from '../../../src/domain/privacy/retention.ts';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { newAttemptId } from '../../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../../src/domain/sending/claim.ts';
import { createMaintenance, MAINTENANCE_EVERY_MS } from '../../../src/domain/sending/maintenance.ts';
import { createReceipts } from '../../../src/domain/sending/receipts.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { LEASE, MINUTE, message, openSending, START } from '../../support/sending.ts';

const emptyHeld = sql<{ account: bigint }>('update ledger set held = 0 where account_id = :account');
const attempted = sql<{ account: bigint }, { message_id: bigint }>(
  'select message_id from attempt where account_id = :account',
);
const HOUR = 60 * MINUTE;
const receipt = { connector: 'loopback', gatewayId: null, status: 'DELIVERED', at: START, detail: null };

onEveryEngine('faults of sending', (engine) => {
  test('an account that cannot be claimed does not delay the other accounts of its connector', async (t) => {
    const sending = await openSending(engine, t);
    const broken = await sending.addAccount();
    const sound = await sending.addAccount();
    // Its message expires at the claim, and then its credits cannot be released.
    await sending.accept(broken, message({ notAfter: START + 1 }));
    sending.clock.now += 1;
    const id = (await sending.accept(sound)).accepted[0]?.id;
    await sending.database.run(emptyHeld, { account: broken });
    assert.deepEqual(
      (await sending.claim()).map((each) => each.id),
      [id],
    );
    assert.deepEqual(await sending.claim(), [], 'the other one is left for a while');
  });

  test('a message of one part is not submitted again after a receipt has proved that the carrier has it', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const receipts = createReceipts(sending.database, sending.now);
    const refused = { kind: 'waiting', dueAt: START + MINUTE, reason: 'timed out' } as const;
    // One receipt before the answer, one after it.
    const to = ['+27825550201', '+27825550202'];
    await sending.accept(account, message({ to }));
    const [first, second] = await sending.claim();
    await receipts.receive({ ...receipt, attemptId: first?.parts[0]?.attemptId as string });
    await sending.settle([first as never, second as never], refused, 'refused');
    await receipts.receive({ ...receipt, attemptId: second?.parts[0]?.attemptId as string });
    sending.clock.now += MINUTE;
    assert.deepEqual(await sending.claim(), []);
    assert.deepEqual(await sending.ledger.balances(account), { free: 998n, held: 0n, used: 2n });
    await sending.checkLedger();
  });

  test('the report of a refusal, before the refusal itself, proves nothing: the submission is made again', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const receipts = createReceipts(sending.database, sending.now);
    await sending.accept(account);
    const [claimed] = await sending.claim();
    await receipts.receive({ ...receipt, attemptId: claimed?.parts[0]?.attemptId as string, status: 'UNKNOWN' });
    await sending.settle([claimed as never], { kind: 'waiting', dueAt: START + 1, reason: 'no route' }, 'refused');
    sending.clock.now += 1;
    assert.equal((await sending.claim())[0]?.parts.length, 1);
  });

  test('an account that was served before the clock was put back is not the last one for ever', async (t) => {
    const sending = await openSending(engine, t);
    const [first, second] = [await sending.addAccount(), await sending.addAccount()];
    sending.clock.now = START + 24 * HOUR;
    await sending.accept(first);
    assert.equal((await sending.claim()).length, 1);
    sending.clock.now = START;
    for (let round = 0; round < 2; round++) for (const account of [first, second]) await sending.accept(account);
    const served = [...(await sending.claim(1)), ...(await sending.claim(1))].map(({ account }) => account);
    assert.deepEqual(new Set(served), new Set([first, second]));
  });

  test('the messages of a disabled account are not claimed until it is enabled', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account)).accepted[0]?.id;
    await sending.database.run(setDisabledAt, { account, disabledAt: START });
    assert.deepEqual(await sending.claim(), []);
    assert.equal(await sending.claiming.nextDueAt({ connector: 'loopback', isDefault: true }), null);
    await sending.database.run(setDisabledAt, { account, disabledAt: null });
    assert.deepEqual(
      (await sending.claim()).map((each) => each.id),
      [id],
    );
  });

  test('an account that is disabled after a dispatcher has chosen it is not claimed', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    await sending.accept(account);
    const { database, now } = sending;
    const transaction: typeof database.transaction = async (...given) => {
      await database.run(setDisabledAt, { account, disabledAt: START });
      return database.transaction(...given);
    };
    const times = { leaseMs: LEASE, unknownOutcomeMs: 1 };
    const claiming = createClaiming({ ...database, transaction }, { now, owner: 'one', newAttemptId, ...times });
    assert.deepEqual(await claiming.claim({ connector: 'loopback', isDefault: true }, 10), []);
  });

  test('the maintenance looks for missing receipts although the clock was put back', async (t) => {
    const sending = await openSending(engine, t);
    const incoming = createIncoming(sending.database, sending.now, 'ZA');
    const maintenance = createMaintenance(sending.database, incoming, { now: sending.now, receiptWaitMs: 72 * HOUR });
    assert.ok(await maintenance.run());
    sending.clock.now -= HOUR;
    assert.ok(await maintenance.run());
    assert.equal(await maintenance.run(), undefined);
    sending.clock.now += MAINTENANCE_EVERY_MS;
    assert.ok(await maintenance.run());
  });

  test('a claim does not change the version of an account that has nothing due', async (t) => {
    const sending = await openSending(engine, t);
    const [busy, idle, later] = [await sending.addAccount(), await sending.addAccount(), await sending.addAccount()];
    await sending.accept(later, message({ sendAt: START + HOUR }));
    await sending.accept(busy, message({ sendAt: START + 1 }));
    const versions = async () => Promise.all([busy, idle, later].map((each) => sending.database.version(each)));
    const before = await versions();
    sending.clock.now += 1;
    assert.equal((await sending.claim()).length, 1);
    const [busyAfter, ...others] = await versions();
    assert.notEqual(busyAfter, before[0], 'its message left the schedule');
    assert.deepEqual(others, before.slice(1));
  });

  test('attempts of deleted messages are deleted after 72 hours, and those of old sent messages with them', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const incoming = createIncoming(sending.database, sending.now, 'ZA');
    const maintenance = createMaintenance(sending.database, incoming, { now: sending.now, receiptWaitMs: 72 * HOUR });
    const { accepted } = await sending.accept(account, message({ to: ['+27825550201', '+27825550202'] }));
    const [deleted, kept] = accepted.map(({ id }) => id as bigint);
    await sending.settle(await sending.claim(), { kind: 'submitted' });
    await sending.sent.delete(account, deleted as bigint);
    const left = async () => (await sending.database.all(attempted, { account })).map((each) => each.message_id);
    await maintenance.run();
    assert.equal((await left()).length, 2, 'a receipt may come');
    sending.clock.now += 73 * HOUR;
    await maintenance.run();
    assert.deepEqual(await left(), [kept]);
    const retention = createRetention(sending.database, sending.now);
    await retention.set({ sent: 1 });
    await retention.applyDue(
      async () => {},
      () => false,
    );
    assert.deepEqual(await left(), []);
  });
});
