import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keepTemporaryFilesInMemory } from '../../test/support/memory-folder.ts';
import { createCluster } from './cluster.ts';

/** The node whose address the tests get. */
export type AskedNode = 'coordinator' | 'worker';

/** Files and folders of `test` that use a database. */
export const SUITES =
  'asmx interop http domain carriers store scaling transfer migration operator console web commands serve monitoring'.split(
    ' ',
  );

/** Every database has a process on each node that looks for deadlocks and transactions to finish, over connections of its own. */
const QUIET = [
  ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'citus.shard_count=2'],
  ...['citus.distributed_deadlock_detection_factor=-1', 'citus.recover_2pc_interval=-1'],
];
/** Of the output of a suite that fails: its errors come first. */
const SHOWN_MAX = 8_000;
/** What the tests of a suite must not inherit: servers of their own are those of every `npm test`. */
const OF_THIS_RUN = ['NODE_TEST_CONTEXT', 'TEST_TEMPLATES', 'TEST_SKIPPED', 'TEST_PROOF', 'TEST_POSTGRES_BIN'];
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRESS = /^\d+:\d\d {2}\d+ tests/;
const LEFT_OUT = /^not run:/;

/** Runs a suite of `npm test` on a cluster of its own, each test with a distributed database of its own. */
export async function runSuite(path: string, asked: AskedNode): Promise<{ code: number; remark: string }> {
  keepTemporaryFilesInMemory(); // each test has files on every node, and making and removing them took most of the time
  const cluster = await createCluster(2, QUIET);
  try {
    const { code, output } = await run(path, {
      TEST_POSTGRES: cluster.coordinator.url(),
      TEST_ENGINE: 'postgres',
      TEST_CITUS_ASK: asked,
    });
    const lines = output.split('\n');
    if (code !== 0) {
      const failed = lines.filter((line) => /✖/.test(line));
      process.stdout.write(`${failed.join('\n')}\n${output.slice(0, SHOWN_MAX)}\n`);
    }
    return {
      code,
      remark: [lines.findLast((line) => PROGRESS.test(line)), ...lines.filter((line) => LEFT_OUT.test(line))].join(
        ', ',
      ),
    };
  } finally {
    await cluster.remove();
  }
}

/** As `npm test` runs it, and not as a proof, which tries more values. */
async function run(path: string, env: Record<string, string>): Promise<{ code: number; output: string }> {
  const file = existsSync(join(ROOT, `test/${path}.test.ts`)) ? `test/${path}.test.ts` : `test/${path}`;
  const others = { ...process.env };
  for (const name of OF_THIS_RUN) delete others[name];
  const child = spawn(process.execPath, ['bin/node.cjs', 'test/run.ts', '--cpu', file], {
    cwd: ROOT,
    env: { ...others, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
  const code = await new Promise<number>((resolve) => child.once('exit', (status) => resolve(status ?? 1)));
  return { code, output };
}
