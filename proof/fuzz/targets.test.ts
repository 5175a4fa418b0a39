import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engines, onEveryEngine } from '../../test/support/engines.ts';
import { campaign } from './campaign.ts';
import { targets } from './targets.ts';

/** CI repeats one seed, everybody else explores; SEED repeats a run. `npm run proof fuzz` goes on without end. */
const seed = Number(process.env.SEED ?? (process.env.CI ? 1 : Date.now() % 1_000_000));

/** How many inputs, and which answers must be among them: a fuzzer that always gets the same one tests nothing. */
const PLANS: Readonly<Record<string, { inputs: number; answers: readonly string[] }>> = {
  envelopes: {
    inputs: 3_000,
    answers: ['denied', 'bad-argument', 'unknown-operation', 'must-understand', 'version', '400', '413', '415'],
  },
  forms: { inputs: 4_000, answers: ['400', '403', '404', '405', '413', '415'] },
  http: { inputs: 2_000, answers: ['open: 200', 'closed: 200', 'unfinished: 400', 'refused: 400', 'broken: 400'] },
};
/** Where what an input does to the data is looked up in the whole export, that takes its time. */
const INPUTS_ELSEWHERE: Readonly<Record<string, number>> = { envelopes: 50, forms: 50, http: 150 };

onEveryEngine('any input', (engine) => {
  for (const [name, { inputs, answers: expected }] of Object.entries(PLANS)) {
    const to = engine === engines[0] ? inputs : (INPUTS_ELSEWHERE[name] ?? 0);
    test(`${to} ${name} break no rule (seed ${seed})`, async (t) => {
      const target = targets[name] ?? assert.fail(name);
      const { found, answers, slowest } = await campaign(target, { engine, seed, from: 0, to });
      t.diagnostic(`the slowest, number ${slowest.number}, took ${slowest.ms.toFixed(0)} ms`);
      if (found) {
        const again = `npm run proof fuzz -- --target ${name} --seed ${seed} --save proof/fuzz/cases`;
        const input = found.inputs.map((each) => JSON.stringify(each)).join('\n');
        assert.fail(`${found.rule}: ${found.what}\n${input}\nAs a case: ${again}`);
      }
      if (to < inputs) return;
      const missing = expected.filter((kind) => !answers.has(kind));
      assert.deepEqual(missing, [], 'answers that no input got');
      if (name === 'http') return;
      const called = [...answers.keys()].filter((kind) => /^200 \w+$/.test(kind));
      assert.ok(called.length >= 30, `only ${called.join(', ')} succeeded`);
    });
  }
});

test('every target is in the plans', () => {
  assert.deepEqual(Object.keys(PLANS), Object.keys(targets));
});
