import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { plantedFaults } from './faults.ts';

/** Fresh seeds each time; a failing one is in the output. */
const FIRST = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
const MINUTES = '2';

test(`${MINUTES} minutes of fresh seeds break no promise (SEED=${FIRST})`, () => {
  const run = fileURLToPath(new URL('run.ts', import.meta.url));
  const options = [run, '--seed', String(FIRST), '--hours', '24', '--minutes', MINUTES, '--until-fault'];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', ...options],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, `${stdout}${stderr}`);
});

test('every planted fault has its line in the program exactly once', () => {
  const count = ({ file, before }: (typeof plantedFaults)[number]) =>
    readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(before).length - 1;
  assert.deepEqual(
    plantedFaults.filter((fault) => count(fault) !== 1).map(({ name }) => name),
    [],
  );
});
