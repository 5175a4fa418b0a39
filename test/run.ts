import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeBatches } from './support/batches.ts';
import { uncovered } from './support/coverage.ts';
import { cpuOfChildren } from './support/cpu.ts';
import { clusterOf, createDatabase, dropDatabase } from './support/databases.ts';
import { keepTemporaryFilesInMemory } from './support/memory-folder.ts';
import { createPostgresServer, type PostgresServer } from './support/postgres-server.ts';
import { createTemplates } from './support/templates.ts';

/**
 * Runs the tests (all, or the files and folders that are named), then asks whether every operation was called in every form.
 * With --cpu it prints the seconds of CPU of every file, without those of PostgreSQL. With --proof every file has a process
 * of its own, the files with the most CPU are printed, and a test that is skipped ends the run with 3: what did not run
 * proves nothing.
 */
const { values: given, positionals: named } = parseArgs({
  options: { cpu: { type: 'boolean', default: false }, proof: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const files = (named.length > 0 ? named : ['test']).flatMap((path) =>
  statSync(path).isDirectory() ? globSync(`${path}/**/*.test.ts`).sort() : path,
);
if (!given.proof) keepTemporaryFilesInMemory(); // some proofs are about disks
const SKIPPED_EXIT_CODE = 3;
/** Of a proof. */
const DEAREST_SHOWN = 20;
/** Up to so many files, each has a process of its own. */
const FEW = 20;
/** For one test, and for a process with all its files. Both are many times what they take. */
const limits = given.proof ? { testMs: 900_000, processMs: 2_400_000 } : { testMs: 300_000, processMs: 2_400_000 };
const folder = mkdtempSync(join(tmpdir(), 'columba-coverage-'));
const templateFolder = mkdtempSync(join(tmpdir(), 'columba-templates-'));
const templateDatabases: string[] = [];
/** Loaded into every process of tests. */
const preloaded = ['no-promise-hooks', 'deadline', 'all-tests-ended', ...(given.proof ? [] : ['cheap-passwords'])].map(
  (name) => new URL(`support/${name}.ts`, import.meta.url).href,
);
for (const each of preloaded) await import(each); // the accounts of the templates have passwords too
const postgres = process.env.TEST_POSTGRES ? undefined : await startPostgres();

// Somebody who names a few files wants to read the names of their tests.
const areMany = given.cpu || given.proof || files.length > FEW;
const cpuFile = join(templateFolder, 'cpu');
const batchesCpuFile = given.cpu ? cpuFile : undefined;
const skippedFile = join(templateFolder, 'skipped');
const reporter = areMany ? 'progress' : 'slowest-files';
const reporters = [...(areMany ? [] : ['spec']), new URL(`support/${reporter}.ts`, import.meta.url).href];
const options = [
  // Three files on two processors: some wait for the disk, for time or for another process.
  // A test that waits for ever must not take the whole run with it.
  ...['--disable-warning=ExperimentalWarning', '--test', '--test-concurrency=3', `--test-timeout=${limits.testMs}`],
  ...preloaded.flatMap((each) => ['--import', each]),
  ...reporters.flatMap((each) => [`--test-reporter=${each}`, '--test-reporter-destination=stdout']),
];
const server = process.env.TEST_POSTGRES ?? postgres?.url();
const isCluster = server !== undefined && (await clusterOf(server)) !== undefined;
/** A process drops its databases when it ends, and each database of a cluster has processes of its own on every node. */
const areBatched = areMany && !given.proof && !isCluster;
const environment = {
  ...process.env,
  TEST_COVERAGE: folder,
  ...(server && { TEST_POSTGRES: server, TEST_CITUS: isCluster ? '1' : '' }),
  TEST_TEMPLATES: JSON.stringify(await makeTemplates()),
  TEST_CPU: given.proof ? cpuFile : '',
  ...(given.proof && { TEST_PROOF: '1', FUZZ_RUNS: process.env.FUZZ_RUNS ?? '30000' }),
  TEST_SKIPPED: skippedFile,
  TEST_DEADLINE_MS: String(limits.processMs),
  NODE_COMPILE_CACHE: getCompileCacheDir(), // 0.6 s less a file
};
const child = spawn(
  process.execPath,
  [...options, ...(areBatched ? writeBatches(templateFolder, files, batchesCpuFile) : files)],
  {
    stdio: 'inherit',
    env: environment,
  },
);
// Stopped from outside, nothing stays behind: PostgreSQL ends with this process, in its exit handler.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    child.kill(signal);
    process.exit(1);
  });
}
let failed = (await new Promise((resolve) => child.once('exit', resolve))) !== 0;

if (!postgres && server) await removeTemplates(server); // somebody else's server goes on
await postgres?.remove();
if (named.length === 0) {
  const missing = uncovered(folder);
  process.stdout.write(
    `operations × forms that no test called: ${missing.length === 0 ? 'none' : missing.join(', ')}\n`,
  );
  failed ||= missing.length > 0;
}
if (existsSync(cpuFile)) {
  const dearest = readFileSync(cpuFile, 'utf8').trimEnd().split('\n').sort().reverse();
  const shown = given.proof ? dearest.slice(0, DEAREST_SHOWN) : dearest;
  process.stdout.write(`the files with the most CPU:\n${shown.join('\n')}\n`);
}
const seconds = cpuOfChildren();
if (seconds !== null) process.stdout.write(`CPU of all processes: ${seconds.toFixed(0)} s\n`);
const areSkipped = given.proof && existsSync(skippedFile);
if (areSkipped) process.stdout.write(`NOT PROVED HERE:\n${readFileSync(skippedFile, 'utf8')}`);
for (const each of [folder, templateFolder]) rmSync(each, { recursive: true, force: true });
process.exit(failed ? 1 : areSkipped ? SKIPPED_EXIT_CODE : 0);

async function removeTemplates(address: string): Promise<void> {
  for (const name of templateDatabases) await dropDatabase(address, name);
}

/** By engine and data. */
async function makeTemplates(): Promise<Record<string, Record<string, string>>> {
  let count = 0;
  const sqlite = createTemplates(async () => `sqlite:${join(templateFolder, `${++count}.db`)}`);
  const onServer = (address: string) =>
    createTemplates(async () => {
      const name = `template_${process.pid}_${++count}`;
      templateDatabases.push(name);
      return createDatabase(address, name);
    });
  const made = { sqlite, ...(server && { postgres: onServer(server) }) };
  const templates: Record<string, Record<string, string>> = {};
  for (const [engine, { empty, sample }] of Object.entries(made)) {
    templates[engine] = { empty: await empty, sample: await sample };
  }
  return templates;
}

/** Where the npm package has none for this machine, the suites say that they are skipped. */
async function startPostgres(): Promise<PostgresServer | undefined> {
  try {
    const server = await createPostgresServer();
    await server.start();
    return server;
  } catch (thrown) {
    process.stdout.write(`no PostgreSQL could be started: ${thrown}\n`);
    return undefined;
  }
}
