import { newInbox, oldInbox, sqliteTrigger } from './tally.ts';

/**
 * The version of an account is a number that is new after every change that a call of the account
 * can show, and after every change of its user_ids. It is a column of the tally, whose row most
 * changes write anyway. Each row belongs to one account, so writers of different accounts never
 * wait for each other.
 *
 * A version is drawn at random, so it names one state for ever: after a restore, or after a
 * failover that lost writes, no other state gets a lost version. It has 53 bits, which a `number`
 * holds exactly.
 *
 * Tables of which the contract shows nothing, such as `ledger` and `dispatch`, have no trigger.
 */
export const accountVersionColumn = `
  alter table tally add column version bigint not null default 0;
`;

/** Tables in which every change is a change of the account. */
const TABLES = ['credential', 'contact_group', 'contact', 'template', 'blocked_number', 'scheduled'] as const;
/**
 * Tables whose inserts and deletes the tally counts already (tally.ts), so that only updates need a
 * trigger.
 */
const COUNTED = ['received', 'unread_message'] as const;

export const SQLITE_VERSION = 'random() & 9007199254740991';
const sqliteRenew = (event: string, table: string, row: 'new' | 'old') => `
  create trigger version_${table}_${event} after ${event} on ${table} begin
    update tally set version = ${SQLITE_VERSION} where account_id = ${row}.account_id;
  end;`;

/** A trigger of the tally, extended to draw a new version in the same update. */
const sqliteCount = (event: string, table: string, changes: Readonly<Record<string, string>>, which: string) =>
  sqliteTrigger(event, table, changes, which).replace('tally set', `tally set version = ${SQLITE_VERSION},`);

export const sqliteAccountVersion = `
  update tally set version = ${SQLITE_VERSION};
  ${TABLES.flatMap((table) => [
    sqliteRenew('insert', table, 'new'),
    sqliteRenew('update', table, 'new'),
    sqliteRenew('delete', table, 'old'),
  ]).join('')}
  ${[...COUNTED, 'account'].map((table) => sqliteRenew('update', table, 'new')).join('')}
  ${[
    'received_insert',
    'received_delete',
    'unread_message_insert',
    'unread_message_delete',
    'sent_insert',
    'sent_delete',
  ]
    .map((name) => `drop trigger ${name};`)
    .join(' ')}
  drop trigger sent_update_of_is_marked;
  ${sqliteCount('insert', 'received', { read: '1' }, newInbox)}
  ${sqliteCount('delete', 'received', { read: '-1' }, oldInbox)}
  ${sqliteCount('insert', 'unread_message', { unread: '1', read: '-1' }, newInbox)}
  ${sqliteCount('delete', 'unread_message', { unread: '-1', read: '1' }, oldInbox)}
  ${sqliteCount('insert', 'sent', { unmarked: '(new.is_marked = 0)' }, 'account_id = new.account_id')}
  ${sqliteCount('delete', 'sent', { unmarked: '-(old.is_marked = 0)' }, 'account_id = old.account_id')}
  ${sqliteCount('update', 'sent', { unmarked: '(new.is_marked = 0) - (old.is_marked = 0)' }, 'account_id = new.account_id')}
  create trigger version_tally_generation after update of generation on tally when new.generation <> old.generation begin
    update tally set version = ${SQLITE_VERSION} where account_id = new.account_id;
  end;
  drop trigger account_insert;
  create trigger account_insert after insert on account begin
    insert into tally (account_id, version) values (new.account_id, ${SQLITE_VERSION});
  end;
`;

const POSTGRES_VERSION = '(random() * 9007199254740991)::bigint';
const renewed = `version = ${POSTGRES_VERSION}`;
const ADDED = 'insert on $ referencing new table as changed';
const UPDATED = 'update on $ referencing new table as changed';
const GONE = 'delete on $ referencing old table as changed';

const postgresFunction = (name: string, body: string) =>
  `create or replace function ${name}() returns trigger language plpgsql as $$ begin ${body} end $$;`;
/** Runs once per statement, like the triggers of the tally. */
const postgresRenew = (table: string, events: readonly string[]) =>
  events
    .map(
      (event) => `
  create trigger version_${table}_${event.slice(0, 6)} after ${event.replace('$', table)}
    for each statement execute function version_renew();`,
    )
    .join('');
/** Replaces a function of the tally by one that also draws a new version in the same update. */
const postgresCount = (name: string, rows: string, changes: string) =>
  postgresFunction(
    `tally_${name}`,
    `update tally set ${changes}, ${renewed}
     from (select account_id, generation, count(*) as messages from ${rows} group by account_id, generation) as changed
     where tally.account_id = changed.account_id and tally.generation = changed.generation; return null;`,
  );
const postgresSent = (name: string, rows: string) =>
  postgresFunction(
    `tally_${name}`,
    `update tally set unmarked = tally.unmarked + changed.unmarked, ${renewed}
     from (select account_id, sum(unmarked) as unmarked from (${rows}) as messages group by account_id) as changed
     where tally.account_id = changed.account_id; return null;`,
  );
const unmarkedOf = (rows: string, sign: '' | '-') =>
  `select account_id, ${sign}(is_marked = 0)::int as unmarked from ${rows}`;

export const postgresAccountVersion = `
  update tally set ${renewed};
  ${postgresFunction(
    'version_renew',
    `update tally set ${renewed} where account_id in (select account_id from changed); return null;`,
  )}
  ${postgresFunction('version_of_row', `update tally set ${renewed} where account_id = new.account_id; return null;`)}
  ${postgresFunction('version_of_tally', `new.version = ${POSTGRES_VERSION}; return new;`)}
  ${TABLES.map((table) => postgresRenew(table, [ADDED, UPDATED, GONE])).join('')}
  ${COUNTED.map((table) => postgresRenew(table, [UPDATED])).join('')}
  create trigger version_account_update after update on account for each row execute function version_of_row();
  create trigger version_tally_update before update of generation on tally for each row
    when (old.generation <> new.generation) execute function version_of_tally();
  ${postgresFunction(
    'tally_account_insert',
    `insert into tally (account_id, version) values (new.account_id, ${POSTGRES_VERSION}); return null;`,
  )}
  ${postgresCount('received_insert', 'added', 'read = tally.read + changed.messages')}
  ${postgresFunction(
    'tally_received_delete',
    `delete from unread_message using gone where unread_message.account_id = gone.account_id and unread_message.generation = gone.generation
       and unread_message.received_at = gone.received_at and unread_message.message_id = gone.message_id;
     update tally set read = tally.read - changed.messages, ${renewed}
     from (select account_id, generation, count(*) as messages from gone group by account_id, generation) as changed
     where tally.account_id = changed.account_id and tally.generation = changed.generation; return null;`,
  )}
  ${postgresCount('unread_insert', 'added', 'unread = tally.unread + changed.messages, read = tally.read - changed.messages')}
  ${postgresCount('unread_delete', 'gone', 'unread = tally.unread - changed.messages, read = tally.read + changed.messages')}
  ${postgresSent('sent_insert', unmarkedOf('added', ''))}
  ${postgresSent('sent_delete', unmarkedOf('gone', '-'))}
  drop trigger tally_sent_update on sent;
  ${postgresSent('sent_update', `${unmarkedOf('added', '')} union all ${unmarkedOf('gone', '-')}`)}
  create trigger tally_sent_update after update on sent referencing new table as added old table as gone
    for each statement execute function tally_sent_update();
`;
