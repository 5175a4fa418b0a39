import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';

const OWN = { account_id: 1 };
const ACCOUNT = { ...OWN, username: 'acme', credits: 0, used_credits: 0, priority: 0, tag: 0, created_at: 0 };
const dispatch = (id: number, state: string) => {
  const counts = { is_scheduled: 0, held: 1, parts: 1, attempts: 1, fence: 1 };
  return { ...OWN, message_id: id, state, due_at: 0, expires_at: 9, ...counts };
};
const attempt = (id: number, state: string) => {
  const part = { attempt: 1, part: 1, attempt_id: `id ${id}`, connector: 'loopback' };
  return { ...OWN, message_id: id, ...part, state, submitted_at: 0 };
};

onEveryEngine('the migration to unknown outcomes', (engine) => {
  test('a database of the previous version can be opened, and has its states and policies under their new names', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    await outside.migrate(migrations.slice(0, 26));
    await outside.insert('account', [{ ...ACCOUNT, unsure_policy: 'submit-again' }]);
    const states = ['waiting', 'submitting', 'unsure', 'undecided'];
    await outside.insert(
      'dispatch',
      states.map((state, index) => dispatch(index, state)),
    );
    const attempts = ['submitting', 'accepted', 'refused', 'unsure'];
    await outside.insert(
      'attempt',
      attempts.map((state, index) => attempt(index, state)),
    );
    const connector = { kind: 'loopback', config: '{}', origin: 'api', is_default: 1, submissions_max: 1 };
    await outside.insert('carrier_connector', [{ name: 'loopback', ...connector, unsure: 7, updated_at: 0 }]);
    const taken = ['asked', 'deleted', 'armed', 'gone', 'refused'];
    await outside.insert(
      'taken_message',
      taken.map((state, index) => ({ ...OWN, message_id: index, state, at: 0 })),
    );

    await (await openStore(setting)).close();

    const column = async (sql: string) => (await outside.query(sql)).flatMap((row) => Object.values(row));
    const byId = (table: string) => column(`select state from ${table} order by message_id`);
    assert.deepEqual(await byId('dispatch'), ['waiting', 'submitting', 'unknown-outcome', 'needs-decision']);
    assert.deepEqual(await byId('attempt'), ['submitting', 'accepted', 'refused', 'unknown-outcome']);
    assert.deepEqual(await byId('taken_message'), ['asked', 'deleted', 'activated', 'gone', 'refused']);
    assert.deepEqual(await column('select unknown_outcome_policy from account'), ['submit-again']);
    assert.deepEqual(await column('select unknown_outcome from carrier_connector'), [7n]);
  });
});
