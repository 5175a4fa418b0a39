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
  return row && sql.installationColumns.read(row);
}

export async function writeInstallation(queries: Queries, installation: Installation): Promise<void> {
  await queries.run(sql.put, { ...installation });
}

/** Greater than every generation before: the time of the restore, unless the clock was put back. */
export const nextGeneration = (before: bigint, at: number): bigint => (before >= BigInt(at) ? before + 1n : BigInt(at));

/**
 * How many ids of each kind a restore skips in every account, so that no id that a client has seen
 * since the backup is given to another row. The same backup may be restored twice, and what was
 * given after the first restore is unknown to the second. So the gap grows with the time since the
 * restore before, and by one more for each other restore that is known.
 *
 * An account would have to use 100 million message ids in the lost time, or 10,000 a second for all
 * the time between two restores. Contacts and groups have 2^30 ids: a million for each restore, and
 * 64 for each minute, which use up half of them in 15 years.
 */
const GAPS: Readonly<Record<IdKind, bigint>> = {
  contact: 1_000_000n,
  group: 1_000_000n,
  message: 100_000_000n,
  template: 100_000_000n,
  write: 100_000_000n,
};
const IDS_PER_MS = 10n;
const NARROW_IDS_PER_MINUTE = 64n;
const MINUTE_MS = 60_000n;
/** Before the first generation of any database. */
const FIRST_MS = BigInt(Date.UTC(2026, 0, 1));
/** A clock that was wrong once does not use up the ids. */
const NARROW_SHARE = 8n;

export interface Skipped {
  /** The generation before the restore; 0 for a database that was never served. */
  readonly from: bigint;
  readonly to: bigint;
  /** How many other restores of the same backup are known. */
  readonly others: number;
}

export async function skipIds(queries: Queries, { from, to, others }: Skipped): Promise<void> {
  const begin = from > FIRST_MS ? from : FIRST_MS;
  const sinceMs = to > begin ? to - begin : 0n;
  for (const [kind, least] of Object.entries(GAPS)) {
    const last = LAST_COUNTED[kind as IdKind];
    const isNarrow = last <= LAST_COUNTED.contact;
    const more = isNarrow ? (sinceMs * NARROW_IDS_PER_MINUTE) / MINUTE_MS : sinceMs * IDS_PER_MS;
    const wanted = least * BigInt(1 + others) + more;
    const gap = isNarrow && wanted > last / NARROW_SHARE ? last / NARROW_SHARE : wanted;
    await queries.run(sql.skipIds, { kind, gap, last });
  }
}
