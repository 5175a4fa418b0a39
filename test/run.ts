import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs the tests (all, or the files that are named), then asks whether every operation was called in every form. */
const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync('test/**/*.test.ts').sort();
const folder = mkdtempSync(join(tmpdir(), 'columba-coverage-'));
process.env.COLUMBA_TEST_COVERAGE = folder;

const options = ['--disable-warning=ExperimentalWarning', '--test', '--test-reporter=spec', '--test-concurrency=2'];
const { status } = spawnSync(process.execPath, [...options, ...files], { stdio: 'inherit' });
let failed = status !== 0;

if (named.length === 0) {
  const { uncovered } = await import('./support/coverage.ts');
  const missing = uncovered(folder);
  process.stdout.write(
    `operations × forms that no test called: ${missing.length === 0 ? 'none' : missing.join(', ')}\n`,
  );
  failed ||= missing.length > 0;
}
rmSync(folder, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
