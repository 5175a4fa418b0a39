import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEveryEngine } from '../../test/support/engines.ts';
import { SEED } from '../../test/support/random.ts';
import { runKills } from './kill-run.ts';

onEveryEngine('the service with SMPP, killed at random moments', (engine) => {
  test(`nothing is lost or submitted twice, and what an SMSC was told is on disk (SEED=${SEED})`, async () => {
    const database = await engine.fresh('none');
    const result = await runKills({ database, seed: SEED, kills: 3, ways: 1, unknownOutcomePolicy: 'never-twice' });
    assert.deepEqual(result.faults, []);
    assert.ok(result.messages > 0);
  });

  test(`with a second way, nothing goes both ways while the first one fails in every way (SEED=${SEED})`, async () => {
    const database = await engine.fresh('none');
    const result = await runKills({ database, seed: SEED, kills: 3, ways: 2, unknownOutcomePolicy: 'never-twice' });
    assert.deepEqual(result.faults, []);
    assert.ok((result.submissions.get('two') ?? 0) > 0, 'the second way was taken');
  });
});
