import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { systemClock } from '../../../src/base/clock.ts';
import { folderTarget } from '../../../src/serve/backup/folder-target.ts';
import { createShipper } from '../../../src/serve/backup/shipper.ts';
import { backupFault, readBackupState, readBackupStatus, writeBackupStatus } from '../../../src/serve/backup/status.ts';
import { verifyBackup } from '../../../src/serve/backup/verify-worker.ts';
import { addBackupMetric } from '../../../src/serve/telemetry/sending-metrics.ts';

describe('the lag of a backup', () => {
  test('the lag grows when the thread that ships has died, and a late backup is a fault', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'columba-status-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'columba.db');
    assert.equal(readBackupStatus(path, 0), null);
    const status = { at: 100_000, target: 'the folder x', lagMs: 500, coveredTo: 99_500, snapshotAt: 0, error: null };
    writeBackupStatus(path, status);
    assert.equal(readBackupStatus(path, 105_000)?.lagMs, 500);
    assert.equal(readBackupStatus(path, 200_000)?.lagMs, 100_500);
    assert.equal(backupFault(status), null);
    const late = { ...status, lagMs: 90_000, error: 'the disk is full' };
    assert.equal(backupFault(late), 'The backup to the folder x is 90 s behind: the disk is full');
  });

  test('the metric has the seconds, is infinite before the first snapshot, and is absent without a backup', async () => {
    const registry = new Registry();
    let lag: number | null = 1_500;
    addBackupMetric(registry, () => lag);
    assert.match(await registry.metrics(), /^columba_backup_lag_seconds 1\.5$/m);
    lag = Number.POSITIVE_INFINITY;
    assert.match(await registry.metrics(), /^columba_backup_lag_seconds \+Inf$/m);
    lag = null;
    assert.doesNotMatch(await registry.metrics(), /^columba_backup_lag_seconds /m);
  });

  test('the backup is restored and checked, the result is noted, and a backup that cannot be restored is a fault', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'columba-verify-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'columba.db');
    const database = new DatabaseSync(path);
    database.exec(
      'pragma journal_mode = wal; create table entry (id integer primary key); insert into entry values (1)',
    );
    const file = openSync(path, 'r');
    t.after(() => {
      database.close();
      closeSync(file);
    });
    const target = folderTarget(join(folder, 'target'));
    const source = { target, secret: null };
    const clock = { now: () => 5_000, sleep: systemClock.sleep };
    const limits = { everyMs: 10, snapshotMs: 1e9, keepMs: 1e9, logBytesMax: 2 ** 24 };
    const shipper = createShipper({ path, file, ...source, generation: 1n, clock, ...limits });
    await shipper.tick();
    shipper.close();
    assert.deepEqual(await verifyBackup(path, source, () => 7_000), {
      triedAt: 7_000,
      verifiedAt: 7_000,
      reachesTo: 5_000,
      fault: null,
    });
    const [key] = (await target.list('')).filter((each) => each.includes('/log-')) as [string];
    await target.put(key, Buffer.from('damaged'));
    await verifyBackup(path, source, () => 9_000);
    const { verifiedAt, fault } = readBackupState(path, 9_000);
    assert.equal(verifiedAt, 7_000, 'the last success stays');
    assert.match(
      String(fault),
      /^The backup could not be verified: .* is cut off or empty\. Choose an earlier time\.$/,
    );
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('verifying')),
      [],
    );
    const registry = new Registry();
    addBackupMetric(
      registry,
      () => 0,
      () => verifiedAt,
    );
    assert.match(await registry.metrics(), /^columba_backup_verified_timestamp_seconds 7$/m);
  });
});
