import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** Rows of a person, found by number. These tables have no index by number. */
type Page = { account: AccountKey; from: bigint; limit: number };

/**
 * A page of the ids that start at `from`, of every generation, so that it includes emptied inboxes
 * that are not purged yet.
 */
export const senders = statement<Page, { message_id: bigint; sender: string | null }>(
  'persons.senders',
  `select message_id, sender from received where account_id = :account and message_id >= :from
   order by message_id {limit :limit}`,
);
export const recipients = statement<Page, { message_id: bigint; recipient: string | null }>(
  'persons.recipients',
  `select message_id, recipient from sent where account_id = :account and message_id >= :from
   order by message_id {limit :limit}`,
);
