/**
 * search_entry: which messages and contacts have a word, a number, a reference or an id. The index
 * is filled behind the write (domain/search/indexer.ts), so that no call of the contract waits for
 * it. What begins with a character below `0` (numbers, references, ids) is looked up by operators
 * over all accounts, so it has an index of its own. Step 44 makes the table anew, see below.
 *
 * search_change: rows that differ from the index. `was_…` is what the index has of the row; without
 * `was_at` it has nothing. Triggers add at most one row for each message or contact, in the
 * transaction that changes it. The table has no foreign key: a row of an account that is being
 * deleted would break it, and every delete would lock the row of its account on PostgreSQL.
 *
 * search_backfill: accounts from before this migration. Their messages are added to the index while
 * the service runs, from the highest id of each kind down. Its `kind` is a position in the order of
 * the kinds: contacts come first.
 *
 * conversation: the last message from or to each number, in the form that numbers are compared in.
 *
 * Kinds: 1 received, 2 sent, 3 scheduled, 4 contact.
 */
export const searchTables = `
  create table search_entry (
    account_id bigint not null references account on delete cascade,
    token text {binary} not null,
    at bigint not null,
    kind bigint not null,
    item_id bigint not null,
    primary key (account_id, token, at, kind, item_id)
  ) {clustered};
  create index search_entry_everywhere on search_entry (token, at, account_id, kind, item_id) where token < '0';
  create table search_change (
    account_id bigint not null,
    kind bigint not null,
    item_id bigint not null,
    was_at bigint,
    was_number text, was_text text, was_reference text,
    primary key (account_id, kind, item_id)
  ) {clustered};
  create table search_backfill (
    account_id bigint primary key references account on delete cascade,
    kind bigint not null,
    to_id bigint not null
  ) {clustered};
  insert into search_backfill (account_id, kind, to_id) select account_id, 1, 9223372036854775807 from account;
  create table conversation (
    account_id bigint not null references account on delete cascade,
    number text {binary} not null,
    last_at bigint not null,
    last_kind bigint not null,
    last_id bigint not null,
    primary key (account_id, number)
  ) {clustered};
  create index conversation_by_time on conversation (account_id, last_at, number);
`;

interface Source {
  readonly table: string;
  readonly kind: number;
  readonly id: string;
  readonly at: string;
  readonly number: string;
  readonly text: string;
  readonly reference: string;
  /** The columns whose change has to reach the index. */
  readonly columns: readonly string[];
}

const message = { id: 'message_id', text: '$.text' };
const SOURCES: readonly Source[] = [
  {
    ...message,
    table: 'received',
    kind: 1,
    at: 'received_at',
    number: '$.sender',
    reference: 'null',
    columns: ['sender', 'text', 'received_at'],
  },
  {
    ...message,
    table: 'sent',
    kind: 2,
    at: 'sent_at',
    number: '$.recipient',
    reference: '$.reference',
    columns: ['recipient', 'text', 'reference', 'sent_at'],
  },
  {
    ...message,
    table: 'scheduled',
    kind: 3,
    at: 'scheduled_at',
    number: '$.recipient',
    reference: '$.reference',
    columns: ['recipient', 'text', 'reference', 'scheduled_at'],
  },
  {
    table: 'contact',
    kind: 4,
    id: 'contact_id',
    at: '0',
    number: '$.mobile',
    text: "coalesce($.name, '') || ' ' || coalesce($.surname, '')",
    reference: 'null',
    columns: ['name', 'surname', 'mobile'],
  },
];

const ADDED = 'insert into search_change (account_id, kind, item_id)';
const WAS = 'insert into search_change (account_id, kind, item_id, was_at, was_number, was_text, was_reference)';
const KEPT = 'on conflict (account_id, kind, item_id) do nothing';

const wasOf = ({ kind, id, at, number, text, reference }: Source, row: string): string =>
  `${row}.account_id, ${kind}, ${row}.${id}, ${at === '0' ? at : `${row}.${at}`}, ${[number, text, reference].map((each) => each.replaceAll('$', row)).join(', ')}`;

export const sqliteSearch = `
  ${SOURCES.map(
    (source) => `
  create trigger search_${source.table}_insert after insert on ${source.table} begin
    ${ADDED} values (new.account_id, ${source.kind}, new.${source.id}) ${KEPT};
  end;
  create trigger search_${source.table}_update after update of ${source.columns.join(', ')} on ${source.table}
    when ${source.columns.map((column) => `old.${column} is not new.${column}`).join(' or ')} begin
    ${WAS} values (${wasOf(source, 'old')}) ${KEPT};
  end;
  create trigger search_${source.table}_delete after delete on ${source.table} begin
    ${WAS} select ${wasOf(source, 'old')} where exists (select 1 from account where account_id = old.account_id) ${KEPT};
  end;`,
  ).join('')}
  create trigger search_account_delete after delete on account begin
    delete from search_change where account_id = old.account_id;
  end;
`;

interface Trigger {
  readonly name: string;
  readonly when: string;
  readonly body: string;
}
const functionOf = ({ name, body }: Trigger): string => `
  create or replace function search_${name}() returns trigger language plpgsql as $$ begin ${body} return null; end $$;`;
const triggerOf = (trigger: Trigger): string => `${functionOf(trigger)}
  create trigger search_${trigger.name} ${trigger.when} execute function search_${trigger.name}();`;

/** Inserts and deletes are noted once per statement; an update of these columns is rare. */
const notes = (kept: string): Trigger[] =>
  SOURCES.flatMap((source) => [
    {
      name: `${source.table}_insert`,
      when: `after insert on ${source.table} referencing new table as added for each statement`,
      body: `${ADDED} select account_id, ${source.kind}, ${source.id} from added ${kept};`,
    },
    {
      name: `${source.table}_update`,
      when: `after update of ${source.columns.join(', ')} on ${source.table} for each row
      when ((${source.columns.map((column) => `old.${column}`).join(', ')}) is distinct from (${source.columns.map((column) => `new.${column}`).join(', ')}))`,
      body: `${WAS} values (${wasOf(source, 'old')}) ${kept};`,
    },
    {
      name: `${source.table}_delete`,
      when: `after delete on ${source.table} referencing old table as gone for each statement`,
      body: `${WAS} select ${wasOf(source, 'gone')} from gone
       where exists (select 1 from account where account.account_id = gone.account_id) ${kept};`,
    },
  ]);

export const postgresSearch = [
  ...notes(KEPT),
  {
    name: 'account_delete',
    when: 'after delete on account for each row',
    body: 'delete from search_change where account_id = old.account_id;',
  },
]
  .map(triggerOf)
  .join('');

/**
 * A note that is there is locked until the change is committed, and the indexer leaves it alone so
 * long. Otherwise it could read a row that is about to be deleted, and remove the note of that.
 */
export const NOTE_LOCKED = 'on conflict (account_id, kind, item_id) do update set was_at = excluded.was_at where false';

/** Statuses of messages that may have reached nobody, as in domain/messages/statuses.ts. */
const UNDELIVERED = "('EXPIRED', 'UNDELIVERABLE', 'REJECTED', 'UNKNOWN')";
const UNDELIVERED_OR_DELETED = "('EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED', 'UNKNOWN')";
const undeliveredWhere = (condition: string) =>
  `create index sent_undelivered on sent (account_id, sent_at, message_id) where ${condition};`;
const undeliveredIndex = (statuses: string) => undeliveredWhere(`status in ${statuses}`);

/**
 * Entries in the order of their kinds, so that a search in received messages alone reads no others.
 * Messages are added to the new table while the service runs. It has no foreign key: PostgreSQL
 * would look up the account for each of the dozen entries of a message. A trigger deletes its rows
 * with their account.
 *
 * Conversations that end with a received message, and those that end with one that did not arrive,
 * have indexes of their own, and so have sent messages that did not arrive.
 */
export const searchByKind = `
  drop table search_entry;
  create table search_entry (
    account_id bigint not null,
    token text {binary} not null,
    kind bigint not null,
    at bigint not null,
    item_id bigint not null,
    primary key (account_id, token, kind, at, item_id)
  ) {clustered};
  create index search_entry_everywhere on search_entry (token, at, account_id, kind, item_id) where token < '0';
  alter table conversation add column is_failed bigint not null default 0;
  create index conversation_unanswered on conversation (account_id, last_at, number) where last_kind = 1;
  create index conversation_failed on conversation (account_id, last_at, number) where is_failed = 1;
  ${undeliveredIndex(UNDELIVERED_OR_DELETED)}
  delete from search_backfill;
  insert into search_backfill (account_id, kind, to_id) select account_id, 6, 9223372036854775807 from account;
`;

const SENT = SOURCES[1] as Source;
const isIn =
  (statuses: string) =>
  (row: string): string =>
    `${row}.status in ${statuses}`;
const DELETE_OF_ACCOUNT = ['search_change', 'search_entry']
  .map((table) => `delete from ${table} where account_id = old.account_id;`)
  .join(' ');

/** A message that has arrived or failed is noted, because its conversation may end with it. */
const sqliteSentUpdate = (isUndelivered: (row: string) => string) => `
  drop trigger search_sent_update;
  create trigger search_sent_update after update of ${SENT.columns.join(', ')}, status on sent
    when ${SENT.columns.map((column) => `old.${column} is not new.${column}`).join(' or ')}
      or (${isUndelivered('old')}) <> (${isUndelivered('new')}) begin
    ${WAS} values (${wasOf(SENT, 'old')}) ${KEPT};
  end;`;
const postgresSentUpdate = (isUndelivered: (row: string) => string) => `
  drop trigger search_sent_update on sent;
  create trigger search_sent_update after update of ${SENT.columns.join(', ')}, status on sent for each row
    when ((${SENT.columns.map((column) => `old.${column}`).join(', ')}, ${isUndelivered('old')}) is distinct from
      (${SENT.columns.map((column) => `new.${column}`).join(', ')}, ${isUndelivered('new')}))
    execute function search_sent_update();`;

export const sqliteSearchByKind = `
  ${sqliteSentUpdate(isIn(UNDELIVERED_OR_DELETED))}
  drop trigger search_account_delete;
  create trigger search_account_delete after delete on account begin ${DELETE_OF_ACCOUNT} end;
`;

export const postgresSearchByKind = `
  ${postgresSentUpdate(isIn(UNDELIVERED_OR_DELETED))}
  create or replace function search_account_delete() returns trigger language plpgsql as
    $$ begin ${DELETE_OF_ACCOUNT} return null; end $$;
  ${notes(NOTE_LOCKED).map(functionOf).join('')}
`;

/**
 * A message that the customer cancelled is DELETED, and no failure. Nodes of the previous version
 * list failures without an index until they are replaced.
 */
export const searchWithoutDeleted = `
  drop index sent_undelivered;
  ${undeliveredIndex(UNDELIVERED)}
  update conversation set is_failed = 0 where is_failed = 1 and last_kind = ${SENT.kind} and exists (select 1 from sent
    where sent.account_id = conversation.account_id and sent.message_id = conversation.last_id and sent.status = 'DELETED');
`;
export const sqliteSearchWithoutDeleted = sqliteSentUpdate(isIn(UNDELIVERED));
export const postgresSearchWithoutDeleted = postgresSentUpdate(isIn(UNDELIVERED));

/**
 * DELETED is also what a receipt says of a message that the carrier deleted. It cost its credits
 * and reached nobody, so it is a failure. Nodes of the previous version do not set the column.
 */
const undelivered = (row: string): string =>
  `(${row}status in ${UNDELIVERED} or (${row}status = 'DELETED' and ${row}deleted_by_carrier = 1))`;
const isUndelivered = (row: string): string => undelivered(`${row}.`);
export const searchWithCarriersDeleted = `
  alter table sent add column deleted_by_carrier bigint not null default 0;
  drop index sent_undelivered;
  ${undeliveredWhere(undelivered(''))}
  update sent set deleted_by_carrier = 1 where status = 'DELETED' and exists (select 1 from attempt
    where attempt.account_id = sent.account_id and attempt.message_id = sent.message_id and attempt.status = 'DELETED');
  update conversation set is_failed = 1 where is_failed = 0 and last_kind = ${SENT.kind} and exists (select 1 from sent
    where sent.account_id = conversation.account_id and sent.message_id = conversation.last_id
      and sent.status = 'DELETED' and sent.deleted_by_carrier = 1);
`;
export const sqliteSearchWithCarriersDeleted = sqliteSentUpdate(isUndelivered);
export const postgresSearchWithCarriersDeleted = postgresSentUpdate(isUndelivered);
