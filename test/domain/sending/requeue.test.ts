import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DispatchRow } from '../../../src/domain/sending/dispatch.sql.ts';
import { NEVER, requeue } from '../../../src/domain/sending/end.ts';
import type { Requeue } from '../../../src/domain/sending/states.ts';

/** The statements that a return to the queue runs. */
async function statementsOf(transition: Requeue, state: DispatchRow['state'], dueAt: number): Promise<string[]> {
  const names: string[] = [];
  const queries = {
    run: async ({ name }: { name: string }) => {
      names.push(name);
      return 1;
    },
  };
  const row = { message_id: 1n, state, is_scheduled: 0n } as unknown as DispatchRow;
  await requeue({ queries, account: 7n, at: 0 } as never, transition, [{ row, dueAt, reason: 'throttled' }]);
  return names;
}

test('a message that waits for an operator gives dispatchers no work, and one that is tried again does', async () => {
  assert.deepEqual(await statementsOf('escalate', 'unknown-outcome', NEVER), ['sending.requeue']);
  assert.deepEqual(await statementsOf('quarantine', 'submitting', NEVER), ['sending.requeue']);
  assert.deepEqual(await statementsOf('retry', 'submitting', 1_000), ['sending.requeue', 'sending.raiseWork']);
});
