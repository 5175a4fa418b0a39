import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Runs the simulator as the tests of the slice do: in a process of its own, whose modules it replaces. */
const HEX_DIGITS = 7; // a number of at most nine digits

/**
 * Follows from the commit, or from the day where there is none: new with every change, and the same when it
 * is tried again.
 */
export function freshSeed(): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' });
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  return process.env.SEED ?? (status === 0 ? String(Number.parseInt(stdout.slice(0, HEX_DIGITS), 16)) : day);
}

export function run(...options: string[]): { status: number | null; output: string } {
  const file = fileURLToPath(new URL('run.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', file, ...options],
    { encoding: 'utf8' },
  );
  return { status, output: `${stdout}${stderr}` };
}

/** No promise is broken. Returns what was printed. */
export function simulated(...options: string[]): string {
  const { status, output } = run('--until-fault', ...options);
  assert.equal(status, 0, output);
  return output;
}
