import { statement } from '../statement.ts';

/** About all accounts together, for the operator: nobody's call waits for these. */
export const messages = statement<Record<string, never>, { unread: bigint; read: bigint }>(
  'figures.messages',
  `select cast(coalesce(sum(unread), 0) as bigint) as unread, cast(coalesce(sum(read), 0) as bigint) as read from tally`,
);
/** Up to a limit: nothing counts these, and there may be millions. */
export const scheduled = statement<{ limit: number }, { total: bigint }>(
  'figures.scheduled',
  'select count(*) as total from (select 1 from scheduled {limit :limit}) as counted',
);
export const toPurge = statement<Record<string, never>, { total: bigint }>(
  'figures.toPurge',
  'select count(*) as total from tally where purged_generation < generation',
);
/** For `check`. */
export const status = statement<Record<string, never>, { bytes: bigint; version: bigint; accounts: bigint }>(
  'figures.status',
  `select {size} as bytes, (select max(version) from schema_version) as version, (select count(*) from account) as accounts`,
);
