import type { Clock } from '../../base/clock.ts';
import { createRepeat } from '../../base/repeat.ts';
import { sqlitePath } from '../../config/database-name.ts';
import type { Config } from '../../config/settings.ts';
import { createAccounts } from '../../domain/accounts/accounts.ts';
import { createLedger } from '../../domain/accounts/ledger.ts';
import { createContacts } from '../../domain/contacts/contacts.ts';
import { createOrderedLists } from '../../domain/contacts/ordered-lists.ts';
import { createTemplates } from '../../domain/contacts/templates.ts';
import { createMessageCounts, readStatus } from '../../domain/messages/counts.ts';
import { createPurge } from '../../domain/messages/purge.ts';
import { createReceived } from '../../domain/messages/received.ts';
import { createScheduled } from '../../domain/messages/scheduled.ts';
import { createSent } from '../../domain/messages/sent.ts';
import type { Extension } from '../../domain/privacy/extension.ts';
import { createRetention, LOOK_EVERY_MS } from '../../domain/privacy/retention.ts';
import { createSendingCounts } from '../../domain/queue/counts.ts';
import { createIncoming } from '../../domain/receiving/incoming.ts';
import { countUnrouted } from '../../domain/receiving/unrouted.ts';
import { createIndexer, INDEX_EVERY_MS } from '../../domain/search/indexer.ts';
import { createMaintenance, MAINTENANCE_EVERY_MS } from '../../domain/sending/maintenance.ts';
import { createOptOuts } from '../../domain/sending/opt-out.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database } from '../../store/database.ts';
import { openSqlite } from '../../store/sqlite/database.ts';
import { createArchive } from '../../transfer/archive.ts';
import { readBackupStatus, readVerification } from '../backup/status.ts';
import { keepBeforeUpgrade } from '../backup/way-back.ts';
import type { Log } from '../telemetry/log.ts';

/** What the services need from outside, which tests replace. */
export interface ServiceDependencies {
  readonly clock: Clock;
  readonly log: Log;
  /** False: no copy is kept when the database is migrated, because it is one itself. */
  readonly keepsCopy?: boolean;
  /** Tables of other programs in the same database. */
  readonly extensions?: readonly Extension[];
  /** Wraps the opened database: for tests that make it fail. */
  readonly database?: (opened: Database) => Database;
}

export type Services = Awaited<ReturnType<typeof createServices>>;
export type Engine = 'sqlite' | 'postgres';

/** Wraps the database of the services, e.g. to observe its statements. */
export type WrapDatabase = (database: Database, engine: Engine) => Promise<Database>;

/** The database and the domain on it, which is all that a command needs. */
export async function createServices(config: Config, deps: ServiceDependencies, wrap?: WrapDatabase) {
  const { clock, log, extensions = [] } = deps;
  const { now } = clock;
  const engine: Engine = config.database.startsWith('sqlite:') ? 'sqlite' : 'postgres';
  const opened = await openDatabase(config, engine, deps);
  const unobserved = deps.database?.(opened) ?? opened;
  const messageCounts = createMessageCounts(unobserved, clock.monotonic);
  const database = (await wrap?.(unobserved, engine)) ?? unobserved;
  const accounts = createAccounts(database, now, config.region || null);
  const regionOf = (account: AccountKey) => accounts.region(account);
  const purge = createPurge(database, clock.sleep, (err) => log.warn({ err }, 'emptied inboxes could not be purged'));
  const retention = createRetention(database, now, extensions);
  const retentionRuns = createRepeat({
    clock,
    everyMs: LOOK_EVERY_MS,
    atOnce: true,
    work: (isStopping) => retention.applyDue(clock.sleep, isStopping),
    failed: (err) => log.warn({ err }, 'data that is older than the retention could not be deleted'),
  });
  const maintenance = createMaintenance(database, createIncoming(database, now, config.region || null), {
    now,
    receiptWaitMs: config.receiptWaitHours * 3_600_000,
    failed: (err) => log.warn({ err }, 'receipts of an account, or messages whose time is over, could not be settled'),
  });
  const maintenanceRuns = createRepeat({
    clock,
    everyMs: MAINTENANCE_EVERY_MS,
    work: maintenance.run,
    failed: (err) => log.warn({ err }, 'waiting receipts, parts and messages could not be processed'),
  });
  const indexer = createIndexer(database, regionOf);
  const indexRuns = createRepeat({
    clock,
    everyMs: INDEX_EVERY_MS,
    work: (isStopping) => indexer.run(clock.sleep, isStopping),
    failed: (err) => log.warn({ err }, 'new messages could not be added to the index of the search'),
  });
  /** Ends the purge, the retention, the maintenance and the indexing after their current batch. */
  const stopBackground = async (): Promise<void> => {
    await Promise.all([purge.stop(), retentionRuns.stop(), maintenanceRuns.stop(), indexRuns.stop()]);
  };
  return {
    database,
    engine,
    extensions,
    accounts,
    contacts: createContacts(database, regionOf),
    templates: createTemplates(database),
    blacklist: createOptOuts(database, now, regionOf),
    received: createReceived(database, now, purge),
    sent: createSent(database, now),
    scheduled: createScheduled(database, now),
    orderedLists: createOrderedLists(database),
    archive: createArchive(database, now, config.region || null),
    ledger: createLedger(database, now),
    purge,
    retentionRuns,
    maintenanceRuns,
    indexRuns,
    messageCounts,
    sendingCounts: createSendingCounts(unobserved, now, countUnrouted),
    backupLagMs: () => backupLagOf(config, now()),
    backupVerifiedAt: () => backupVerifiedOf(config),
    status: () => readStatus(unobserved),
    backup: (path: string) => database.backup(path),
    stopBackground,
    /** Ends the work in the background, and closes the database. */
    async stop(): Promise<void> {
      await stopBackground();
      await database.close();
    },
  };
}

/** Null without a backup; infinite before its first snapshot is complete. */
function backupLagOf(config: Config, now: number): number | null {
  const path = sqlitePath(config);
  if (config.backup === '' || path === undefined) return null;
  return readBackupStatus(path, now)?.lagMs ?? Number.POSITIVE_INFINITY;
}

function backupVerifiedOf(config: Config): number | null {
  const path = sqlitePath(config);
  return config.backup === '' || path === undefined ? null : (readVerification(path)?.verifiedAt ?? null);
}

async function openDatabase(config: Config, engine: Engine, deps: ServiceDependencies): Promise<Database> {
  const { clock, log, keepsCopy = true } = deps;
  if (engine === 'sqlite') {
    const path = config.database.slice('sqlite:'.length);
    const died = (err: unknown) => log.error({ err }, 'the checkpoint thread died and is being restarted');
    return openSqlite(path, clock, died, keepsCopy ? (version) => keepBeforeUpgrade(path, version) : undefined);
  }
  const { openPostgres } = await import('../../store/postgres/database.ts'); // loads pg only if it is used
  const { database: url, databaseConnections: connectionsMax, databaseTimeoutMs: timeoutMs } = config;
  const settingNames = {
    url: 'COLUMBA_DATABASE',
    timeoutMs: 'COLUMBA_DATABASE_TIMEOUT_MS',
    connectionsMax: 'COLUMBA_DATABASE_CONNECTIONS',
  };
  return openPostgres({ url, connectionsMax, timeoutMs, settingNames }, clock);
}
