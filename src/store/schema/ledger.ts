/**
 * Credits by double entry. A movement takes an amount from one side and gives it to another one.
 * The sides are `operator`, `free`, `held` and `used`.
 * The running sums are `account.credits` (free), `account.used_credits` (used) and `ledger.held`.
 * Triggers write the opening movements 1 (free) and 2 (used) of a new account, so no insert can
 * skip them.
 * Number 3 is for credits that are held from the beginning: see domain/ledger.ts.
 * Only an opening amount or a sum carried forward may be negative, because an imported balance may
 * be.
 * An opening has the account's date of creation.
 */
const openings = (account: string) => `
  insert into movement (account_id, movement_id, kind, from_side, to_side, amount, moved_at, reason)
    select account_id, 1, 'grant', 'operator', 'free', credits, created_at, 'opening'
    from ${account} where credits <> 0;
  insert into movement (account_id, movement_id, kind, from_side, to_side, amount, moved_at, reason)
    select account_id, 2, 'grant', 'operator', 'used', used_credits, created_at, 'opening'
    from ${account} where used_credits <> 0;`;

export const ledgerTables = `
  create table ledger (
    account_id bigint primary key references account on delete cascade,
    held bigint not null default 0,
    last_movement bigint not null default 3
  ) {clustered};
  create table movement (
    account_id bigint not null references account on delete cascade,
    movement_id bigint not null,
    kind text not null,
    from_side text not null,
    to_side text not null,
    amount bigint not null,
    moved_at bigint not null,
    message_id bigint,
    reason text,
    reference text,
    primary key (account_id, movement_id)
  ) {clustered};
  create index movement_by_time on movement (account_id, moved_at, movement_id);
  insert into ledger (account_id, held)
    select account_id, coalesce((select sum(held_parts) from scheduled where scheduled.account_id = account.account_id), 0)
    from account;
  ${openings('account')}
  insert into movement (account_id, movement_id, kind, from_side, to_side, amount, moved_at, reason)
    select ledger.account_id, 3, 'grant', 'operator', 'held', held, created_at, 'opening'
    from ledger join account on account.account_id = ledger.account_id where held <> 0;
`;

const onNewAccount = `
  insert into ledger (account_id) values (new.account_id);
  ${openings('account').replaceAll('where ', 'where account_id = new.account_id and ')}
`;

export const sqliteLedger = `
  create trigger account_ledger after insert on account begin ${onNewAccount} end;
`;

export const postgresLedger = `
  create or replace function ledger_account_insert() returns trigger language plpgsql as $$ begin ${onNewAccount} return null; end $$;
  create trigger ledger_account_insert after insert on account for each row execute function ledger_account_insert();
`;
