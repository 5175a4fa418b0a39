import { statement } from '../../store/statement.ts';

/** Rows of emptied inboxes: see schema/tally.ts. */
export const next = statement<Record<string, never>, { account_id: bigint; generation: bigint }>(
  'purge.next',
  'select account_id, generation from tally where purged_generation < generation limit 1',
);
/** Deletes one batch of rows of older generations. */
export const deleteSome = statement<{ account: bigint; generation: bigint; limit: number }>(
  'purge.deleteSome',
  `delete from received where account_id = :account and message_id in
     (select message_id from received where account_id = :account and generation < :generation {limit :limit})`,
);
/** Ends the purge of an account, unless rows are left that another process is deleting. */
export const done = statement<{ account: bigint; generation: bigint }>(
  'purge.done',
  `update tally set purged_generation = :generation
   where account_id = :account and purged_generation < :generation
     and not exists (select 1 from received where account_id = :account and generation < :generation)`,
);
