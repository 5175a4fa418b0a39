import { SQLITE_VERSION } from './account-version.ts';

/**
 * Which accounts changed last, on SQLite. A process learns from `data_version` that another one has
 * committed something. Here it reads whose versions (account-version.ts) are new. Before, it read
 * the version of every account that called. With two workers a call takes 75 instead of 95 µs where
 * 1 % of the calls write. Where 10 % write it takes 129 instead of 148 (bench/RESULTS.md).
 *
 * PostgreSQL needs none of it: it is asked for the versions of all calls of a turn at once.
 *
 * A change of the account of the last row adds no row: an import of a million messages adds one.
 * Whoever has read the last row therefore reads it again. The last row is never deleted, so a
 * number is never used again. After a restore it may be. Then its mark is another one: it is drawn
 * at random.
 */

/** Whoever missed more changes reads all versions again. These rows fit one page. */
const KEPT = 128;
/** So many are deleted at once. */
const DELETED = 32;

const changed = (event: string, row: 'new' | 'old') => `
  create trigger account_change_${event.slice(0, 6)} after ${event} on tally
    when ${row}.account_id is not (select account_id from account_change order by change_id desc limit 1) begin
    insert into account_change (account_id) values (${row}.account_id);
  end;`;

/**
 * What other programs may do, and Columba does not. A shell of SQLite deletes the tally of a
 * deleted account only with foreign keys on. A user_id that changes its owner changes two accounts.
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
