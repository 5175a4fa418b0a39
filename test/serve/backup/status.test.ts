import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { backupFault, readBackupStatus, writeBackupStatus } from '../../../src/serve/backup/status.ts';
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
});
