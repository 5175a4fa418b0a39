import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPersons } from '../../../src/domain/privacy/persons.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { message, openSending, START, UNKNOWN_OUTCOME } from '../../support/sending.ts';

const NUMBER = '+27825550201';
const queued = sql<Record<string, never>, { state: string; recipient: string | null }>(
  'select state, recipient from dispatch order by state',
);

onEveryEngine('a person whose messages the account has deleted', (engine) => {
  test('the number of an erased person is not in the queue either, where the account has deleted its messages before', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    await sending.accept(account, message({ to: [NUMBER] }));
    const unanswered = { kind: 'unknown-outcome', dueAt: START + UNKNOWN_OUTCOME, reason: 'no answer' } as const;
    await sending.settle(await sending.claim(), unanswered, 'unknown-outcome');
    await sending.accept(account, message({ to: [NUMBER, '+27825550202'] }));
    for (const { id } of await sending.sent.newest(account, 10)) await sending.sent.delete(account, id);
    const persons = createPersons(sending.database, sending.now, 'ZA');
    const foreseen = await persons.count(NUMBER, null);
    assert.deepEqual(await persons.erase(NUMBER, null), foreseen);
    assert.deepEqual([foreseen.accounts, foreseen.creditsReturned], [1, 1n]);
    assert.deepEqual(await sending.database.all(queued, {}), [
      { state: 'unknown-outcome', recipient: null },
      { state: 'waiting', recipient: '+27825550202' },
    ]);
    assert.deepEqual(await sending.ledger.balances(account), { free: 998n, held: 2n, used: 0n });
    assert.deepEqual(await persons.erase(NUMBER, null), { ...foreseen, accounts: 0, creditsReturned: 0n });
    await sending.checkLedger();
  });
});
