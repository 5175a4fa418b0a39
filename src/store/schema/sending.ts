import { postgresTrigger } from './tally.ts';

/**
 * dispatch: messages on their way out, until the carrier has them. A row in `scheduled` or `sent`
 * has the text; this one has what the dispatcher needs. `is_scheduled` tells which of the two.
 * A scheduled message without a row here is not active: it is not sent. So an imported schedule
 * stays with the server that it came from, see domain/sending/schedule.ts.
 *
 * `due_at` is when a dispatcher has to look at the row again: waiting: to submit it. submitting:
 * the lease has run out. unsure: the account's policy decides. undecided: never; an operator or a
 * receipt decides. Migration 27 calls these two states unknown-outcome and needs-decision.
 *
 * dispatch_account: when an account has its next work, and when it was served last. Claims read it
 * first. So one account does not starve another, and a claim costs the same for any number of
 * waiting messages.
 *
 * carrier_connector: ways to carriers. Those of a file have a row too, for their state; their
 * configuration stays in the file. The counts are of parts.
 *
 * attempt: every submission of a part, written before it leaves. It stays for receipts when the
 * message is gone. An attempt_id begins with its time: new ones are neighbours in the index.
 */
export const sendingTables = `
  create table dispatch (
    account_id bigint not null references account on delete cascade,
    message_id bigint not null,
    state text not null,
    due_at bigint not null,
    is_scheduled bigint not null,
    held bigint not null,
    parts bigint not null,
    sender text,
    not_after bigint,
    expires_at bigint not null,
    attempts bigint not null default 0,
    fence bigint not null default 0,
    lease_owner text,
    connector text,
    reason text,
    primary key (account_id, message_id)
  ) {clustered};
  create index dispatch_by_due on dispatch (account_id, state, due_at, message_id);
  create index dispatch_open on dispatch (account_id, message_id) where state in ('unsure', 'undecided');
  create table dispatch_account (
    account_id bigint primary key references account on delete cascade,
    next_due_at bigint not null,
    served_at bigint not null default 0
  ) {clustered};
  create index dispatch_account_by_due on dispatch_account (next_due_at);
  create table attempt (
    account_id bigint not null references account on delete cascade,
    message_id bigint not null,
    attempt bigint not null,
    part bigint not null,
    attempt_id text {binary} not null,
    connector text not null,
    gateway_id text {binary},
    state text not null,
    submitted_at bigint not null,
    status text,
    status_at bigint,
    primary key (account_id, message_id, attempt, part)
  ) {clustered};
  create index attempt_by_id on attempt (attempt_id);
  create index attempt_by_gateway_id on attempt (connector, gateway_id) where gateway_id is not null;
  create table carrier_connector (
    name text {binary} primary key,
    kind text not null,
    config text not null,
    origin text not null,
    is_default bigint not null,
    submissions_max bigint not null,
    rate_per_second bigint,
    next_slot_at bigint not null default 0,
    paused_at bigint,
    down_since bigint,
    down_reason text,
    accepted bigint not null default 0,
    temporary bigint not null default 0,
    permanent bigint not null default 0,
    unsure bigint not null default 0,
    last_accepted_at bigint,
    updated_at bigint not null
  );
`;

export const sqliteSending = `
  create trigger scheduled_gone after delete on scheduled begin
    delete from dispatch where account_id = old.account_id and message_id = old.message_id and is_scheduled = 1;
  end;
`;

export const postgresSending = postgresTrigger(
  'scheduled_delete',
  'delete on scheduled referencing old table as gone for each statement',
  `delete from dispatch using gone where dispatch.account_id = gone.account_id
     and dispatch.message_id = gone.message_id and dispatch.is_scheduled = 1;`,
);

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
