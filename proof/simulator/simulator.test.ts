import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planOf } from './plan.ts';
import { freshSeed, run, simulated } from './runner.ts';

/**
 * Half of the worlds are the same every time, so that a change is judged by what it changes. The others follow from the
 * commit, or from the day where there is none: they are new with every change, and the same when it is tried again. SEED
 * tries others, as `npm run simulate` does.
 */
const WORLDS = '6';

const hashOf = (output: string, seed: number): string | undefined =>
  new RegExp(`^seed ${seed}: (\\w+)`, 'm').exec(output)?.[1];

test('worlds that once broke a promise break none', () => {
  simulated('--kept');
});

for (const [which, first] of [
  ['the same', '1'],
  ['fresh', freshSeed()],
] as const) {
  test(`${WORLDS} simulated worlds with ${which} seeds break no promise (from ${first})`, () => {
    process.stdout.write(`npm run simulate -- --seed ${first} --seeds ${WORLDS} --hours 4\n`);
    simulated('--seed', first, '--seeds', WORLDS, '--hours', '4');
  });
}

test('the same seed gives the same history, whatever ran before it in the process', () => {
  const alone = hashOf(run('--seed', '33', '--hours', '4').output, 33);
  assert.ok(alone);
  assert.equal(hashOf(run('--seed', '32', '--seeds', '2', '--hours', '4').output, 33), alone);
});

test('a failing seed is shrunk to a part of its plan in which the same rule fails', () => {
  const { status, output } = run(
    ...['--seed', '1', '--hours', '4', '--shrink', '--tries', '12', '--mutation', 'capture twice'],
  );
  assert.equal(status, 1, output);
  const [rule, shrunk] = [...output.matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name);
  const [, entries = '0'] = /(\d+) entries of the plan are enough/.exec(output) ?? [];
  assert.ok(rule !== undefined && shrunk !== undefined, output);
  assert.ok(output.slice(output.indexOf('are enough')).includes(`${rule}: `), output);
  const whole = planOf({ seed: 1, hours: 4 }).length;
  assert.ok(Number(entries) > 0 && Number(entries) < whole / 2, `${entries} of ${whole}`);
});
