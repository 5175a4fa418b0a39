import { SQLITE_VERSION } from './account-version.ts';

/**
 * Which accounts changed last, on SQLite. `data_version` tells a process that another process has
 * committed something, and this table tells which accounts have a new version (account-version.ts),
 * so that it does not have to read the version of every account that calls. With two workers, a
 * call takes 75 instead of 95 µs if 1 % of the calls write, and 129 instead of 148 µs if 10 % write
 * (bench/RESULTS.md).
 *
 * PostgreSQL needs no such table: it is asked once per turn for the versions of all calls.
 *
 * If the last row is already about the account, a change adds no row, so that an import of a
 * million messages adds one. A process that has read the last row therefore reads it again. The
 * last row is never deleted, so its number is not used again, except after a restore; the mark of
 * the row, which is drawn at random, is different then.
 */

/**
 * A process that missed more changes than this reads all versions again. These rows fit one page.
 */
const KEPT = 128;
/** The number of rows that are deleted at once. */
const DELETED = 32;

const changed = (event: string, row: 'new' | 'old') => `
  create trigger account_change_${event.slice(0, 6)} after ${event} on tally
    when ${row}.account_id is not (select account_id from account_change order by change_id desc limit 1) begin
    insert into account_change (account_id) values (${row}.account_id);
  end;`;

/**
 * These triggers are for changes that other programs may make, and Columba does not. The SQLite
 * shell deletes the tally of a deleted account only if foreign keys are on. A user_id that changes
 * its owner changes two accounts.
 */
const ofOtherPrograms = `
  create trigger tally_account_delete after delete on account begin
    delete from tally where account_id = old.account_id;
  end;
  create trigger version_credential_owner after update of account_id on credential
    when new.account_id <> old.account_id begin
    update tally set version = ${SQLITE_VERSION} where account_id = old.account_id;
  end;`;

export const sqliteAccountChange = `
  create table account_change (
    change_id integer primary key,
    account_id bigint not null,
    mark integer not null default (random() & 4294967295)
  );
  ${changed('update of version', 'new')}
  ${changed('delete', 'old')}
  ${ofOtherPrograms}
  create trigger account_change_oldest after insert on account_change when new.change_id % ${DELETED} = 0 begin
    delete from account_change where change_id <= new.change_id - ${KEPT};
  end;
`;
