import { statement } from '../statement.ts';

/** What emptied inboxes have left, see tally.ts. */
export const next = statement<Record<string, never>, { account_id: bigint; generation: bigint }>(
  'purge.next',
  'select account_id, generation from tally where purged_generation < generation limit 1',
);
/** Some of the rows that nobody sees. */
export const deleteSome = statement<{ account: bigint; generation: bigint; limit: number }>(
  'purge.deleteSome',
  `delete from received where account_id = :account and message_id in
     (select message_id from received where account_id = :account and generation < :generation {limit :limit})`,
);
/** Unless another process has taken some of them, and they are not gone yet. */
export const done = statement<{ account: bigint; generation: bigint }>(
  'purge.done',
  `update tally set purged_generation = :generation
   where account_id = :account and purged_generation < :generation
     and not exists (select 1 from received where account_id = :account and generation < :generation)`,
);
