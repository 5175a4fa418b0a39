import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { createSettler } from '../../src/carriers/settler.ts';
import { removeAccount, setDisabledAt } from '../../src/domain/accounts/accounts.sql.ts';
import { onEveryEngine } from '../support/engines.ts';
import { openGateway, scripted, until } from '../support/gateway.ts';
import { sql } from '../support/opened-database.ts';
import { openSending } from '../support/sending.ts';

const emptyHeld = sql<{ account: bigint }>('update ledger set held = 0 where account_id = :account');
const dispatched = sql<{ account: bigint }, { state: string; reason: string | null }>(
  'select state, reason from dispatch where account_id = :account',
);
const attempts = sql<{ account: bigint }, { state: string; gateway_id: string | null }>(
  'select state, gateway_id from attempt where account_id = :account',
);
const taken = (messages: readonly { account: bigint; parts: readonly { number: number }[] }[]) =>
  messages.map((message) => ({
    message: message as never,
    parts: message.parts.map(({ number }) => ({ part: number, state: 'accepted' as const, gatewayId: 'g1' })),
    outcome: { kind: 'submitted' as const },
  }));

onEveryEngine('settler', (engine) => {
  test('an account whose credits do not add up does not keep back the settlements of others', async (t) => {
    const sending = await openSending(engine, t);
    const broken = await sending.addAccount();
    const sound = await sending.addAccount();
    await sending.accept(broken);
    const id = (await sending.accept(sound)).accepted[0]?.id as bigint;
    const claimed = await sending.claim();
    assert.equal(claimed.length, 2);
    await sending.database.run(emptyHeld, { account: broken });
    const failures: unknown[] = [];
    const settler = createSettler(
      sending.settling,
      async () => {},
      (thrown) => failures.push(thrown),
    );
    await Promise.all(taken(claimed).map(settler.add));
    await settler.empty();
    assert.equal((await sending.sent.show(sound, id)).status, 'SUBMITTED');
    assert.ok(failures.length > 0, 'the operator is told');
    const [left] = await sending.database.all(dispatched, { account: broken });
    assert.deepEqual(left, { state: 'needs-decision', reason: 'the answer of the carrier could not be settled' });
    assert.deepEqual(await sending.database.all(attempts, { account: broken }), [
      { state: 'accepted', gateway_id: 'g1' },
    ]);
    assert.deepEqual(await sending.claim(), [], 'nothing is submitted again');
  });

  test('results are kept until the database answers', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const id = (await sending.accept(account)).accepted[0]?.id as bigint;
    let outages = 10;
    const settle: typeof sending.settling.settle = async (settlements) => {
      if (outages-- > 0) throw new Problem('unavailable', 'no answer');
      await sending.settling.settle(settlements);
    };
    const settler = createSettler(
      { ...sending.settling, settle },
      async () => {},
      () => {},
    );
    await Promise.all(taken(await sending.claim()).map(settler.add));
    assert.equal((await sending.sent.show(account, id)).status, 'SUBMITTED');
  });

  test('an account that is deleted while its messages are being submitted leaves nothing behind, and other accounts are settled', async (t) => {
    const answers: (() => void)[] = [];
    const { submitted, create } = scripted(
      () => new Promise((resolve) => answers.push(() => resolve({ kind: 'accepted', gatewayId: 'late' }))),
    );
    const { database, addAccount, send, statusOf, ledger, failures, stop } = await openGateway(engine, t, { create });
    const deleted = await addAccount();
    const other = await addAccount();
    await send(deleted, ['+27825550201', '+27825550202']);
    const [id] = await send(other, ['+27825550203']);
    await until('all are submitted', () => submitted.length === 3);
    await database.run(setDisabledAt, { account: deleted, disabledAt: 1 });
    await database.run(removeAccount, { account: deleted });
    for (const answer of answers) answer();
    await until('the other is settled', async () => (await statusOf(other, id as bigint)) === 'SUBMITTED');
    await stop();
    assert.deepEqual(failures, []);
    assert.deepEqual(await database.all(dispatched, { account: deleted }), []);
    assert.deepEqual(await database.all(attempts, { account: deleted }), []);
    assert.deepEqual((await ledger.check()).discrepancies, []);
  });
});
