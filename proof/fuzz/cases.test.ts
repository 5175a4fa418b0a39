import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEveryEngine } from '../../test/support/engines.ts';
import { replay } from './campaign.ts';
import { readCases } from './cases.ts';
import { targets } from './targets.ts';

/** What fuzzing has found stays found: every file of proof/fuzz/cases. */
onEveryEngine('former findings of the fuzzer', (engine) => {
  for (const { name, what, target: named, inputs } of readCases()) {
    test(`the fuzz finding ${name} does not come back`, async () => {
      const target = targets[named] ?? assert.fail(`no target ${named}`);
      assert.ok(inputs.length > 0 && what !== '', 'a case says what went wrong, and has an input');
      const finding = await replay(target, engine, inputs);
      assert.equal(finding, null, `${finding?.message}\nIt was: ${what}`);
    });
  }
});
