import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { faults } from './faults.ts';

/**
 * `npm run proof mutations`: puts each fault into a copy of the project, one after the other, and runs the tests that have to
 * notice. Ends with 1 where none does. `npm run proof mutations -- PART…` takes the faults whose file has one of the parts in
 * its name, or whose number it is.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Everything but what is made: tests read documents, examples and packages too. */
const NOT_COPIED = ['.git', 'node_modules', 'build', 'dist'];
const print = (line: string) => void process.stdout.write(`${line}\n`);

const parts = process.argv.slice(2);
const isChosen = (file: string, number: number) =>
  parts.length === 0 || parts.some((part) => part === String(number) || (!/^\d+$/.test(part) && file.includes(part)));

const copy = mkdtempSync(join(tmpdir(), 'columba-mutations-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const name of readdirSync(ROOT).filter((each) => !NOT_COPIED.includes(each)))
  cpSync(join(ROOT, name), join(copy, name), { recursive: true });
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));

/**
 * Not by test/run.ts, which makes databases for all tests first: a file makes what it needs. The faults are above the
 * database, so SQLite is enough, unless TEST_POSTGRES names a server.
 */
const OUTPUT_BYTES_MAX = 64 << 20;
const OPTIONS = [
  ...['--disable-warning=ExperimentalWarning', '--test', '--test-timeout=300000'],
  ...['no-promise-hooks', 'deadline', 'all-tests-ended', 'cheap-passwords'].flatMap((name) => [
    '--import',
    pathToFileURL(join(copy, 'test/support', `${name}.ts`)).href,
  ]),
];
const environment = { TEST_DEADLINE_MS: '600000', NODE_COMPILE_CACHE: join(copy, 'compile-cache'), ...process.env };

const chosen = faults
  .map((fault, index) => ({ ...fault, number: index + 1 }))
  .filter(({ file, number }) => isChosen(file, number));
// A test that fails in the copy anyway would catch everything.
const right = runTests([...new Set(chosen.flatMap(({ tests }) => tests))], 'pipe');
if (right.status !== 0) throw new Error(`the tests fail without a fault:\n${right.stdout}`);

const missed: string[] = [];
let tried = 0;
for (const { number, file, before, after, tests } of chosen) {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text.replace(before, () => after),
  );
  // One file after the other: most faults are noticed by the first.
  const by = tests.find((test) => runTests([test]).status !== 0);
  writeFileSync(path, text);
  tried += 1;
  print(
    `${number} ${by ? `caught by ${by}` : 'NOT CAUGHT'}: ${file}: ${before.trim()} → ${after.trim() || '(nothing)'}`,
  );
  if (!by) missed.push(`${number} ${file}`);
}
print(
  `${tried - missed.length} of ${tried} faults are caught${missed.length > 0 ? `, not: ${missed.join(', ')}` : ''}`,
);
process.exitCode = missed.length > 0 ? 1 : 0;

function runTests(files: readonly string[], output: 'ignore' | 'pipe' = 'ignore') {
  const stdio = ['ignore', output, 'ignore'] as const;
  return spawnSync(process.execPath, [...OPTIONS, ...files], {
    cwd: copy,
    stdio: [...stdio],
    env: environment,
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
  });
}
