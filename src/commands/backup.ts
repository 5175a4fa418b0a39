import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { Problem } from '../base/problem.ts';
import { sqlitePath } from '../config/database-name.ts';
import type { Config } from '../config/settings.ts';
import { listChains } from '../serve/backup/chain.ts';
import { backupSettingsOf, openTarget } from '../serve/backup/open-target.ts';
import { followChain, followOnce, lockFollowing, restoreTo, type Source, told } from '../serve/backup/recover.ts';
import { readSecretKey } from '../serve/backup/sealed.ts';
import { createShipper } from '../serve/backup/shipper.ts';
import { backupFault, readBackupStatus } from '../serve/backup/status.ts';
import { createServices } from '../serve/compose/services.ts';
import { readMarks } from '../serve/installation.ts';
import { createTeller, formatBytes, print, progressLine, remark } from './output.ts';
import { appDependencies } from './session.ts';

/** The commands about continuous backups. They need no database. */

/** An instant with its zone, such as 2026-11-18T12:00:00Z. */
export function readInstant(text: string): number {
  const at = Date.parse(text);
  const [day] = /^\d{4}-\d\d-\d\d(?=T.*(?:Z|[+-]\d\d:\d\d)$)/.exec(text) ?? [];
  // Date.parse takes February 31 for a day of March.
  if (Number.isNaN(at) || day === undefined || !new Date(`${day}T00:00Z`).toISOString().startsWith(day)) {
    throw new Problem('bad-argument', `--at: expected a time with its zone, such as 2026-11-18T12:00:00Z, not ${text}`);
  }
  return at;
}

export function sourceOf(config: Config, from: string | undefined): Source {
  const named = { ...backupSettingsOf(config), ...(from !== undefined && { backup: from }) };
  return { target: openTarget(named, { clock: systemClock }), secret: readSecretKey(config.backupKeyFile) };
}

const timeOf = (at: number): string => new Date(at).toISOString();

interface BackupFlags {
  readonly from?: string;
  readonly json?: true;
}

export async function runBackupList(config: Config, { from, json }: BackupFlags): Promise<void> {
  const { target } = sourceOf(config, from);
  const chains = await told(() => listChains(target));
  const { tell, end } = createTeller(json === true);
  const backups: object[] = [];
  for (const { generation, segments, isWhole, startedAt } of chains) {
    const missing = segments.findIndex(({ number }, index) => number !== index + 1);
    const usable = segments.slice(0, missing < 0 ? undefined : missing).filter(({ isComplete }) => isComplete);
    const [first, last] = [usable.at(0), usable.at(-1)];
    const reach = first && last ? `${timeOf(first.at)} to ${timeOf(last.at)}` : `${timeOf(startedAt)}, not complete`;
    const isComplete = isWhole && last !== undefined;
    backups.push({
      generation,
      startedAt: timeOf(startedAt),
      isComplete,
      from: isComplete && first ? timeOf(first.at) : null,
      to: isComplete ? timeOf(last.at) : null,
      segments: segments.length,
    });
    tell(
      {},
      `${isWhole ? reach : `${timeOf(startedAt)}, not complete`}  ${counted(segments.length, 'segment')}  generation ${generation}${missing < 0 ? '' : `  segment ${missing + 1} is missing`}`,
    );
  }
  if (target.exists?.() === false) tell({}, `There is no backup: ${target.name} does not exist.`);
  else if (chains.length === 0) tell({}, `There is no backup in ${target.name}.`);
  tell({ target: target.name, backups });
  end();
  const path = sqlitePath(config);
  const status = path === undefined ? null : readBackupStatus(path, systemClock.now());
  const fault = status && backupFault(status);
  if (fault) remark(`columba: ${fault}`);
}

/** Restores into a temporary file and looks at it. Returns the exit code. */
export async function runBackupVerify(config: Config, { from, json }: BackupFlags, at: number | null): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-verify-'));
  try {
    const temporary = join(folder, 'verified.db');
    const line = progressLine();
    const { last } = await told(
      () =>
        restoreTo(sourceOf(config, from), { at, temporary, standby: null }, (done, all) =>
          line(() => `${done} of ${all}`),
        ),
      folder,
    );
    const services = await createServices(
      { ...config, database: `sqlite:${temporary}` },
      { ...(await appDependencies(config)), keepsCopy: false },
    );
    try {
      const { accounts, discrepancies } = await services.ledger.check();
      const { bytes } = await services.status();
      const { tell, end } = createTeller(json === true);
      tell(
        { to: timeOf(last.at), bytes, accounts, discrepancies: discrepancies.length },
        `The backup can be restored. It reaches ${timeOf(last.at)}.`,
        `Size: ${formatBytes(bytes)}. Accounts: ${accounts.toLocaleString('en')}.`,
      );
      end();
      if (discrepancies.length === 0) return 0;
      remark(`columba: the credits of ${counted(discrepancies.length, 'account')} do not add up`);
      return 1;
    } finally {
      await services.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A snapshot now, beside the backup of a running service or without one. */
export async function runBackupNow(config: Config, { from, json }: BackupFlags): Promise<void> {
  const path = sqlitePath(config);
  const marks = path === undefined ? null : readMarks(path);
  if (path === undefined || !marks) {
    throw new Problem('bad-argument', 'There is no SQLite database that was served. Name it with --database.');
  }
  const { target, secret } = sourceOf(config, from);
  const file = openSync(path, 'r');
  const shipper = createShipper({
    path,
    file,
    target,
    secret,
    generation: marks.generation,
    clock: systemClock,
    everyMs: config.backupLagMs / 2,
    snapshotMs: Number.POSITIVE_INFINITY,
    keepMs: config.backupKeepDays * 24 * 3_600_000,
    logBytesMax: config.backupLogBytesMax,
  });
  try {
    await told(() => shipper.snapshot());
  } finally {
    shipper.close();
    closeSync(file);
  }
  print(json ? JSON.stringify({ target: target.name }) : `Wrote a snapshot to ${target.name}.`);
}

const FOLLOW_EVERY_MS = 1_000;
/** A bucket lists a thousand objects at a time, so a newer chain is not looked for every second. */
const CHOOSE_EVERY_MS = 60_000;

/** Keeps a standby's copy up to date until a signal ends it. */
export async function runFollow(
  config: Config,
  { from, once, json }: BackupFlags & { readonly once?: true },
): Promise<void> {
  const path = sqlitePath(config);
  if (path === undefined) throw new Problem('bad-argument', 'A standby of PostgreSQL is made with its own tools.');
  const source = sourceOf(config, from);
  const lock = lockFollowing(path);
  let isEnding = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isEnding = true;
    });
  }
  let said = '';
  let chosenAt = Number.NEGATIVE_INFINITY;
  const follow = async () => {
    const isChosen = systemClock.monotonic() - chosenAt < CHOOSE_EVERY_MS;
    const continued = isChosen ? await followChain(source, path) : null;
    if (continued) return continued;
    const followed = await followOnce(source, path, () => {});
    chosenAt = systemClock.monotonic();
    return followed;
  };
  do {
    try {
      const { at } = await told(follow, path);
      const { name: target } = source.target;
      const line = json ? JSON.stringify({ target, to: timeOf(at) }) : `Follows ${target}, up to ${timeOf(at)}.`;
      if (said !== 'follows') print(line);
      said = 'follows';
    } catch (thrown) {
      const { message } = thrown as Error;
      if (once) throw new Problem('bad-argument', message);
      if (said !== message) remark(`columba: ${message}`);
      said = message;
    }
    if (!once && !isEnding) await systemClock.sleep(FOLLOW_EVERY_MS);
  } while (!once && !isEnding);
  lock.close();
}
