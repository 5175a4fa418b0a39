import type { Database, Queries } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import { timeOfAttempts } from './attempts.ts';
import * as sql from './receipts.sql.ts';

/**
 * After a backup was restored: parts that a carrier had before. Their receipts may have come, and
 * been acknowledged, in the time that was lost, so a carrier that can be asked is asked about them.
 * Each is asked about by one process at a time.
 */
/** How often a carrier is asked about a part at most. */
export const ASKED_MAX = 5;
/** Carriers no longer know older ones. */
const OLDEST_MS = 7 * 24 * 3_600_000;
const PAGE = 500;

export interface Asked {
  readonly attemptId: string;
  readonly gatewayId: string;
  /** Null where the message named none, and of an attempt from before an upgrade to 0.2.0. */
  readonly sender: string | null;
  /** How often, with this time. */
  readonly asked: number;
}

/** Notes the parts to ask these connectors about, and returns how many. */
export async function noteQueries(queries: Queries, connectors: readonly string[], at: number): Promise<number> {
  await queries.run(sql.clearQueries, {});
  if (connectors.length === 0) return 0;
  let noted = 0;
  for (let after = timeOfAttempts(at - OLDEST_MS); ; ) {
    const rows = await queries.all(sql.waitingForReceipts, { after, before: timeOfAttempts(at), limit: PAGE });
    const own = rows.filter(({ connector }) => connectors.includes(connector));
    const values = own.map(({ attempt_id, connector, gateway_id, sender }) => [
      attempt_id,
      connector,
      gateway_id,
      sender,
    ]);
    if (values.length > 0) await queries.run(sql.addQueries, { rows: recordsOf(values), dueAt: at });
    noted += values.length;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return noted;
    after = last.attempt_id;
  }
}

// Longer than an answer may take.
const TAKEN_MS = 5 * 60_000;
// Receipts may have come for many of them meanwhile.
const LOOKED_MAX = 100;
/**
 * An id that more parts share is one that the carrier, or a gateway before it, gives to every part.
 * No question reads more of them.
 */
const SHARING_MAX = 1_000;
/** A carrier that still tries to deliver is asked again after these times. */
const AGAIN_MS = [10 * 60_000, 3_600_000, 6 * 3_600_000, 24 * 3_600_000];

export type CarrierQueries = ReturnType<typeof createCarrierQueries>;

/** What one connector is to be asked. */
export function createCarrierQueries(database: Database, connector: string, now: () => number) {
  /**
   * A receipt may have come, or the message was erased. A carrier that used an id again tells about
   * the newest submission with it. An answer about an id that it gives to every part tells nothing.
   */
  async function worthOf(attemptId: string, gatewayId: string): Promise<'ask' | 'skip' | 'skip-id'> {
    if (attemptId < timeOfAttempts(now() - OLDEST_MS)) return 'skip';
    const limit = SHARING_MAX + 1;
    const shared = await database.first(sql.withGatewayId, { connector, gatewayId, attemptId, limit });
    if (shared && shared.sharing > SHARING_MAX) return 'skip-id';
    return shared && shared.own_at !== null && shared.own_at === shared.newest_at ? 'ask' : 'skip';
  }

  return {
    /** When somebody may ask next; null if there is nothing to ask. */
    async nextAt(): Promise<number | null> {
      const next = await database.first(sql.nextQueryAt, { connector });
      return next ? Number(next.due_at) : null;
    },
    /**
     * Takes one part to ask about now, so that no other process does. Null if none is due, if none
     * of many is worth a question, or at a stop.
     */
    async take(isStopping: () => boolean = () => false): Promise<Asked | null> {
      for (let looked = 0; looked < LOOKED_MAX && !isStopping(); looked++) {
        const row = await database.first(sql.takeQuery, { connector, now: now(), until: now() + TAKEN_MS });
        if (!row) return null;
        const { attemptId, gatewayId, sender } = sql.queryColumns.read(row);
        const worth = await worthOf(attemptId, gatewayId);
        if (worth === 'ask') return { attemptId, gatewayId, sender, asked: Number(row.asked) };
        await database.run(sql.removeQuery, { attemptId });
        if (worth === 'skip-id')
          await database.run(sql.removeSharing, { connector, gatewayId, now: now(), limit: PAGE });
      }
      return null;
    },
    /** Nobody asked, because nothing left. */
    async giveBack({ attemptId, asked }: Asked, dueAt: number): Promise<void> {
      await database.run(sql.putOffQuery, { attemptId, dueAt, asked: asked - 1 });
    },
    /** The carrier did not tell yet: it is asked again later, or no more. */
    async putOff({ attemptId, asked }: Asked): Promise<void> {
      const waitMs = AGAIN_MS[asked - 1];
      if (waitMs === undefined || asked >= ASKED_MAX) await database.run(sql.removeQuery, { attemptId });
      else await database.run(sql.putOffQuery, { attemptId, dueAt: now() + waitMs, asked });
    },
    async done({ attemptId }: Asked): Promise<void> {
      await database.run(sql.removeQuery, { attemptId });
    },
    /** The carrier cannot be asked. Returns how many parts wait for their receipts. */
    giveUp: (): Promise<number> => database.run(sql.removeQueriesOf, { connector }),
  };
}
