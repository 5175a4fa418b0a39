import { defineColumns, type ParametersOf, type RowOf } from '../../store/columns.ts';
import { EVERY_ACCOUNT, statement } from '../../store/statement.ts';

/** The row about the installation: see schema/installation.ts. */
const fields = {
  generation: 'long',
  run: 'text',
  place: 'text',
  timeline: 'text',
  copiedAt: 'instant?',
  restoredAt: 'instant?',
} as const;
export const installationColumns = defineColumns(fields);
const { names, parameters, assignments } = installationColumns;

export const read = statement<Record<string, never>, RowOf<typeof fields>>(
  'installation.read',
  `select ${names} from installation where installation_id = 1`,
);
export const put = statement<ParametersOf<typeof fields>>(
  'installation.put',
  `insert into installation (installation_id, ${names}) values (1, ${parameters})
   on conflict (installation_id) do update set ${assignments()}`,
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
