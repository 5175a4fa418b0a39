import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { createMaintenance, MAINTENANCE_EVERY_MS, RECEIPT_HELD_MS } from '../../../src/domain/sending/maintenance.ts';
import { createReceipts, heldReceipts, type NewReceipt } from '../../../src/domain/sending/receipts.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { MINUTE, message, openSending, START, UNKNOWN_OUTCOME } from '../../support/sending.ts';

const LONG = 'x'.repeat(400); // three parts
const HOUR = 60 * MINUTE;
const heldCount = sql<Record<string, never>, { total: bigint }>('select count(*) as total from held_receipt');
const heldIds = sql<Record<string, never>, { gateway_id: string }>(
  'select gateway_id from held_receipt order by gateway_id',
);

async function opened(engine: Engine, t: TestContext) {
  const sending = await openSending(engine, t, heldReceipts);
  const receipts = createReceipts(sending.database, sending.now);
  const incoming = createIncoming(sending.database, sending.now, 'ZA');
  const maintenance = createMaintenance(sending.database, incoming, { now: sending.now, receiptWaitMs: 72 * HOUR });
  const account = await sending.addAccount();
  let count = 0;
  return {
    ...sending,
    maintenance,
    account,
    receipts,
    receive: (given: Partial<NewReceipt>) =>
      receipts.receive({
        connector: 'loopback',
        attemptId: null,
        gatewayId: null,
        status: 'DELIVERED',
        at: sending.clock.now,
        detail: null,
        ...given,
      }),
    held: async () => Number((await sending.database.first(heldCount, {}))?.total),
    /** Accepted and claimed; its parts have attempts and no answer. */
    async claimed(text = 'hello') {
      count += 1;
      await sending.accept(account, message({ text, to: [`+2782555${String(count).padStart(4, '0')}`] }));
      const [claim] = await sending.claim();
      assert.ok(claim);
      return claim;
    },
    /** The carrier has taken it. */
    async submitted(text = 'hello', gatewayIds = false) {
      const claim = await this.claimed(text);
      await this.answered(claim, gatewayIds);
      return claim;
    },
    answered: (claim: Awaited<ReturnType<typeof sending.claim>>[number], gatewayIds = true) =>
      sending.settling.settle([
        {
          message: claim,
          parts: claim.parts.map(({ number, attemptId }) => ({
            part: number,
            state: 'accepted' as const,
            gatewayId: gatewayIds ? `gw-${attemptId}` : null,
          })),
          outcome: { kind: 'submitted' },
        },
      ]),
    show: (id: bigint) => sending.sent.show(account, id),
  };
}

onEveryEngine('receipts', (engine) => {
  test('a receipt changes the status, unmarks it, sets its time and is in the history', async (t) => {
    const bench = await opened(engine, t);
    const { id, parts } = await bench.submitted();
    await bench.sent.mark(bench.account, id);
    assert.equal(await bench.sent.countUnmarked(bench.account), 0n);
    bench.clock.now += MINUTE;
    const attemptId = parts[0]?.attemptId as string;
    await bench.receive({ attemptId, status: 'ENROUTE' });
    assert.equal(await bench.sent.countUnmarked(bench.account), 1n);
    await bench.sent.mark(bench.account, id);
    bench.clock.now += MINUTE;
    await bench.receive({ attemptId, status: 'DELIVERED', detail: '000' });
    const { status, marked, updatedAt, history } = await bench.show(id);
    assert.deepEqual([status, marked, updatedAt], ['DELIVERED', false, START + 2 * MINUTE]);
    assert.deepEqual(history.slice(2), [
      { status: 'ENROUTE', at: START + MINUTE, detail: null },
      { status: 'DELIVERED', at: START + 2 * MINUTE, detail: '000' },
    ]);
  });

  test('a repeated receipt changes nothing, and a final status stays', async (t) => {
    const bench = await opened(engine, t);
    const { id, parts } = await bench.submitted();
    const attemptId = parts[0]?.attemptId as string;
    await bench.receive({ attemptId, status: 'UNDELIVERABLE', detail: '5' });
    await bench.sent.mark(bench.account, id);
    const before = await bench.show(id);
    bench.clock.now += MINUTE;
    for (const status of ['UNDELIVERABLE', 'DELIVERED', 'ENROUTE', 'REJECTED'])
      await bench.receive({ attemptId, status });
    assert.deepEqual(await bench.show(id), before);
  });

  test('receipts in any order and with any repetition end in the same status', async (t) => {
    const bench = await opened(engine, t);
    const part = fc.record({
      pending: fc.uniqueArray(
        fc.record({ status: fc.constantFrom('ENROUTE', 'ACCEPTED', 'UNKNOWN'), after: fc.integer({ min: 0, max: 3 }) }),
        { maxLength: 3, selector: ({ status, after }) => `${status}${after}` },
      ),
      final: fc.option(fc.constantFrom('DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED')),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(['hello', 1] as const, [LONG, 3] as const).chain(([text, total]) =>
          fc.array(part, { minLength: total, maxLength: total }).chain((parts) => {
            const all = parts.flatMap(({ pending, final }, index) => [
              ...pending.map(({ status, after }) => ({ index, status, after })),
              ...(final === null ? [] : [{ index, status: final as string, after: 5 }]),
            ]);
            const orders = fc.shuffledSubarray(all, { minLength: all.length });
            const repeated = fc.subarray(all);
            return fc.record({ text: fc.constant(text), one: orders, other: orders, repeated });
          }),
        ),
        async ({ text, one, other, repeated }) => {
          const results: unknown[] = [];
          for (const order of [one, [...other, ...repeated]]) {
            const { id, parts } = await bench.submitted(text);
            await Promise.all(
              order.map(({ index, status, after }) =>
                bench.receive({ attemptId: parts[index]?.attemptId as string, status, at: START + after }),
              ),
            );
            results.push((await bench.show(id)).status);
          }
          assert.deepEqual(results[0], results[1]);
        },
      ),
      { numRuns: 20 },
    );
    await bench.checkLedger();
  });

  test('a message has the status of its worst part, and is final when all of its parts are', async (t) => {
    const bench = await opened(engine, t);
    const { id, parts } = await bench.submitted(LONG);
    const [one, two, three] = parts.map(({ attemptId }) => attemptId) as [string, string, string];
    await bench.receive({ attemptId: two, status: 'UNDELIVERABLE', detail: '11' });
    assert.equal((await bench.show(id)).status, 'SUBMITTED');
    await bench.receive({ attemptId: one, status: 'DELIVERED' });
    await bench.receive({ attemptId: three, status: 'ENROUTE' });
    assert.equal((await bench.show(id)).status, 'ENROUTE');
    await bench.receive({ attemptId: three, status: 'DELIVERED' });
    const { status, history } = await bench.show(id);
    assert.equal(status, 'UNDELIVERABLE');
    assert.deepEqual(
      history.slice(2).map((each) => [each.status, each.detail]),
      [
        ['SUBMITTED', 'part 2 of 3: UNDELIVERABLE (11)'],
        ['SUBMITTED', 'part 1 of 3: DELIVERED'],
        ['ENROUTE', 'part 3 of 3: ENROUTE'],
        ['UNDELIVERABLE', 'part 3 of 3: DELIVERED'],
      ],
    );
  });

  test('a receipt that comes before the answer to its submission is held and applied with the answer', async (t) => {
    const bench = await opened(engine, t);
    const claim = await bench.claimed(LONG);
    const [first, ...others] = claim.parts.map(({ attemptId }) => `gw-${attemptId}`);
    await bench.receive({ gatewayId: first as string });
    await bench.receive({ gatewayId: first as string });
    assert.equal(await bench.held(), 1);
    assert.equal((await bench.show(claim.id)).status, 'QUEUED');
    bench.clock.now += 71 * HOUR;
    await bench.maintenance.run();
    assert.equal(await bench.held(), 1);
    await bench.answered(claim);
    assert.equal(await bench.held(), 0);
    assert.equal((await bench.show(claim.id)).status, 'SUBMITTED');
    for (const gatewayId of others) await bench.receive({ gatewayId });
    assert.equal((await bench.show(claim.id)).status, 'DELIVERED');
  });

  test('a receipt with our own id counts before the answer, and the answer does not undo it', async (t) => {
    const bench = await opened(engine, t);
    const claim = await bench.claimed();
    await bench.receive({ attemptId: claim.parts[0]?.attemptId as string });
    assert.equal((await bench.show(claim.id)).status, 'DELIVERED');
    await bench.answered(claim);
    const { status, history } = await bench.show(claim.id);
    assert.deepEqual([status, history.map((each) => each.status)], ['DELIVERED', ['QUEUED', 'DELIVERED']]);
    assert.deepEqual(await bench.ledger.balances(bench.account), { free: 999n, held: 0n, used: 1n });
    await bench.checkLedger();
  });

  test('a held receipt that missed the answer is matched by the maintenance', async (t) => {
    const bench = await opened(engine, t);
    const { database, now } = bench;
    const { createSettling } = await import('../../../src/domain/sending/settle.ts');
    const claim = await bench.claimed();
    const gatewayId = 'gw-1';
    await bench.receive({ gatewayId });
    const deaf = createSettling(database, now);
    const part = { part: 1, state: 'accepted' as const, gatewayId };
    await deaf.settle([{ message: claim, parts: [part], outcome: { kind: 'submitted' } }]);
    assert.equal((await bench.show(claim.id)).status, 'SUBMITTED');
    assert.deepEqual(await bench.maintenance.run(), { held: 1, silent: 0, incomplete: 0, expired: 0 });
    assert.equal((await bench.show(claim.id)).status, 'DELIVERED');
    assert.equal(await bench.held(), 0);
  });

  test('an unknown receipt is kept for 72 hours and is then dropped', async (t) => {
    const bench = await opened(engine, t);
    await bench.receive({ gatewayId: 'of nobody' });
    await bench.receive({ attemptId: 'f'.repeat(32) });
    assert.equal(await bench.held(), 2);
    bench.clock.now += RECEIPT_HELD_MS;
    await bench.maintenance.run();
    assert.equal(await bench.held(), 2);
    bench.clock.now += MAINTENANCE_EVERY_MS;
    await bench.maintenance.run();
    assert.equal(await bench.held(), 0);
  });

  test('if more unknown receipts come than may be held, the oldest are dropped', async (t) => {
    const bench = await opened(engine, t);
    for (let number = 1; number <= 5; number++) {
      bench.clock.now += 1;
      await bench.receive({ gatewayId: `unknown-${number}` });
    }
    const settings = { now: bench.now, receiptWaitMs: 72 * HOUR, receiptsHeldMax: 3 };
    await createMaintenance(bench.database, createIncoming(bench.database, bench.now, 'ZA'), settings).run();
    const held = await bench.database.all(heldIds, {});
    assert.deepEqual(
      held.map(({ gateway_id }) => gateway_id),
      ['unknown-3', 'unknown-4', 'unknown-5'],
    );
  });

  test('a receipt of another connector does not change our submission', async (t) => {
    const bench = await opened(engine, t);
    const { id, parts } = await bench.submitted('hello', true);
    const attemptId = parts[0]?.attemptId as string;
    await bench.receive({ connector: 'other', attemptId, gatewayId: `gw-${attemptId}` });
    assert.equal((await bench.show(id)).status, 'SUBMITTED');
  });

  test('a receipt for a submission with an unknown outcome settles it as taken, and its credits are used', async (t) => {
    const bench = await opened(engine, t);
    const claim = await bench.claimed();
    await bench.settle(
      [claim],
      { kind: 'unknown-outcome', dueAt: START + UNKNOWN_OUTCOME, reason: 'no answer' },
      'unknown-outcome',
    );
    assert.deepEqual(await bench.ledger.balances(bench.account), { free: 999n, held: 1n, used: 0n });
    await bench.receive({ attemptId: claim.parts[0]?.attemptId as string, status: 'ENROUTE' });
    assert.equal((await bench.show(claim.id)).status, 'ENROUTE');
    assert.deepEqual(await bench.ledger.balances(bench.account), { free: 999n, held: 0n, used: 1n });
    await bench.checkLedger();
    bench.clock.now += UNKNOWN_OUTCOME;
    assert.deepEqual(await bench.claim(), [], 'nobody submits it again');
  });

  test('the report of a refusal proves nothing: the refused submission is made again', async (t) => {
    const bench = await opened(engine, t);
    const claim = await bench.claimed();
    const attemptId = claim.parts[0]?.attemptId as string;
    await bench.settle([claim], { kind: 'waiting', dueAt: START + MINUTE, reason: 'no route' }, 'refused');
    for (const status of ['UNKNOWN', 'REJECTED']) await bench.receive({ attemptId, status });
    assert.equal((await bench.show(claim.id)).status, 'QUEUED');
    bench.clock.now += MINUTE;
    assert.equal((await bench.claim())[0]?.parts.length, 1);
    await bench.receive({ attemptId, status: 'DELIVERED' });
    assert.equal((await bench.show(claim.id)).status, 'DELIVERED');
  });

  test('without a receipt SUBMITTED becomes UNKNOWN after 72 hours, and a late receipt still counts', async (t) => {
    const bench = await opened(engine, t);
    const silent = await bench.submitted();
    const answered = await bench.submitted();
    await bench.receive({ attemptId: answered.parts[0]?.attemptId as string, status: 'ENROUTE' });
    bench.clock.now += 72 * HOUR;
    assert.equal((await bench.maintenance.run())?.silent, 0);
    assert.equal(await bench.maintenance.run(), undefined, 'another process has just done it');
    bench.clock.now += MAINTENANCE_EVERY_MS;
    assert.equal((await bench.maintenance.run())?.silent, 1);
    assert.equal((await bench.show(silent.id)).status, 'UNKNOWN');
    assert.deepEqual((await bench.show(silent.id)).history.at(-1)?.detail, 'no receipt');
    assert.equal((await bench.show(answered.id)).status, 'ENROUTE');
    bench.clock.now += MAINTENANCE_EVERY_MS;
    assert.equal((await bench.maintenance.run())?.silent, 0);
    await bench.receive({ attemptId: silent.parts[0]?.attemptId as string, at: START });
    assert.equal((await bench.show(silent.id)).status, 'DELIVERED');
  });

  test('a receipt for a deleted message changes nothing visible and is no error', async (t) => {
    const bench = await opened(engine, t);
    const { id, parts } = await bench.submitted();
    assert.equal(await bench.sent.delete(bench.account, id), true);
    await bench.receive({ attemptId: parts[0]?.attemptId as string });
    assert.deepEqual(await bench.sent.newest(bench.account, 10), []);
    assert.equal(await bench.sent.countUnmarked(bench.account), 0n);
    await bench.checkLedger();
  });

  test('a thousand receipts of one turn take few transactions, and each is acknowledged after its own', async (t) => {
    const bench = await opened(engine, t);
    const { counting, transactions } = countTransactions(bench.database);
    const receipts = createReceipts(counting, bench.now);
    const claims = [];
    for (let round = 0; round < 10; round++) claims.push(await bench.submitted());
    const ids = claims.map(({ parts }) => parts[0]?.attemptId as string);
    const all = Array.from({ length: 1_000 }, (_, index) =>
      receipts.receive({
        connector: 'loopback',
        attemptId: ids[index % 10] as string,
        gatewayId: null,
        detail: null,
        status: index < 990 ? 'ENROUTE' : 'DELIVERED',
        at: START + index,
      }),
    );
    await Promise.all(all);
    assert.equal(transactions.length, 2);
    for (const { id } of claims) assert.equal((await bench.show(id)).status, 'DELIVERED');
  });

  test('one receipt for all parts delivers a message of three parts, before its answer and after it', async (t) => {
    const bench = await opened(engine, t);
    const { id, parts } = await bench.submitted(LONG, true);
    await bench.receive({ gatewayId: `gw-${parts[2]?.attemptId}`, isForAllParts: true });
    assert.equal((await bench.show(id)).status, 'DELIVERED');
    const early = await bench.claimed(LONG);
    await bench.receive({ gatewayId: `gw-${early.parts[0]?.attemptId}`, isForAllParts: true });
    await bench.answered(early);
    assert.equal((await bench.show(early.id)).status, 'DELIVERED');
  });
});

function countTransactions(database: Awaited<ReturnType<typeof openSending>>['database']) {
  const transactions: unknown[] = [];
  const counting: typeof database = {
    ...database,
    transaction: (account, work) => {
      transactions.push(account);
      return database.transaction(account, work);
    },
  };
  return { counting, transactions };
}
