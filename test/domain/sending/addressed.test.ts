import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { createMaintenance } from '../../../src/domain/sending/maintenance.ts';
import { createReceipts, heldReceipts } from '../../../src/domain/sending/receipts.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { MINUTE, message, openSending, START, UNKNOWN_OUTCOME } from '../../support/sending.ts';

const heldAbout = sql<Record<string, never>, { about: string }>(
  'select about from held_receipt where about is not null',
);
const heldCount = sql<Record<string, never>, { total: bigint }>('select count(*) as total from held_receipt');
const RECEIPT = { connector: 'loopback', attemptId: null, status: 'DELIVERED', at: START, detail: null };

onEveryEngine('receipts that name addresses', (engine) => {
  test('a receipt with an unknown id settles the one submission without an answer that has its numbers and its text', async (t) => {
    const bench = await openSending(engine, t, heldReceipts);
    const incoming = createIncoming(bench.database, bench.now, 'ZA');
    const maintenance = createMaintenance(bench.database, incoming, {
      now: bench.now,
      receiptWaitMs: 72 * 60 * MINUTE,
    });
    const receipts = createReceipts(bench.database, bench.now);
    const account = await bench.addAccount();
    const unanswered = async (text: string, to: string) => {
      await bench.accept(account, message({ text, to: [to], sender: 'Acme' }));
      const [claim] = await bench.claim();
      assert.ok(claim);
      const parts = claim.parts.map(({ number }) => ({
        part: number,
        state: 'unknown-outcome' as const,
        gatewayId: null,
      }));
      const dueAt = bench.clock.now + UNKNOWN_OUTCOME;
      await bench.settling.settle([
        { message: claim, parts, outcome: { kind: 'unknown-outcome', dueAt, reason: 'no answer' } },
      ]);
      return claim.id;
    };
    const receive = (gatewayId: string, recipient: string, textStart: string, sender = 'Acme') =>
      receipts.receive({ ...RECEIPT, gatewayId, about: { recipient, sender, isDefaultSender: false, textStart } });
    const [one, twoA, twoB, other, third, last] = [
      await unanswered('Your code is 4711, it is valid for a minute', '+27825550301'),
      await unanswered('the same text', '+27825550302'),
      await unanswered('the same text', '+27825550302'),
      await unanswered('hello', '+27825550303'),
      await unanswered('hello', '+27825550304'),
      await unanswered('hello', '+27825550305'),
    ];
    await receive('g1', '27825550301', 'Your code is 4711, i');
    await receive('g2', '27825550302', 'the same text');
    await receive('g3', '27825550303', 'another text');
    await receive('g4', '27825550303', 'hello', 'Somebody');
    await receive('g5', '27825550304', 'hello');
    await receive('g6', '27825550304', 'hello');
    await receive('g7', '27825550305', ''); // numbers alone prove nothing
    const statuses = async () =>
      Promise.all([one, twoA, twoB, other, third, last].map(async (id) => (await bench.sent.show(account, id)).status));
    const before = await statuses();
    bench.clock.now += 4 * MINUTE;
    await maintenance.run();
    assert.deepEqual(await statuses(), before, 'answers may still come');
    bench.clock.now += 2 * MINUTE;
    await maintenance.run();
    assert.deepEqual(await statuses(), ['DELIVERED', ...before.slice(1)]);
    const left = await bench.database.all(heldAbout, {});
    assert.deepEqual(left, [], 'addresses are compared once, and then forgotten');
    assert.equal(Number((await bench.database.first(heldCount, {}))?.total), 6);
  });
});
