import { hostname } from 'node:os';
import { type Clock, within } from '../base/clock.ts';
import { nextTurn } from '../base/event-loop.ts';
import { randomBytes } from '../base/random.ts';
import { createRepeat } from '../base/repeat.ts';
import { newAttemptId } from '../domain/sending/attempts.ts';
import { createCarrierQueries } from '../domain/sending/carrier-queries.ts';
import { createClaiming } from '../domain/sending/claim.ts';
import {
  BUILTIN_NAME,
  type ConnectorRecord,
  createConnectors,
  type NewConnector,
} from '../domain/sending/connectors.ts';
import { restoredAtOf } from '../domain/sending/hold.ts';
import { optOutsOf } from '../domain/sending/opt-out.ts';
import { createSettling, type OnGatewayIds } from '../domain/sending/settle.ts';
import type { Database } from '../store/database.ts';
import type { CarrierEvents, Connector } from './connector.ts';
import type { ConnectorDependencies, Noticed } from './dependencies.ts';
import { createDispatcher, type Dispatcher, type DispatcherSettings } from './dispatcher.ts';
import { createConnector } from './kinds.ts';
import { createQuerying, type Querying } from './queries.ts';
import { createSettler, type Settler } from './settler.ts';
import { NO_THROTTLE, type Throttle } from './throttle.ts';
import { createWaysOut } from './ways-out.ts';

/**
 * All connectors of a process, each with its dispatcher. The gateway follows the table of
 * connectors: every change of it takes effect within a poll.
 */
export interface Gateway {
  start(): Promise<void>;
  /** Called when messages were accepted or requeued, so that some may be due. */
  wake(): void;
  /** A connector that runs in this process, and the revision of its configuration. */
  runningOf(name: string): { readonly revision: string; readonly connector: Connector } | undefined;
  /** Resolves when every answer that has come from a carrier is on disk. */
  settled(): Promise<void>;
  /** Claims nothing more, settles the submissions that are under way, and closes the connectors. */
  stop(): Promise<void>;
}

export interface GatewayParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly events: CarrierEvents;
  readonly onGatewayIds?: OnGatewayIds;
  /** The region of local numbers on a blacklist, for accounts without one. */
  readonly defaultRegion: string | null;
  /** Connectors of the file, with their configuration. */
  readonly ofFile: readonly NewConnector[];
  readonly settings?: Partial<GatewaySettings>;
  readonly failed: (thrown: unknown) => void;
  /** Called when a connector is down, with the reason, or up again. */
  readonly connectorChanged?: (name: string, downReason: string | null) => void;
  /** Called if there is no connector but the built-in loopback. */
  readonly builtinUsed?: () => void;
  readonly noticed?: Noticed;
  /** Tests make connectors of their own. */
  readonly create?: typeof createConnector;
  /** Lets calls go first. */
  readonly throttle?: Throttle;
  readonly log?: NonNullable<ConnectorDependencies['log']>;
}
export interface GatewaySettings extends DispatcherSettings {
  readonly leaseMs: number;
}

const GATEWAY_SETTINGS: GatewaySettings = {
  pollMs: 1_000,
  submitTimeoutMs: 30_000,
  // Longer than a submission may take, with room for a process that stalls.
  leaseMs: 120_000,
  unknownOutcomeMs: 15 * 60_000,
  stopTimeoutMs: 10_000,
};

const BUILTIN: NewConnector = {
  name: BUILTIN_NAME,
  kind: 'loopback',
  config: { receiptAfterMs: 1_000 },
  isDefault: true,
  submissionsMax: 1_000,
  ratePerSecond: null,
};

interface Running {
  readonly record: ConnectorRecord;
  readonly connector: Connector;
  readonly dispatcher: Dispatcher;
  readonly querying: Querying;
}

export function createGateway(parts: GatewayParts): Gateway {
  const { database, clock, failed, ofFile, defaultRegion, throttle = NO_THROTTLE } = parts;
  const { now } = clock;
  const settings = { ...GATEWAY_SETTINGS, ...parts.settings };
  const connectors = createConnectors(database, now);
  const waysOut = createWaysOut({ database, connectors, clock, failed, moved: () => wake() });
  const settling = createSettling(database, now, parts.onGatewayIds, optOutsOf(defaultRegion), waysOut);
  const settler = createSettler(settling, clock.sleep, failed, throttle);
  const events = afterAnswers(parts.events, settler, clock);
  const { leaseMs, unknownOutcomeMs } = settings;
  const owner = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`;
  const claimSettings = { now, owner, newAttemptId, leaseMs, unknownOutcomeMs, defaultRegion, failed };
  const claiming = createClaiming(database, claimSettings);
  const { noticed = () => {} } = parts;
  const unread = (name: string, answer: string): void => {
    noticed(name, 'unread');
    connectors.setUnreadAnswer(name, answer).catch(failed);
  };
  const deps: ConnectorDependencies = { clock, unread, noticed, ...(parts.log && { log: parts.log }) };
  const configs = new Map(ofFile.map(({ name, config }) => [name, config]));
  const running = new Map<string, Running>();
  const restoredAt = restoredAtOf(database);
  let isPrepared = false;
  let isTold = false;

  async function launch(record: ConnectorRecord): Promise<void> {
    const config = record.origin === 'file' ? (configs.get(record.name) ?? {}) : record.config;
    const connector = (parts.create ?? createConnector)(record.name, record.kind, config, deps);
    const { sendsReceipts = true } = connector;
    if (sendsReceipts !== record.sendsReceipts) await connectors.setSendsReceipts(record.name, sendsReceipts);
    await connector.start(events);
    const dispatcher = createDispatcher({
      connector,
      record,
      claiming,
      settler,
      connectors,
      clock,
      throttle,
      waysOut,
      settings,
      failed,
      connectorChanged: parts.connectorChanged ?? (() => {}),
    });
    const querying = createQuerying({
      connector,
      record,
      connectors,
      events,
      restoredAt,
      clock,
      failed,
      queries: createCarrierQueries(database, record.name, now),
      ...(parts.log && { log: parts.log }),
    });
    querying.start();
    running.set(record.name, { record, connector, dispatcher, querying });
  }

  async function end({ record, connector, dispatcher, querying }: Running): Promise<void> {
    running.delete(record.name);
    await Promise.all([dispatcher.stop(), querying.stop()]);
    await connector.stop();
  }

  /**
   * Makes the running connectors match the table. The table is prepared at the start, or as soon as
   * the database answers, and again when the last connector was removed.
   */
  async function follow(isStopping: () => boolean): Promise<void> {
    let records = isPrepared ? await connectors.list() : [];
    if (records.length === 0) {
      await connectors.prepare(ofFile, BUILTIN);
      isPrepared = true;
      records = await connectors.list();
    }
    if (!isTold && records.every(({ origin }) => origin === 'builtin')) parts.builtinUsed?.();
    isTold = true;
    const names = new Set(records.map(({ name }) => name));
    for (const [name, each] of [...running]) if (!names.has(name)) await end(each);
    for (const record of records) {
      if (isStopping()) return;
      const known = running.get(record.name);
      if (known && known.record.revision === record.revision) {
        known.dispatcher.configure(record);
        known.querying.configure(record);
      } else {
        if (known) await end(known);
        await launch(record).catch(failed); // the other connectors continue
      }
    }
    await waysOut.follow(records);
  }

  function wake(): void {
    for (const { dispatcher } of running.values()) dispatcher.wake();
  }

  const follows = createRepeat({ clock, everyMs: settings.pollMs, work: follow, failed });

  return {
    async start() {
      await follows.run(); // a stop meanwhile waits for this run
      follows.start();
    },
    wake,
    runningOf(name) {
      const found = running.get(name);
      return found && { revision: found.record.revision, connector: found.connector };
    },
    settled: () => settler.empty(),
    async stop() {
      await follows.stop();
      await Promise.all([...running.values()].map(end));
      await settler.empty();
      await waysOut.flush().catch(failed);
    },
  };
}

// Without the database nothing is settled; then the receipt is refused as any other.
const ANSWERS_WAIT_MS = 1_000;

/**
 * A receipt often comes with the answer to its submission. It waits until that is on disk: it would
 * not find its submission before, and a receipt that is held costs twice as many statements. This
 * and one question about opt-outs for many messages brought a message by SMPP to 0.86 of the CPU.
 */
function afterAnswers(events: CarrierEvents, settler: Settler, clock: Clock): CarrierEvents {
  let ready: Promise<unknown> | undefined;
  async function wait(): Promise<void> {
    await nextTurn(); // answers of this turn are on their way to the settler
    ready = undefined;
    const written = settler.written();
    if (written) await within(clock, ANSWERS_WAIT_MS, written, undefined);
  }
  return {
    ...events,
    async receipt(receipt) {
      ready ??= wait();
      await ready;
      await events.receipt(receipt);
    },
  };
}
