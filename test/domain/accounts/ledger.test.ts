import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { Problem } from '../../../src/base/problem.ts';
import { carryForward, createLedger, move } from '../../../src/domain/accounts/ledger.ts';
import { createScheduled } from '../../../src/domain/messages/scheduled.ts';
import { createOptOuts } from '../../../src/domain/sending/opt-out.ts';
import { readAccount } from '../../../src/transfer/account-json.ts';
import { createArchive } from '../../../src/transfer/archive.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';

const ids = sql<{ username: string }, { account_id: bigint }>(
  'select account_id from account where username = :username',
);
const spoil = sql<{ account: bigint }>('update account set credits = credits + 1 where account_id = :account');

const LARGEST = 2n ** 63n - 1n;
const message = (id: number, recipient = '+27825550201', text = 'later') => ({
  ...{
    id,
    recipient,
    message: text,
    timestamp_scheduled: '2027-01-01T00:00:00Z',
    timestamp_created: '2026-01-01T00:00:00Z',
  },
});

async function openLedger(engine: Engine, t: TestContext) {
  const database = await openStore(await engine.fresh('empty'));
  t.after(() => database.close());
  let time = Date.UTC(2026, 6);
  const now = () => ++time;
  const archive = createArchive(database, Date.now, null);
  const ledger = createLedger(database, now);
  const scheduled = createScheduled(database, now);
  const blacklist = createOptOuts(database, now, async () => 'ZA');
  let count = 0;
  async function add(credits: bigint, used: bigint, scheduled: readonly object[] = []): Promise<bigint> {
    const username = `ledger-${++count}`;
    const given = { username, userID: username, credits: `${credits}`, usedCredits: `${used}` };
    await archive.load(await readAccount({ ...given, datetimeCreated: '2026-01-01T00:00:00Z', scheduled }, 0));
    return (await database.first(ids, { username }))?.account_id as bigint;
  }
  const check = async (when: string) => assert.deepEqual((await ledger.check()).discrepancies, [], when);
  return { database, ledger, scheduled, blacklist, add, check, now };
}

onEveryEngine('ledger', (engine) => {
  test('an imported account opens with a movement for each balance that it brings', async (t) => {
    const { ledger, add, check } = await openLedger(engine, t);
    const account = await add(40n, -7n, [message(1), message(2)]);
    assert.deepEqual(await ledger.balances(account), { free: 40n, held: 2n, used: -7n });
    const movements = await ledger.movements(account, 10);
    assert.deepEqual(
      movements.map(({ kind, from, to, amount, reason }) => `${kind} ${from} ${to} ${amount} ${reason}`).sort(),
      ['grant operator free 40 opening', 'grant operator held 2 opening', 'grant operator used -7 opening'],
    );
    await check('after the import');
  });

  test('a cancelled message releases what it held, with a movement that names it', async (t) => {
    const { ledger, scheduled, blacklist, add, check } = await openLedger(engine, t);
    const account = await add(10n, 0n, [message(7, '+27825550299', 'x'.repeat(200)), message(8), message(9)]);
    assert.equal(await scheduled.delete(account, 7n), true);
    assert.equal(await scheduled.delete(account, 7n), false);
    const [newest] = await ledger.movements(account, 1);
    const { kind, from, to, amount, messageId } = newest ?? assert.fail('no movement');
    assert.deepEqual(
      { kind, from, to, amount, messageId },
      {
        kind: 'release',
        from: 'held',
        to: 'free',
        amount: 2n,
        messageId: 7n,
      },
    );
    await check('one cancelled');
    await blacklist.add(account, '0825550201', null);
    assert.deepEqual(await ledger.balances(account), { free: 14n, held: 0n, used: 0n });
    await check('blacklisted');
  });

  test('a balance at the largest number accepts no more credits, and the ledger still adds up', async (t) => {
    const { ledger, scheduled, add, check } = await openLedger(engine, t);
    const account = await add(LARGEST - 1n, 0n, [message(1), message(2), message(3)]);
    await scheduled.deleteAll(account);
    assert.deepEqual(await ledger.balances(account), { free: LARGEST, held: 0n, used: 0n });
    await check('all cancelled');
    const refusal = await ledger.adjust(account, { amount: 1n, reason: 'gift', reference: null }).catch((e) => e);
    assert.ok(refusal instanceof Problem && refusal.message.startsWith('amount: '), String(refusal));
    await check('a refused grant');
  });

  test('credits are never taken below 0, and a refusal changes nothing', async (t) => {
    const { ledger, add, check } = await openLedger(engine, t);
    const account = await add(5n, 0n);
    const take = (amount: bigint) => ledger.adjust(account, { amount, reason: 'correction', reference: null });
    await assert.rejects(take(-6n), { message: 'amount: the free credits are 5, and would be below 0' });
    await assert.rejects(take(0n), { message: 'amount: 0 moves nothing' });
    assert.equal((await ledger.movements(account, 10)).length, 1);
    assert.deepEqual((await take(-5n)).balances, { free: 0n, held: 0n, used: 0n });
    await check('taken to 0');
  });

  test('check names the account and the side that do not add up', async (t) => {
    const { database, ledger, add } = await openLedger(engine, t);
    const account = await add(5n, 0n);
    await database.run(spoil, { account });
    assert.deepEqual((await ledger.check()).discrepancies, [
      { username: 'ledger-1', side: 'free', stored: 6n, counted: 5n },
    ]);
  });

  test('40 grants and refunds at once lose nothing', async (t) => {
    const { ledger, add, check } = await openLedger(engine, t);
    const account = await add(100n, 0n);
    const changes = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? 3n : -2n));
    await Promise.all(changes.map((amount) => ledger.adjust(account, { amount, reason: 'test', reference: null })));
    assert.deepEqual(await ledger.balances(account), { free: 120n, held: 0n, used: 0n });
    await check('40 at once');
  });

  test('running sums equal the sums of movements after any sequence of changes', async (t) => {
    const { database, ledger, scheduled, add, check, now } = await openLedger(engine, t);
    const step = fc.oneof(
      fc.record({ act: fc.constant('adjust' as const), amount: fc.bigInt(-50n, 50n) }),
      fc.record({ act: fc.constant('capture' as const), amount: fc.bigInt(1n, 3n) }),
      fc.record({ act: fc.constant('cancel' as const), amount: fc.bigInt(1n, 5n) }),
      fc.record({ act: fc.constant('carry' as const), amount: fc.bigInt(2n, 6n) }),
    );
    const run = async (free: bigint, steps: readonly { act: string; amount: bigint }[]) => {
      const account = await add(
        free,
        3n,
        [1, 2, 3, 4, 5].map((id) => message(id)),
      );
      for (const { act, amount } of steps) {
        const refused = (thrown: unknown) => assert.ok(thrown instanceof Problem, String(thrown));
        if (act === 'adjust') {
          await ledger.adjust(account, { amount, reason: 'any', reference: null }).catch(refused);
        } else if (act === 'cancel') await scheduled.delete(account, amount);
        else if (act === 'carry') {
          await database.transaction(account, (queries) => carryForward(queries, account, now(), Number(amount)));
        } else {
          const movements = [
            { kind: 'hold' as const, from: 'free' as const, to: 'held' as const, amount },
            { kind: 'capture' as const, from: 'held' as const, to: 'used' as const, amount },
          ];
          await database
            .transaction(account, (queries) => move({ queries, account, at: now() }, movements))
            .catch(refused);
        }
        await check(act);
      }
      const { free: left, held, used } = await ledger.balances(account);
      assert.ok(left >= 0n && held >= 0n && used >= 3n);
    };
    await fc.assert(fc.asyncProperty(fc.bigInt(0n, 60n), fc.array(step, { maxLength: 12 }), run), { numRuns: 15 });
  });

  test('old movements are replaced by one sum for each side', async (t) => {
    const { database, ledger, add, check, now } = await openLedger(engine, t);
    const account = await add(5n, 1n);
    for (let index = 0; index < 20; index++) await ledger.adjust(account, { amount: 1n, reason: 'x', reference: null });
    const cutoff = 2 ** 52;
    let rounds = 0;
    const carry = () => database.transaction(account, (queries) => carryForward(queries, account, cutoff, 8));
    while ((await carry()) > 0) rounds += 1;
    assert.ok(rounds >= 3 && now() > 0);
    const left = await ledger.movements(account, 100);
    assert.deepEqual(left.map(({ to, amount, reason }) => `${to} ${amount} ${reason}`).sort(), [
      'free 25 carried forward',
      'used 1 carried forward',
    ]);
    await check('carried forward');
  });
});
