import { closeSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { folderTarget } from '../../../src/serve/backup/folder-target.ts';
import {
  applySegments,
  checkIntegrity,
  chooseRestorePoint,
  restoreSnapshot,
} from '../../../src/serve/backup/restoring.ts';
import type { SecretKey } from '../../../src/serve/backup/sealed.ts';
import { createShipper } from '../../../src/serve/backup/shipper.ts';
import type { BackupTarget } from '../../../src/serve/backup/target.ts';

/** A database that two connections write to, a shipper, and a clock that the test sets. */
export function scene(
  t: TestContext,
  given: { secret?: SecretKey; target?: (target: BackupTarget) => BackupTarget; snapshotMs?: number } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'columba-backup-'));
  const path = join(folder, 'live.db');
  const open = () => {
    const database = new DatabaseSync(path, { timeout: 0 });
    database.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0');
    return database;
  };
  const writer = open();
  writer.exec('create table entry (id integer primary key, content blob)');
  const other = open();
  const plain = folderTarget(join(folder, 'target'));
  const target = given.target?.(plain) ?? plain;
  const clock = { at: 1_000_000, now: () => clock.at, sleep: systemClock.sleep };
  const file = openSync(path, 'r');
  const settings = { path, file, target, secret: given.secret ?? null, generation: 1n, clock, everyMs: 10 };
  const limits = { snapshotMs: given.snapshotMs ?? 3_600_000, keepMs: 2 * 86_400_000, logBytesMax: 2 ** 22 };
  const another = (changed: object = {}) => createShipper({ ...settings, ...limits, ...changed });
  const shipper = another();
  t.after(() => {
    shipper.close();
    for (const each of [writer, other]) if (each.isOpen) each.close();
    closeSync(file);
    rmSync(folder, { recursive: true, force: true });
  });
  let count = 0;
  return {
    path,
    open,
    target,
    plain,
    clock,
    shipper,
    another,
    writer,
    other,
    insert: (bytes = 100, by = writer) => by.prepare('insert into entry (content) values (randomblob(?))').run(bytes),
    /** Ships, a second later. */
    async tick(): Promise<void> {
      clock.at += 1_000;
      await shipper.tick();
    },
    async restore(at: number | null = null): Promise<string> {
      const to = join(folder, `restored-${++count}.db`);
      const { chain, last } = await chooseRestorePoint(target, at);
      const secret = given.secret ?? null;
      const base = await restoreSnapshot(target, secret, chain, to);
      await applySegments(target, secret, chain, to, base, last.number);
      checkIntegrity(to);
      return contentOf(to);
    },
    content: () => contentOf(path),
    logBytes: () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  };
}

export function contentOf(path: string): string {
  const database = new DatabaseSync(path);
  try {
    return JSON.stringify(database.prepare('select id, hex(content) as content from entry order by id').all());
  } finally {
    database.close();
  }
}
