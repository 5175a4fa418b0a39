/**
 * message_draft: what somebody wrote in the console and has checked, from the check until it is
 * sent, so that the check is a page with an address. `content` is JSON with numbers and texts. It
 * is dropped when the messages are accepted; `result` then is where they are. Rows are deleted
 * after a day.
 */
export const draftTable = `
  create table message_draft (
    account_id bigint not null references account on delete cascade,
    draft_id text {binary} not null,
    owner text {binary} not null,
    saved_at bigint not null,
    bytes bigint not null,
    content text,
    result text,
    primary key (account_id, draft_id)
  );
  create index message_draft_by_time on message_draft (saved_at);
`;
