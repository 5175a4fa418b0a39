import { badField, conflict, notFound } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import type { Database, Queries } from '../../store/database.ts';
import { emitEvent } from '../accounts/events.ts';
import { atOfHour, slotOf } from '../messages/hour-counts.ts';
import { createOutboundRoutes } from '../outbound/routes.ts';
import * as sql from './connectors.sql.ts';
import { isAwaited } from './ways.ts';

/** A connector to a carrier: its configuration, its state and its counts. */
export interface ConnectorRecord
  extends Omit<sql.ConnectorValues, 'config' | 'origin' | 'revision' | keyof ConnectorCounts> {
  /** The configuration of its kind, with secrets. Empty for a connector of the file. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly origin: ConnectorOrigin;
  readonly counts: ConnectorCounts;
  /** Differs after every change of the configuration, even if two changes have the same time. */
  readonly revision: string;
}
/** `builtin` is the loopback of an installation without any configured connector. */
export type ConnectorOrigin = 'api' | 'file' | 'builtin';

/** The counts of parts since the connector exists. */
export type ConnectorCounts = sql.ConnectorCounts;
/** The last results since the last write; null if there were none. */
export type LastResults = sql.LastResults;
const ERROR_LENGTH_MAX = 200;
export type NewConnector = Pick<
  ConnectorRecord,
  'name' | 'kind' | 'config' | 'isDefault' | 'submissionsMax' | 'ratePerSecond'
>;

/** Without `isDefault`, the connector stays the default or not. */
export type PutConnector = Omit<NewConnector, 'isDefault'> & { readonly isDefault?: boolean | undefined };

/** The loopback that a service uses if no connector is configured. */
export const BUILTIN_NAME = 'loopback';

export type Connectors = ReturnType<typeof createConnectors>;

export function createConnectors(database: Database, now: () => number) {
  const list = async (): Promise<ConnectorRecord[]> =>
    (await database.all(sql.all, {})).map((row) => toRecord(row, now()));

  async function put(queries: Queries, given: NewConnector, origin: ConnectorOrigin): Promise<void> {
    const { name, kind, config, submissionsMax, ratePerSecond } = given;
    const isDefault = given.isDefault ? 1 : 0;
    const values = { name, kind, config: JSON.stringify(config), origin, isDefault, submissionsMax, ratePerSecond };
    await queries.run(sql.put, { ...values, updatedAt: now(), revision: newRevision(origin) });
    if (given.isDefault) await queries.run(sql.onlyDefault, { name });
  }

  return {
    list,

    async show(name: string): Promise<ConnectorRecord> {
      const row = await database.first(sql.byName, { name });
      if (!row) throw notFound(`connector with the name ${name}`);
      return toRecord(row, now());
    },

    /**
     * Adds a connector or replaces its configuration; its state and counts stay. Without
     * `isDefault`, a default connector stays the default.
     */
    async put(given: PutConnector): Promise<ConnectorRecord> {
      const found = await database.first(sql.byName, { name: given.name });
      if (found?.origin === 'file')
        throw conflict('The connector is configured in the connector file. Change it there.');
      const wasDefault = found?.is_default === 1n;
      if (wasDefault && given.isDefault === false) throw noDefault();
      await put(database, { ...given, isDefault: given.isDefault ?? wasDefault }, 'api');
      return this.show(given.name);
    },

    async remove(name: string): Promise<void> {
      const { origin, isDefault } = await this.show(name);
      if (origin === 'file') throw conflict('The connector is configured in the connector file. Remove it there.');
      const { accounts = 0n } = (await database.first(sql.inUse, { name })) ?? {};
      const naming = accounts === 1n ? '1 account names' : `${accounts} accounts name`;
      if (accounts > 0n) throw conflict(`${naming} this connector. Give each another connector first.`);
      if (isDefault) throw noDefault();
      await refuseIfRouted(database, now, name);
      await database.run(sql.remove, { name });
      await database.run(sql.removeHours, { name });
    },

    async setPaused(name: string, isPaused: boolean): Promise<ConnectorRecord> {
      await this.show(name);
      await database.run(sql.setPaused, { name, pausedAt: isPaused ? now() : null });
      return this.show(name);
    },

    /**
     * Makes the table match the file of connectors, at the start of a dispatcher. If no connector
     * is configured at all, it adds the built-in one.
     */
    async prepare(ofFile: readonly NewConnector[], builtin: NewConnector): Promise<void> {
      const known = await list();
      for (const connector of ofFile) {
        const given = { ...connector, config: {} };
        // Unchanged connectors are not written, because each write makes all processes restart
        // them.
        if (!known.some((each) => isSame(each, given))) await put(database, given, 'file');
      }
      const names = new Set(ofFile.map(({ name }) => name));
      for (const { name, origin } of known) {
        if (origin === 'file' && !names.has(name)) await database.run(sql.remove, { name });
      }
      if ((await list()).length === 0) await put(database, builtin, 'builtin');
    },

    ...createConnectorState(database, now),
  };
}

/**
 * Processes that start at the same time all put the built-in connector. With different revisions,
 * each of them would make the others restart it.
 */
const newRevision = (origin: ConnectorOrigin): string =>
  origin === 'builtin' ? origin : randomBytes(8).toString('hex');

/** Refuses a name that no connector has. Connectors of the file may not be in the table yet. */
export async function requireConnector(
  database: Database,
  name: string,
  ofFile: () => readonly string[],
): Promise<void> {
  const stored = (await database.all(sql.all, {})).map((row) => row.name);
  if (stored.includes(name)) return;
  const names = [...new Set([...stored, ...ofFile()])];
  const known = names.length > 0 ? names : [BUILTIN_NAME];
  if (known.includes(name)) return;
  throw badField('connector', `there is no such connector; expected one of ${known.sort().join(', ')}`);
}

/** Messages of a route to a connector that is gone would wait for ever. */
async function refuseIfRouted(database: Database, now: () => number, name: string): Promise<void> {
  const routes = await createOutboundRoutes(database, now).list();
  const naming = routes.filter(({ ways }) => ways.some(({ connector }) => connector === name));
  if (naming.length > 0) {
    const names = naming.map((route) => route.name).join(', ');
    throw conflict(`The connector is a way of the outbound routes ${names}. Change or remove them first.`);
  }
  if (await isAwaited(database, name)) {
    throw conflict('Messages of an outbound route wait for this connector. Remove it when they are sent.');
  }
}

/** Without a default, the messages of accounts that name no connector would wait for ever. */
const noDefault = () =>
  conflict('This is the default connector, which accounts use that name no other. Make another one the default first.');

/** What dispatchers write about connectors: outages, counts, and permits of the rate. */
function createConnectorState(database: Database, now: () => number) {
  return {
    /** Only the process that notices an outage first emits the event; likewise for its end. */
    setDown: (name: string, reason: string): Promise<void> =>
      database.transaction(null, async (queries) => {
        const at = now();
        const isNew = (await queries.run(sql.setDown, { name, since: at, reason })) > 0;
        if (isNew) await emitEvent(queries, { type: 'connector.down', at, connector: name, reason });
        else await queries.run(sql.setDownReason, { name, reason });
      }),
    setUp: (name: string): Promise<void> =>
      database.transaction(null, async (queries) => {
        if ((await queries.run(sql.setUp, { name })) === 0) return;
        await emitEvent(queries, { type: 'connector.up', at: now(), connector: name, reason: null });
      }),
    /** Outbound routes pass over the connector for a while. */
    async avoid(name: string, until: number, reason: string): Promise<void> {
      await database.run(sql.avoid, { name, until, reason: reason.slice(0, ERROR_LENGTH_MAX) });
    },
    async addCounts(name: string, counts: ConnectorCounts, last: LastResults): Promise<void> {
      const lastError = last.lastError?.slice(0, ERROR_LENGTH_MAX) ?? null;
      await database.run(sql.addCounts, { name, ...counts, ...last, lastError });
      await database.run(sql.addToHour, { name, ...slotOf(now()), ...counts, delivered: 0, failed: 0 });
    },
    /** Without receipts, SUBMITTED is the last that is known of a message. */
    async setSendsReceipts(name: string, sendsReceipts: boolean): Promise<void> {
      await database.run(sql.setSendsReceipts, { name, sendsReceipts: sendsReceipts ? 1 : 0 });
    },
    /** Keeps it for the operator, in place of the one before. */
    async setUnreadAnswer(name: string, answer: string): Promise<void> {
      await database.run(sql.setUnreadAnswer, { name, answer, at: now() });
    },

    /** Takes permits for at most `wanted` submissions at this rate; 0 if none are free now. */
    async takePermits(name: string, ratePerSecond: number, wanted: number): Promise<number> {
      const at = now();
      // A tenth of a second at once, so that the permits of all processes alternate.
      const count = Math.min(wanted, Math.max(1, Math.floor(ratePerSecond / 10)));
      const until = at + permitsMs(count, ratePerSecond);
      const row = await database.first(sql.takePermits, { name, now: at, until, farAhead: at + FAR_AHEAD_MS });
      return row ? count : 0;
    },
    /** Corrects the rate by the parts beyond the taken permits (below 0 for unused ones). */
    async correctPermits(name: string, ratePerSecond: number, parts: number): Promise<void> {
      if (parts !== 0) await database.run(sql.correctPermits, { name, ms: permitsMs(parts, ratePerSecond) });
    },
  };
}

/** What became of the parts that were given to a connector, in one hour. */
export interface ConnectorHour extends ConnectorCounts {
  readonly connector: string;
  /** The beginning of the hour. */
  readonly at: number;
  /** Parts of which a receipt said that they have arrived, or that they will not. */
  readonly delivered: number;
  readonly failed: number;
}

/** The hours since `from` of all connectors; at most 744 of each. */
export async function connectorHours(queries: Queries, from: number): Promise<ConnectorHour[]> {
  const rows = await queries.all(sql.hoursSince, { from: slotOf(from).hour });
  return rows.map((row) => ({
    connector: row.connector,
    at: atOfHour(row.hour),
    accepted: Number(row.accepted),
    temporary: Number(row.temporary),
    permanent: Number(row.permanent),
    unknownOutcome: Number(row.unknown_outcome),
    delivered: Number(row.delivered),
    failed: Number(row.failed),
  }));
}

/** Counts the receipts of parts. */
export async function countReceipts(
  queries: Pick<Queries, 'run'>,
  name: string,
  counts: { readonly delivered: number; readonly failed: number },
  at: number,
): Promise<void> {
  const none = { accepted: 0, temporary: 0, permanent: 0, unknownOutcome: 0 };
  await queries.run(sql.addToHour, { name, ...slotOf(at), ...none, ...counts });
}

/** Whether the table has a connector of the file unchanged. */
const isSame = (known: ConnectorRecord, given: NewConnector): boolean =>
  known.origin === 'file' &&
  known.name === given.name &&
  known.kind === given.kind &&
  known.isDefault === given.isDefault &&
  known.submissionsMax === given.submissionsMax &&
  known.ratePerSecond === given.ratePerSecond;

// Longer than the permits of one claim can take: 255 s for 255 parts at 1 part a second.
const FAR_AHEAD_MS = 10 * 60_000;

const permitsMs = (count: number, ratePerSecond: number): number => Math.ceil((count * 1_000) / ratePerSecond);

function toRecord(row: sql.ConnectorRow, at: number): ConnectorRecord {
  const { accepted, temporary, permanent, unknownOutcome, ...values } = sql.connectorColumns.read(row);
  const isAvoided = values.avoidedUntil !== null && values.avoidedUntil > at;
  return {
    ...values,
    ...(!isAvoided && { avoidedUntil: null, avoidedReason: null }),
    config: JSON.parse(values.config),
    origin: values.origin as ConnectorOrigin,
    counts: { accepted, temporary, permanent, unknownOutcome },
    // A process of the previous version changes only the time.
    revision: `${values.revision ?? ''} ${values.updatedAt}`,
  };
}
