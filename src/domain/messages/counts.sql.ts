import { EVERY_ACCOUNT, statement } from '../../store/statement.ts';

/** Counts of all accounts, for the operator. No call waits for these statements. */
export const messages = statement<Record<string, never>, { unread: bigint; read: bigint }>(
  'counts.messages',
  `select cast(coalesce(sum(unread), 0) as bigint) as unread, cast(coalesce(sum(read), 0) as bigint) as read from tally where ${EVERY_ACCOUNT}`,
);
/** Counts up to a limit, because no table holds this count and there may be millions of rows. */
export const scheduled = statement<{ limit: number }, { total: bigint }>(
  'counts.scheduled',
  'select count(*) as total from (select 1 from scheduled {limit :limit}) as counted',
);
export const toPurge = statement<Record<string, never>, { total: bigint }>(
  'counts.toPurge',
  'select count(*) as total from tally where purged_generation < generation',
);
/** For the command `columba check`. */
export const status = statement<Record<string, never>, { bytes: bigint; version: bigint; accounts: bigint }>(
  'counts.status',
  `select {size} as bytes, (select max(version) from schema_version) as version, (select count(*) from account_directory) as accounts`,
);
