import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { systemClock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { Problem } from '../base/problem.ts';
import { databaseName, sqlitePath } from '../config/database-name.ts';
import type { Config } from '../config/settings.ts';
import { moveIntoPlace, refuseInUse, removeDatabase } from '../serve/backup/recover.ts';
import { copyDatabase, findBeforeUpgrade, sizeOnDisk, writeOlder } from '../serve/backup/way-back.ts';
import { createServices } from '../serve/compose/services.ts';
import type { LeftOut } from '../store/schema/former-names.ts';
import { pendingMigrations, type SchemaState } from '../store/schema/migrations.ts';
import { openSqlite } from '../store/sqlite/database.ts';
import { schemaVersionOf } from '../store/sqlite/older-schema.ts';
import { exportAccounts } from '../transfer/export.ts';
import { createTeller, formatBytes, remark } from './output.ts';
import { refuseServed } from './restore.ts';
import { appDependencies } from './session.ts';

/** `columba upgrade --check` and the way back, `columba restore --before-upgrade`. */

/** Reads every table about once. */
const POSTGRES_BYTES_PER_SECOND = 20_000_000;

export async function runUpgradeCheck(config: Config, asJson: boolean): Promise<void> {
  const { tell, end } = createTeller(asJson);
  const path = sqlitePath(config);
  const { version, bytes } = path === undefined ? await postgresState(config) : sqliteState(path);
  const steps = pendingMigrations(version);
  tell(
    { database: databaseName(config), bytes, schemaVersion: version, changes: steps.map(changeOf) },
    `Database: ${databaseName(config)}, ${formatBytes(bytes)}, schema version ${version}.`,
    ...(steps.length === 0 ? ['This version has nothing to change in it.'] : []),
    ...steps.map(({ version: number, name }) => `${number}  ${name}`),
  );
  if (steps.length === 0) return end();
  if (path === undefined) {
    const seconds = Math.max(1, Math.round(bytes / POSTGRES_BYTES_PER_SECOND));
    tell(
      { estimatedMs: seconds * 1_000 },
      `The first start of this version makes ${counted(steps.length, 'change')}, in about ${duration(seconds * 1_000)}.`,
      'Before it, stop the service and keep a dump: pg_dump --format=custom --file=before-upgrade.dump DATABASE',
    );
    return end();
  }
  const ms = await tryOnCopy(path);
  tell(
    { estimatedMs: Math.round(ms) },
    `The first start of this version makes ${counted(steps.length, 'change')}, and keeps a copy of the database as it is now. ` +
      `Tried on a copy just now, that took ${duration(ms)}.`,
  );
  end();
}

const changeOf = ({ version, name }: { readonly version: number; readonly name: string }) => ({ version, name });

const duration = (ms: number): string =>
  ms < 90_000 ? `${Math.max(1, Math.round(ms / 1_000))} s` : `${Math.round(ms / 60_000)} minutes`;

async function postgresState(config: Config): Promise<SchemaState> {
  const { readSchemaState } = await import('../store/postgres/database.ts');
  const { database: url, databaseTimeoutMs: timeoutMs } = config;
  return readSchemaState({ url, connectionsMax: 1, timeoutMs }, systemClock);
}

/** Opens the file without changing it. */
function sqliteState(path: string): SchemaState {
  if (!existsSync(path)) throw new Problem('bad-argument', `There is no database at ${path}.`);
  try {
    return { version: schemaVersionOf(path), bytes: sizeOnDisk(path) };
  } catch (cause) {
    throw new Problem('bad-argument', `${path} is not a database of Columba.`, { cause });
  }
}

async function tryOnCopy(path: string): Promise<number> {
  const trial = `${path}.upgrade-trial-${process.pid}`;
  try {
    copyDatabase(path, trial);
    const startedAt = systemClock.monotonic();
    const database = await openSqlite(trial, systemClock);
    const ms = systemClock.monotonic() - startedAt;
    await database.close();
    return ms;
  } finally {
    removeDatabase(trial);
  }
}

/**
 * `columba restore --before-upgrade`: the version before can serve the database again, with all
 * that was written since. The newer database stays under another name, and its accounts in an
 * export.
 */
export async function runWayBack(
  config: Config,
  { dryRun = false, json = false }: { readonly dryRun?: boolean; readonly json?: boolean },
): Promise<void> {
  const { tell, end } = createTeller(json);
  const path = sqlitePath(config);
  if (path === undefined) return runPostgresWayBack(config, { dryRun, json });
  const found = findBeforeUpgrade(path);
  if (!found) throw new Problem('bad-argument', `No copy from before an upgrade is kept beside ${path}.`);
  const temporary = `${path}.older-${process.pid}`;
  if (!dryRun) refuseInUse(path);
  try {
    const leftOut = writeOlder({ copy: found.copy, newer: path, to: temporary });
    tellLeftOut(leftOut);
    tell(
      { isDryRun: dryRun, schemaVersion: found.version, leftOut },
      ...(dryRun ? [`Would give the database schema version ${found.version}. Nothing was changed.`] : []),
    );
    if (dryRun) return end();
    const now = systemClock.now();
    const kept = `${path}.since-upgrade-${new Date(now).toISOString().replace(/[:.]/g, '')}.ndjson`;
    await exportTo(config, kept);
    const aside = moveIntoPlace(temporary, path, now);
    tell(
      { setAside: aside, export: kept },
      `The database has schema version ${found.version} again, with all that was written since the upgrade.`,
      `The newer database is now ${aside}, and its accounts are in ${kept}.`,
      'Start the version from before the upgrade.',
    );
    end();
  } finally {
    removeDatabase(temporary);
  }
}

function tellLeftOut(leftOut: LeftOut): void {
  for (const [table, rows] of Object.entries(leftOut)) {
    remark(`columba: ${counted(rows, 'row')} of ${table} cannot be stored in the table of the version before.`);
  }
}

/** The newer tables are in a schema of their own, and the dump was restored beside it. */
async function runPostgresWayBack(config: Config, { dryRun, json }: { dryRun: boolean; json: boolean }): Promise<void> {
  const { refillOlder } = await import('../store/postgres/older-schema.ts');
  const { tell, end } = createTeller(json);
  if (!dryRun) await refuseServed(config);
  const { database: url, databaseTimeoutMs: timeoutMs } = config;
  const { version, leftOut } = await refillOlder({ url, connectionsMax: 1, timeoutMs }, systemClock, dryRun);
  tellLeftOut(leftOut);
  tell(
    { isDryRun: dryRun, schemaVersion: version, leftOut },
    ...(dryRun
      ? [`Would give the database schema version ${version}. Nothing was changed.`]
      : [
          `The database has schema version ${version} again, with all that was written since the upgrade.`,
          'The newer tables are in the schema "newer". Start the version from before the upgrade.',
        ]),
  );
  end();
}

async function exportTo(config: Config, path: string): Promise<void> {
  const services = await createServices(config, await appDependencies(config));
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      const options = { ndjson: true, username: null, clock: systemClock };
      await exportAccounts(services.archive, options, (piece) => file.appendFile(piece));
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await services.stop();
  }
}
