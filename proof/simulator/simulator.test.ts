import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Fresh seeds each time; a failing one is in the output. */
const FIRST = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
const SEEDS = '25';

test(`${SEEDS} fresh seeds break no promise (SEED=${FIRST})`, () => {
  const run = fileURLToPath(new URL('run.ts', import.meta.url));
  const options = ['--disable-warning=ExperimentalWarning', run, '--seed', String(FIRST), '--seeds', SEEDS];
  const { status, stdout, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
});
