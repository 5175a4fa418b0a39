import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Faulty files of tests, run as `npm test` runs its own. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'columba-runner-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** `--cpu` has the files run in one process, as many files are. */
function runTests(name: string, text: string, ...options: string[]): { status: number | null; output: string } {
  const files = [join(folder, `${name}.test.mjs`), join(folder, 'right.test.mjs')];
  writeFileSync(files[0] as string, `import { test } from 'node:test';\n${text}\n`);
  writeFileSync(files[1] as string, `import { test } from 'node:test';\ntest('right', () => {});\n`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env; // it would be a part of this run
  const args = ['--disable-warning=ExperimentalWarning', 'test/run.ts', ...options, ...files];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

describe('the runner of the tests', () => {
  for (const option of ['--cpu', '--proof']) {
    test(`tests that end by themselves pass (${option})`, () => {
      const { status, output } = runTests('passing', `test('passes', () => {});`, option);
      assert.equal(status, 0, output);
    });

    test(`a run in which a test ends its process with 0 fails (${option})`, () => {
      const { status, output } = runTests('exiting', `test('exits', () => process.exit(0));`, option);
      assert.equal(status, 1, output);
      assert.match(output, /ended its process with exit code 0, so not all of its tests have run/);
    });

    test(`a run in which a file ends its process before it has tests fails (${option})`, () => {
      const { status, output } = runTests('early', 'process.exit(0);', option);
      assert.equal(status, 1, output);
      assert.match(output, /ended its process with exit code 0, so not all of its tests have run/);
    });
  }
});
