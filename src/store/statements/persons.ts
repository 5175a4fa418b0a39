import { type AccountKey, statement } from '../statement.ts';

/**
 * What is known about a person, by the numbers in an account's rows. These tables have no index by
 * number.
 */
type Page = { account: AccountKey; from: bigint; limit: number };
/** `ids` is a JSON array of numbers. */
type Ids = { account: AccountKey; ids: string };

/**
 * Of every generation, so also what an emptied inbox has left on disk. In pages: the ids from
 * `from` up.
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
export const deleteReceived = statement<Ids>(
  'persons.deleteReceived',
  'delete from received where account_id = :account and message_id in ({elements :ids})',
);
export const deleteSent = statement<Ids>(
  'persons.deleteSent',
  'delete from sent where account_id = :account and message_id in ({elements :ids})',
);
/** As a transaction of the account does it: nobody else moves its credits meanwhile. */
export const lock = statement<{ account: AccountKey }>(
  'persons.lock',
  'update account set tag = tag where account_id = :account',
);
/** References are the operator's own words, and may quote a number. */
export const clearWords = statement<Ids>(
  'persons.clearWords',
  `update movement set reason = 'erased', reference = null where account_id = :account
     and movement_id in ({elements :ids})`,
);
