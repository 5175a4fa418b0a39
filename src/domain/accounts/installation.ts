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
 * since the backup is given to another row. An account would have to send 100 million messages in
 * the lost time. Contacts and groups have 2^30 ids, which suffices for a thousand restores.
 */
const GAPS: Readonly<Record<IdKind, bigint>> = {
  contact: 1_000_000n,
  group: 1_000_000n,
  message: 100_000_000n,
  template: 1_000_000n,
  write: 100_000_000n,
};

export async function skipIds(queries: Queries): Promise<void> {
  for (const [kind, gap] of Object.entries(GAPS)) {
    await queries.run(sql.skipIds, { kind, gap, last: LAST_COUNTED[kind as IdKind] });
  }
}
