import type { Queries } from '../../store/database.ts';
import { type IdKind, LAST_COUNTED } from './ids.ts';
import * as sql from './installation.sql.ts';

/** Which installation a database belongs to, and what a restore changes about ids. */
export interface Installation {
  /** Raised by every restore. */
  readonly generation: bigint;
  /** Drawn at every start of the service. */
  readonly run: string;
  /** On PostgreSQL, the cluster and the database, and the timeline; both are empty on SQLite. */
  readonly place: string;
  readonly timeline: string;
  /** When this copy was made; null for a database that is no copy. */
  readonly copiedAt: number | null;
  readonly restoredAt: number | null;
}

/** Undefined for a database that was never served. */
export async function readInstallation(queries: Queries): Promise<Installation | undefined> {
  const row = await queries.first(sql.read, {});
  return (
    row && {
      generation: row.generation,
      run: row.run,
      place: row.place,
      timeline: row.timeline,
      copiedAt: row.copied_at === null ? null : Number(row.copied_at),
      restoredAt: row.restored_at === null ? null : Number(row.restored_at),
    }
  );
}

export async function writeInstallation(queries: Queries, installation: Installation): Promise<void> {
  await queries.run(sql.put, { ...installation });
}

/** Greater than every generation before: the time of the restore, unless the clock was put back. */
export const nextGeneration = (before: bigint, at: number): bigint => (before >= BigInt(at) ? before + 1n : BigInt(at));

/**
 * How many ids of each kind a restore skips in every account, so that no id that a client has seen
 * since the backup is given to another row: at least so many, and more by the time that has passed
 * since the last restore, because the same backup may be restored twice. What was given after the
 * first restore is unknown to the second.
 *
 * An account would have to send 100 million messages in the lost time, or 10,000 in a second for
 * all the time between two restores. Contacts and groups have 2^30 ids, which suffices for 200
 * restores; the minute of the restore divides them into 64 places of 100,000 ids.
 */
const GAPS: Readonly<Record<IdKind, bigint>> = {
  contact: 1_000_000n,
  group: 1_000_000n,
  message: 100_000_000n,
  template: 100_000_000n,
  write: 100_000_000n,
};
const IDS_PER_MS = 10n;
const PLACES = 64n;
const PLACE_IDS = 100_000n;
const MINUTE_MS = 60_000n;

/** `sinceMs`: how far apart the generations before and after the restore are. */
export async function skipIds(queries: Queries, sinceMs: bigint): Promise<void> {
  for (const [kind, least] of Object.entries(GAPS)) {
    const last = LAST_COUNTED[kind as IdKind];
    const isNarrow = last <= LAST_COUNTED.contact;
    const more = isNarrow ? ((sinceMs / MINUTE_MS) % PLACES) * PLACE_IDS : sinceMs * IDS_PER_MS;
    await queries.run(sql.skipIds, { kind, gap: least + more, last });
  }
}
