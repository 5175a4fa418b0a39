import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { plantedFaults } from './faults.ts';

/** The same worlds every time, so that a change is judged by what it changes. SEED tries others, as `npm run simulate` does. */
const FIRST = process.env.SEED ?? '1';
const SEEDS = '12';

function simulated(...options: string[]): void {
  const run = fileURLToPath(new URL('run.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', run, '--until-fault', ...options],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, `${stdout}${stderr}`);
}

test('worlds that once broke a promise break none', () => simulated('--kept'));

test(`${SEEDS} simulated worlds break no promise (SEED=${FIRST})`, () =>
  simulated('--seed', FIRST, '--seeds', SEEDS, '--hours', '4'));

test('every planted fault has its line in the program exactly once', () => {
  const count = ({ file, before }: (typeof plantedFaults)[number]) =>
    readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(before).length - 1;
  assert.deepEqual(
    plantedFaults.filter((fault) => count(fault) !== 1).map(({ name }) => name),
    [],
  );
});
