import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { distributePostgres, openPostgres } from '../../src/store/postgres/database.ts';
import { until } from '../../test/support/postgres-engines.ts';
import type { PostgresServer } from '../../test/support/postgres-server.ts';
import { createRandom } from '../../test/support/random.ts';
import { runDisasters } from '../disasters/disasters.ts';
import { type Disk, TOKENS, tokensOf } from '../disasters/disks.ts';
import { binaries, type CitusCluster, createCluster, onCitus, show } from './cluster.ts';

/**
 * The backup and the restore of docs/SCALING.md: every node has a copy by pg_basebackup and archives its log, and all are
 * restored to one restore point, which the coordinator has made on all of them.
 */
const NAME = 'restored';
const ROUNDS = 2;
const SEED = Number(process.env.SEED ?? 7);
/** The archive is beside the data, which alone is lost. */
const ARCHIVING = [
  ...['fsync=off', 'archive_mode=on', 'archive_timeout=0'],
  'archive_command=mkdir -p ../archive && cp %p ../archive/%f',
  'restore_command=cp ../archive/%f %p',
];
const LONG = { timeout: 900_000 };

onCitus('a cluster that loses all its nodes while messages are sent', () => {
  let cluster: CitusCluster;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'columba-citus-restore-'));
    cluster = await createCluster(2, ARCHIVING);
    const url = await cluster.database(NAME);
    const settings = { url, connectionsMax: 1, timeoutMs: 60_000 };
    await (await openPostgres(settings, systemClock)).close();
    await distributePostgres(settings, systemClock);
  });
  after(async () => {
    await cluster?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test(
    'the service continues from one restore point of all nodes: nothing is submitted twice, and no id is given twice',
    LONG,
    async () => {
      const result = await runDisasters({
        folder,
        disk: clusterDisk(cluster, folder),
        rounds: ROUNDS,
        random: createRandom('restore', SEED),
        told: show,
      });
      show(JSON.stringify({ ...result, faults: undefined }));
      assert.deepEqual([result.faults, result.rounds], [[], ROUNDS]);
      assert.ok(result.submitted > 0 && result.lost > 0, JSON.stringify(result));
      const nodes = await cluster.coordinator.query(
        `select count(distinct shardid) as shards from account
       join lateral get_shard_id_for_distribution_column('account', account_id) as shardid on true`,
        NAME,
      );
      assert.ok(Number(nodes[0]?.shards) > 1, 'the accounts are on several shards');
    },
  );
});

function clusterDisk({ coordinator, workers }: CitusCluster, folder: string): Disk {
  const nodes = [coordinator, ...workers];
  const copyOf = (node: PostgresServer) => join(folder, `copy-${node.port}`);
  const dataOf = (node: PostgresServer) => join(node.folder, 'data');
  let points = 0;
  const pointName = () => `columba_${points}`;

  /** The log up to now is in the archive. */
  async function archive(node: PostgresServer): Promise<void> {
    const [{ file } = {}] = await node.query('select pg_walfile_name(pg_switch_wal()) as file');
    const done = `select coalesce(last_archived_wal >= '${file}', false) as done from pg_stat_archiver`;
    await until(async () => (await node.query(done))[0]?.done === true);
  }

  return {
    isSpread: true,
    setting: () => coordinator.url(NAME),
    async backUp() {
      for (const node of nodes) {
        rmSync(copyOf(node), { recursive: true, force: true });
        const to = ['--pgdata', copyOf(node), '--wal-method=fetch', '--checkpoint=fast', '--no-sync'];
        execFileSync(join(binaries as string, 'pg_basebackup'), ['--dbname', node.url(), ...to], { stdio: 'pipe' });
      }
      points += 1;
      await coordinator.query(`select citus_create_restore_point('${pointName()}')`, NAME);
      for (const node of nodes) await archive(node);
    },
    async lose() {
      for (const node of nodes) await node.stop('immediate');
      for (const node of nodes) rmSync(dataOf(node), { recursive: true });
    },
    async restore(columba) {
      for (const node of nodes) {
        cpSync(copyOf(node), dataOf(node), { recursive: true, verbatimSymlinks: true });
        const target = `recovery_target_name = '${pointName()}'\nrecovery_target_action = 'promote'\n`;
        appendFileSync(join(dataOf(node), 'postgresql.auto.conf'), target);
        writeFileSync(join(dataOf(node), 'recovery.signal'), '');
        giveTo(node);
        await node.start();
      }
      for (const node of nodes) {
        await until(async () => (await node.query('select pg_is_in_recovery() as is'))[0]?.is === false);
      }
      await columba('restore', '--adopt');
    },
    stored: async () => tokensOf(await coordinator.query(TOKENS, NAME)),
    end: async () => {},
  };
}

/** Data that root has copied belongs to the user of the server, as its folder does. */
function giveTo({ folder }: PostgresServer): void {
  const data = join(folder, 'data');
  execFileSync('chmod', ['700', data]);
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', '--reference', folder, data]);
}
