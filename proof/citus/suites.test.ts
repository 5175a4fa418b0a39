import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CitusCluster, createCluster, onCitus } from './cluster.ts';

/** Suites of the rooms above the store, each test with a distributed database of its own. SUITES names others. */
const SUITES = (
  process.env.SUITES ??
  `asmx operator console web carriers transfer domain/access domain/accounts domain/outbound domain/privacy domain/receiving
   domain/search domain/sending domain/webhooks store/schema`
).split(/\s+/);
/** Every database has a process on each node that looks for deadlocks and transactions to finish, over connections of its own. */
const QUIET = [
  ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'citus.shard_count=2'],
  ...['citus.distributed_deadlock_detection_factor=-1', 'citus.recover_2pc_interval=-1'],
];
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

onCitus('the suites on a cluster', () => {
  let cluster: CitusCluster;
  before(async () => {
    cluster = await createCluster(2, QUIET);
  });
  after(() => cluster?.remove());

  test('contract, console, operators, sending, receiving, webhooks, privacy and transfer pass', {
    timeout: 7_200_000,
  }, async () => {
    const { NODE_TEST_CONTEXT: _context, TEST_TEMPLATES: _templates, TEST_SKIPPED: _skipped, ...others } = process.env;
    const files = SUITES.map((name) => `test/${name}`).map((path) =>
      existsSync(join(ROOT, `${path}.test.ts`)) ? `${path}.test.ts` : path,
    );
    const child = spawn(process.execPath, ['bin/node.cjs', 'test/run.ts', ...files], {
      cwd: ROOT,
      env: { ...others, TEST_POSTGRES: cluster.coordinator.url(), TEST_ENGINE: 'postgres' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
    const code = await new Promise((resolve) => child.once('exit', resolve));
    const failed = output.split('\n').filter((line) => /✖/.test(line));
    assert.equal(code, 0, failed.length > 0 ? failed.join('\n') : output.slice(-4_000));
  });
});
