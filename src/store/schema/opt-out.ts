/**
 * The recipient of a message on its way out, so that an opt-out finds what waits for a number by an
 * index. It is null for rows that a node of the previous version wrote during a rolling upgrade: a
 * claim looks at the blacklist too, so such a message is not sent either.
 *
 * is_answer: 1 for the answer to a STOP or HELP word, which the blacklist does not hold back.
 *
 * The index has only the messages that wait and are no longer in `scheduled`, so a claimed message
 * costs it nothing.
 */
export const optOutColumns = `
  alter table dispatch add column recipient text;
  alter table dispatch add column is_answer bigint not null default 0;
  update dispatch set recipient = coalesce(
    (select recipient from sent where sent.account_id = dispatch.account_id and sent.message_id = dispatch.message_id),
    (select recipient from scheduled
      where scheduled.account_id = dispatch.account_id and scheduled.message_id = dispatch.message_id));
  create index dispatch_by_number_end on dispatch (account_id, {ending recipient}, message_id)
    where state = 'waiting' and is_scheduled = 0;
`;
