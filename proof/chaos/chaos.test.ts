import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEveryEngine } from '../../test/support/engines.ts';
import { SEED } from '../../test/support/random.ts';
import { runChaos } from './chaos-run.ts';

onEveryEngine('chaos', (engine) => {
  for (const unknownOutcomePolicy of ['never-twice', 'submit-again'] as const) {
    test(`no message is lost, sent twice or sent after its cancel while nodes are killed (${unknownOutcomePolicy}, SEED=${SEED})`, async () => {
      const database = await engine.fresh('empty');
      const { faults, messages } = await runChaos({
        database,
        seed: SEED,
        nodes: 2,
        kills: 2,
        actsPerKill: 25,
        unknownOutcomePolicy,
      });
      assert.ok(messages > 20, `${messages} messages`);
      assert.deepEqual(faults, []);
    });
  }
});
