import { EVERY_ACCOUNT, statement } from '../../store/statement.ts';

/** The row about the installation: see schema/installation.ts. */
export interface InstallationRow {
  generation: bigint;
  run: string;
  place: string;
  timeline: string;
  copied_at: bigint | null;
  restored_at: bigint | null;
}

export const read = statement<Record<string, never>, InstallationRow>(
  'installation.read',
  'select generation, run, place, timeline, copied_at, restored_at from installation where installation_id = 1',
);
export const put = statement<{
  generation: bigint;
  run: string;
  place: string;
  timeline: string;
  copiedAt: number | null;
  restoredAt: number | null;
}>(
  'installation.put',
  `insert into installation (installation_id, generation, run, place, timeline, copied_at, restored_at)
   values (1, :generation, :run, :place, :timeline, :copiedAt, :restoredAt)
   on conflict (installation_id) do update set generation = excluded.generation, run = excluded.run,
     place = excluded.place, timeline = excluded.timeline, copied_at = excluded.copied_at, restored_at = excluded.restored_at`,
  { affects: 'none' },
);
/**
 * Raises a counter of every account by `gap`, also where the account has no such counter yet. Near
 * the end of its range, a counter skips half of what is left.
 */
export const skipIds = statement<{ kind: string; gap: bigint; last: bigint }>(
  'installation.skipIds',
  `insert into id_counter (account_id, kind, last_id)
   select account_id, cast(:kind as text), cast(:gap as bigint) from account where ${EVERY_ACCOUNT}
   on conflict (account_id, kind) do update set last_id =
     case when id_counter.last_id <= cast(:last as bigint) - cast(:gap as bigint) then id_counter.last_id + cast(:gap as bigint)
       when id_counter.last_id < cast(:last as bigint) then id_counter.last_id + (cast(:last as bigint) - id_counter.last_id) / 2
       else id_counter.last_id end`,
  { affects: 'none' },
);
