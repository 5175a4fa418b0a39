import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPostgresServer } from '../../test/support/postgres-server.ts';
import { faults } from './faults.ts';

/**
 * `npm run proof mutations`: puts each fault into a copy of the project, one after the other, and runs the tests that have to
 * notice. Ends with 1 where none does. `npm run proof mutations -- PART…` takes the faults whose file has one of the parts in
 * its name, or whose number it is.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'bin',
  'columba',
  'docs',
  'examples',
  'package.json',
  'package-lock.json',
  'proof',
  'src',
  'test',
  'tools',
];
const print = (line: string) => void process.stdout.write(`${line}\n`);

const parts = process.argv.slice(2);
const isChosen = (file: string, number: number) =>
  parts.length === 0 || parts.some((part) => part === String(number) || (!/^\d+$/.test(part) && file.includes(part)));

const copy = mkdtempSync(join(tmpdir(), 'columba-mutations-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));

// One for all of them: starting it takes longer than most tests.
const server = process.env.TEST_POSTGRES ? undefined : await createPostgresServer();
await server?.start();
const environment = { ...process.env, ...(server && { TEST_POSTGRES: server.url() }) };

const missed: string[] = [];
let tried = 0;
for (const [index, { file, before, after, tests }] of faults.entries()) {
  const number = index + 1;
  if (!isChosen(file, number)) continue;
  const path = join(copy, file);
  const right = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    right.replace(before, () => after),
  );
  // One file after the other: most faults are noticed by the first.
  const by = tests.find((test) => runTest(test) !== 0);
  writeFileSync(path, right);
  tried += 1;
  print(
    `${number} ${by ? `caught by ${by}` : 'NOT CAUGHT'}: ${file}: ${before.trim()} → ${after.trim() || '(nothing)'}`,
  );
  if (!by) missed.push(`${number} ${file}`);
}
print(
  `${tried - missed.length} of ${tried} faults are caught${missed.length > 0 ? `, not: ${missed.join(', ')}` : ''}`,
);
await server?.remove();
process.exitCode = missed.length > 0 ? 1 : 0;

function runTest(test: string): number {
  const options = ['--disable-warning=ExperimentalWarning', 'test/run.ts', test];
  return spawnSync(process.execPath, options, { cwd: copy, stdio: 'ignore', env: environment }).status ?? 1;
}
