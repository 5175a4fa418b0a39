import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { keepTemporaryFilesInMemory } from '../../test/support/memory-folder.ts';
import { type CitusCluster, createCluster, onCitus, show } from './cluster.ts';

/** Suites of `npm test` on a cluster, each test with a distributed database of its own. */
export interface Suites {
  readonly name: string;
  /** Files and folders of `test`. The variable SUITES names others. */
  readonly paths: readonly string[];
  /** The node whose address the tests get. */
  readonly asked?: 'coordinator' | 'worker';
}

/** Every database has a process on each node that looks for deadlocks and transactions to finish, over connections of its own. */
const QUIET = [
  ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'citus.shard_count=2'],
  ...['citus.distributed_deadlock_detection_factor=-1', 'citus.recover_2pc_interval=-1'],
];
// Each test has files on every node, and making and removing them took most of the time.
keepTemporaryFilesInMemory();
/** Of the output of a suite that fails: its errors come first. */
const SHOWN_MAX = 8_000;
/** What the tests of a suite must not inherit: servers of their own are those of every `npm test`. */
const OF_THIS_RUN = ['NODE_TEST_CONTEXT', 'TEST_TEMPLATES', 'TEST_SKIPPED', 'TEST_PROOF', 'TEST_POSTGRES_BIN'];
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The last line of progress, and what was left out. */
const COUNTED = /^\d+:\d\d {2}\d+ tests|^not run:/;

export function passOnCluster({ name, paths, asked = 'coordinator' }: Suites): void {
  onCitus(name, () => {
    let cluster: CitusCluster;
    before(async () => {
      cluster = await createCluster(2, QUIET);
    });
    after(() => cluster?.remove());

    for (const path of process.env.SUITES?.split(/\s+/) ?? paths) {
      test(`${path}: every test passes, asked through the ${asked}`, { timeout: 2_400_000 }, async () => {
        const file = existsSync(join(ROOT, `test/${path}.test.ts`)) ? `test/${path}.test.ts` : `test/${path}`;
        const { code, output } = await run(file, {
          TEST_POSTGRES: cluster.coordinator.url(),
          TEST_ENGINE: 'postgres',
          TEST_CITUS_ASK: asked,
        });
        const lines = output.split('\n');
        show(`${name}, ${path}: ${lines.filter((line) => COUNTED.test(line)).join(', ')}`);
        const failed = lines.filter((line) => /✖/.test(line));
        assert.equal(code, 0, `${failed.join('\n')}\n${output.slice(0, SHOWN_MAX)}`);
      });
    }
  });
}

/** As `npm test` runs it, and not as a proof, which tries more values. */
async function run(file: string, env: Record<string, string>): Promise<{ code: unknown; output: string }> {
  const others = { ...process.env };
  for (const name of OF_THIS_RUN) delete others[name];
  const child = spawn(process.execPath, ['bin/node.cjs', 'test/run.ts', '--cpu', file], {
    cwd: ROOT,
    env: { ...others, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
  const code = await new Promise((resolve) => child.once('exit', resolve));
  return { code, output };
}
