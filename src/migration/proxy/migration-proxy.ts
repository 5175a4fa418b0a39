import type { Dialect } from '../../asmx/dialect/dialect.ts';
import type { Clock } from '../../base/clock.ts';
import { createKeyedQueue } from '../../base/keyed-queue.ts';
import { createRepeat } from '../../base/repeat.ts';
import type { Database } from '../../store/database.ts';
import { createAccountName } from '../compare/account-names.ts';
import { createComparing } from '../compare/comparing.ts';
import type { KnownDifference } from '../compare/known-differences.ts';
import { createRecorder, RECORDER_LIMITS, type Recorder } from '../compare/recorder.ts';
import { createSyncs, type Sync } from '../copy/syncs.ts';
import { createAvailability } from '../old-server/availability.ts';
import { createOldServer } from '../old-server/old-server.ts';
import { createOutageWatch, type ToldOutage } from '../old-server/outages.ts';
import type { OldServerTls } from '../old-server/server-tls.ts';
import { createUpstream, type Upstream } from '../old-server/upstream.ts';
import { createMigrationClients } from '../stages/clients.ts';
import { createMigrationCounts } from '../stages/counts.ts';
import { createMigrationStages } from '../stages/stages.ts';
import { createMigrationWrites } from '../stages/writes.ts';
import { createBypass } from './bypass.ts';
import { type ClientInventory, createClientAddress, createClientInventory } from './client-inventory.ts';
import { createComparedWrites } from './compared-writes.ts';
import { createDeliveries } from './deliveries.ts';
import { createLead } from './lead.ts';
import { createPendingCounts, type PendingCounts } from './pending-counts.ts';
import { createProxy, type ReverseProxy } from './proxy.ts';
import { createProxySync } from './proxy-sync.ts';
import { createShadow, type Shadow } from './shadow.ts';
import { createStageCache } from './stage-cache.ts';
import { createSeal } from './write-seal.ts';

/** The proxy of a migration with all its parts. */
export interface MigrationProxySettings {
  /** The name of this proxy among several; the same after a restart. */
  readonly name?: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly oldUrl: string;
  readonly newUrl: string;
  readonly oldTls: OldServerTls;
  readonly oldTimeoutMs: number;
  readonly newTimeoutMs: number;
  readonly dialect: Dialect;
  readonly namespace: string;
  readonly zone: string;
  readonly listLimit: number;
  readonly key: Uint8Array;
  /** Where recordings go; undefined for none. */
  readonly folder: string | undefined;
  readonly pseudonyms: boolean;
  readonly disabledKnownDifferences: ReadonlySet<KnownDifference>;
  /** Proxies whose X-Forwarded-For names the client. */
  readonly trustedProxies?: readonly string[];
  /**
   * Whether the operator says that reading marks nothing there. Else tests of the import decide.
   */
  readonly oldReadingIsSafe: boolean;
  /**
   * Copies what arrived at the old server for one account. By default, accounts that were imported
   * are synced; null means that none is.
   */
  readonly sync?: Sync | null;
  /** Called with errors that never hold a number, a text or a user_id. */
  readonly failed: (thrown: unknown) => void;
  /** Called when a server stops answering or answers again. */
  readonly outage?: (outage: ToldOutage) => void;
  readonly queueItemsMax?: number;
}

export interface MigrationProxy {
  readonly proxy: ReverseProxy;
  readonly pendingCounts: PendingCounts;
  readonly clients: ClientInventory;
  readonly recorder: Recorder | undefined;
  readonly shadow: Shadow;
  /**
   * Sends everything to the old server and does nothing else, or follows the stages again. Resolves
   * when the database knows, so that accounts are copied whole before Columba answers them again.
   */
  setPassThrough(isOn: boolean): Promise<void>;
  /** Reads the stages, and begins the work in the background. */
  start(): Promise<void>;
  refreshStages(): Promise<void>;
  deliver(): Promise<void>;
  /** Tells in words whether each server answers. */
  probe(): Promise<Readonly<Record<'old' | 'new', string>>>;
  /** Resolves when everything that was observed is compared. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export const QUEUE_ITEMS_MAX = 1_000;
const QUEUE_BYTES_MAX = 64 * 1_048_576;
const CONCURRENCY = 8;
const FLUSH_EVERY_MS = 1_000;
const CLIENTS_FLUSH_EVERY_MS = 10_000;
const REMOVE_OLD_EVERY_MS = 3_600_000;

export function createMigrationProxy(settings: MigrationProxySettings): MigrationProxy {
  const { database, clock, key, failed, dialect } = settings;
  const { now } = clock;
  const servers = serversOf(settings);
  const { old, columba, oldCalls, columbaCalls } = servers;
  const comparing = createComparing({
    dialect,
    zone: settings.zone,
    disabled: [...settings.disabledKnownDifferences],
    key,
    listLimit: settings.listLimit,
    pseudonyms: settings.pseudonyms,
  });
  const compare = comparing.settings;
  const migrationCounts = createMigrationCounts(database, now);
  const pendingCounts = createPendingCounts((counts, examples) => migrationCounts.add(counts, examples), now);
  const limits = { itemsMax: settings.queueItemsMax ?? QUEUE_ITEMS_MAX, bytesMax: QUEUE_BYTES_MAX };
  const queue = createKeyedQueue({ ...limits, concurrency: CONCURRENCY }, failed);
  const { folder } = settings;
  const recorder =
    folder === undefined
      ? undefined
      : createRecorder({ ...RECORDER_LIMITS, folder, line: comparing.line, now, failed });
  const seal = createSeal(key);
  const writes = createMigrationWrites(database, now, seal.keyName, seal.formerKeyName);
  const stageTable = createMigrationStages(database, now);
  const own = createProxySync({ database, old: oldCalls, dialect, now, stages: stageTable, writes });
  const syncOne = settings.sync === undefined ? own.sync : settings.sync;
  const syncs = syncOne === null ? undefined : createSyncs({ sync: syncOne, queue, clock, failed });
  const leavesMarks = (operation: string) => settings.oldReadingIsSafe || own.leavesMarks(operation);
  const availability = createAvailability(columba, clock);
  const both = {
    writes,
    seal,
    columba,
    old,
    oldCalls,
    availability,
    sync: syncs?.whole,
    compare,
    pendingCounts,
    clock,
    failed,
  };
  const deliveries = createDeliveries(both);
  const stages = createStageCache({ stages: stageTable, clock, failed });
  const bypass = createBypass({ database, name: settings.name ?? 'proxy', stages, syncs, clock, failed }, () => proxy);
  const lead = createLead({ ...both, columbaCalls, deliveries, bypass });
  const compared = createComparedWrites(both, deliveries);
  const observing = { queue, pendingCounts, recorder, columba, old, comparing, leavesMarks, deliveries, clock, failed };
  const shadow = createShadow({ ...observing, sync: syncs?.now });
  const clients = createClientInventory({
    write: (counted) => createMigrationClients(database, now).add(counted),
    accountName: createAccountName(key),
    addressOf: createClientAddress(settings.trustedProxies ?? []),
    now,
  });
  const answering = { stages, shadow, lead, compared, compareSoon: bypass.compareSoon, syncs };
  const proxy = createProxy({ old, columba, ...answering, pendingCounts, clients, clock, failed });
  const repeats = [
    createRepeat({ clock, everyMs: FLUSH_EVERY_MS, work: () => pendingCounts.flush(), failed }),
    createRepeat({ clock, everyMs: CLIENTS_FLUSH_EVERY_MS, work: () => clients.flush(), failed }),
    createRepeat({ clock, everyMs: REMOVE_OLD_EVERY_MS, work: () => migrationCounts.removeOld(), failed }),
  ];

  return {
    proxy,
    pendingCounts,
    clients,
    recorder,
    shadow,
    setPassThrough: bypass.setPassThrough,
    async start() {
      await bypass.recover();
      await stages.refresh();
      stages.start();
      syncs?.start();
      await deliveries.start();
      for (const each of repeats) each.start();
    },
    refreshStages: () => stages.refresh(),
    deliver: () => deliveries.deliver(),
    settled: () => queue.idle(),
    probe: async () => ({ old: await probed(old), new: await probed(columba) }),
    /** Ends the clients first; then what was observed is compared, counted and written. */
    async stop() {
      if (proxy.server.listening) await proxy.close();
      stages.stop();
      syncs?.stop();
      availability.stop();
      await deliveries.stop();
      await queue.idle();
      shadow.stop();
      for (const each of repeats) await each.stop();
      for (const each of [pendingCounts, clients]) await each.flush().catch(failed);
      await recorder?.close();
      await comparing.close();
      for (const server of Object.values(servers)) server.close();
    },
  };
}

/** Each server has two clients: one for raw bytes, and one for calls by the contract. */
function serversOf(settings: MigrationProxySettings) {
  const { oldUrl, newUrl, oldTls, dialect, zone, namespace, clock, outage = () => {} } = settings;
  const calls = { dialect, zone, namespace };
  const watchOf = (name: string, url: string) =>
    createOutageWatch(`${name} at ${new URL(url).host}`, clock.now, outage);
  const ofOld = { name: 'the old server', url: oldUrl, tls: oldTls, clock, watch: watchOf('the old server', oldUrl) };
  const ofColumba = { name: 'Columba', url: newUrl, clock, watch: watchOf('Columba', newUrl) };
  return {
    old: createUpstream({ ...ofOld, timeoutMs: settings.oldTimeoutMs }),
    columba: createUpstream({ ...ofColumba, timeoutMs: settings.newTimeoutMs }),
    oldCalls: createOldServer({ ...calls, ...ofOld }),
    columbaCalls: createOldServer({ ...calls, ...ofColumba }),
  };
}

const PROBED = { method: 'GET', target: '/api/account.asmx?WSDL', rawHeaders: ['Host', 'localhost'] };

const probed = (server: Upstream): Promise<string> =>
  server.exchange(PROBED, new Uint8Array()).then(
    ({ status }) => `answers ${status}`,
    (thrown: NodeJS.ErrnoException) => `does not answer: ${thrown.code ?? thrown.message}`,
  );
