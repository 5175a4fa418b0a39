/**
 * The number of messages of each state in an account. Triggers change it in the transaction that
 * changes a message, so counting costs the same for ten messages and for ten million. Emptying an
 * inbox gives it the next generation. No statement reads rows of older generations, which the purge
 * deletes later in batches.
 */
export const tallyTables = `
  create table tally (
    account_id bigint primary key references account on delete cascade,
    generation bigint not null default 0,
    purged_generation bigint not null default 0,
    unread bigint not null default 0,
    read bigint not null default 0,
    unmarked bigint not null default 0
  ) {clustered};
  create index tally_to_purge on tally (account_id) where purged_generation < generation;
  alter table received add column generation bigint not null default 0;
  create index received_by_arrival on received (account_id, generation, received_at, message_id);
  create index received_unread on received (account_id, generation, received_at, message_id) where is_read = 0;
  drop index received_by_time;
  drop index received_by_state;
  insert into tally (account_id, unread, read, unmarked)
    select account_id,
      (select count(*) from received where received.account_id = account.account_id and is_read = 0),
      (select count(*) from received where received.account_id = account.account_id and is_read <> 0),
      (select count(*) from sent where sent.account_id = account.account_id and is_marked = 0)
    from account;
`;

export const sqliteTrigger = (
  event: string,
  table: string,
  changes: Readonly<Record<string, string>>,
  which: string,
) => `
  create trigger ${table}_${event.replaceAll(' ', '_')} after ${event} on ${table} begin
    update tally set ${Object.entries(changes)
      .map(([column, change]) => `${column} = ${column} + ${change}`)
      .join(', ')} where ${which};
  end;`;

export const newInbox = 'account_id = new.account_id and generation = new.generation';
export const oldInbox = 'account_id = old.account_id and generation = old.generation';

/** SQLite has only row triggers, which cost little. */
export const sqliteTriggers = `
  create trigger account_insert after insert on account begin
    insert into tally (account_id) values (new.account_id);
  end;
  ${sqliteTrigger('insert', 'received', { unread: '(new.is_read = 0)', read: '(new.is_read <> 0)' }, newInbox)}
  ${sqliteTrigger('delete', 'received', { unread: '-(old.is_read = 0)', read: '-(old.is_read <> 0)' }, oldInbox)}
  ${sqliteTrigger(
    'update of is_read',
    'received',
    { unread: '(new.is_read = 0) - (old.is_read = 0)', read: '(new.is_read <> 0) - (old.is_read <> 0)' },
    `${newInbox} and new.is_read <> old.is_read`,
  )}
  ${sqliteTrigger('insert', 'sent', { unmarked: '1' }, 'account_id = new.account_id and new.is_marked = 0')}
  ${sqliteTrigger('delete', 'sent', { unmarked: '-1' }, 'account_id = old.account_id and old.is_marked = 0')}
  ${sqliteTrigger(
    'update of is_marked',
    'sent',
    { unmarked: '(new.is_marked = 0) - (old.is_marked = 0)' },
    'account_id = new.account_id and new.is_marked <> old.is_marked',
  )}
`;

export const postgresTrigger = (name: string, when: string, body: string) => `
  create or replace function tally_${name}() returns trigger language plpgsql as $$ begin ${body} return null; end $$;
  create trigger tally_${name} after ${when} execute function tally_${name}();`;

const addReceived = (sign: '+' | '-', rows: string) => `
  update tally set unread = tally.unread ${sign} changed.unread, read = tally.read ${sign} changed.read
  from (select account_id, generation, count(*) filter (where is_read = 0) as unread,
          count(*) filter (where is_read <> 0) as read from ${rows} group by account_id, generation) as changed
  where tally.account_id = changed.account_id and tally.generation = changed.generation;`;

const addSent = (sign: '+' | '-', rows: string) => `
  update tally set unmarked = tally.unmarked ${sign} changed.unmarked
  from (select account_id, count(*) as unmarked from ${rows} where is_marked = 0 group by account_id) as changed
  where tally.account_id = changed.account_id;`;

/**
 * On PostgreSQL the trigger runs once per statement, because a row that is updated a thousand times
 * in one transaction gets slower each time.
 */
export const postgresTriggers = `
  ${postgresTrigger('account_insert', 'insert on account for each row', 'insert into tally (account_id) values (new.account_id);')}
  ${postgresTrigger('received_insert', 'insert on received referencing new table as added for each statement', addReceived('+', 'added'))}
  ${postgresTrigger('received_delete', 'delete on received referencing old table as gone for each statement', addReceived('-', 'gone'))}
  ${postgresTrigger(
    'received_update',
    'update of is_read on received for each row when (old.is_read <> new.is_read)',
    `update tally set unread = unread + (case when new.is_read = 0 then 1 else -1 end),
       read = read + (case when new.is_read = 0 then -1 else 1 end)
     where account_id = new.account_id and generation = new.generation;`,
  )}
  ${postgresTrigger('sent_insert', 'insert on sent referencing new table as added for each statement', addSent('+', 'added'))}
  ${postgresTrigger('sent_delete', 'delete on sent referencing old table as gone for each statement', addSent('-', 'gone'))}
  ${postgresTrigger(
    'sent_update',
    'update of is_marked on sent for each row when (old.is_marked <> new.is_marked)',
    `update tally set unmarked = unmarked + (case when new.is_marked = 0 then 1 else -1 end)
     where account_id = new.account_id;`,
  )}
`;
