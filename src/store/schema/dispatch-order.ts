/**
 * The columns and indexes by which a claim finds the accounts with due messages, so that it costs
 * the same for any number of accounts.
 *
 * connector_key: the connector that the account names; empty for the default one, and null while
 * the account is disabled. priority: the priority of the account. Triggers copy both from the
 * account, so that they are right for nodes of the previous version too.
 *
 * dispatch_account_rested: accounts whose next message became due after they were last served, in
 * the order of that time. dispatch_account_backlog: accounts that were served and have messages
 * left, in the order in which they were served.
 *
 * revision: differs after every change of a connector, because two changes may have the same time.
 */
export const dispatchOrder = `
  alter table dispatch_account add column connector_key text {binary};
  alter table dispatch_account add column priority bigint not null default 0;
  update dispatch_account set
    connector_key = (select case when disabled_at is null then coalesce(connector, '') end
      from account where account.account_id = dispatch_account.account_id),
    priority = (select account.priority from account where account.account_id = dispatch_account.account_id);
  create index dispatch_account_rested on dispatch_account (connector_key, priority, next_due_at, account_id)
    where served_at < next_due_at;
  create index dispatch_account_backlog on dispatch_account (connector_key, priority, served_at, account_id)
    where served_at >= next_due_at;
  alter table carrier_connector add column revision text;
`;

const copy = `update dispatch_account set
      connector_key = (select case when disabled_at is null then coalesce(connector, '') end
        from account where account_id = new.account_id),
      priority = (select priority from account where account_id = new.account_id)
    where account_id = new.account_id;`;

export const sqliteDispatchOrder = `
  create trigger dispatch_account_insert after insert on dispatch_account begin ${copy} end;
  create trigger account_dispatch_update after update of connector, priority, disabled_at on account
    when old.connector is not new.connector or old.priority <> new.priority or old.disabled_at is not new.disabled_at
    begin ${copy} end;
`;

const postgresTrigger = (name: string, when: string) => `
  create or replace function ${name}() returns trigger language plpgsql as $$ begin ${copy} return null; end $$;
  create trigger ${name} after ${when} execute function ${name}();`;

export const postgresDispatchOrder = `
  ${postgresTrigger('dispatch_account_insert', 'insert on dispatch_account for each row')}
  ${postgresTrigger(
    'account_dispatch_update',
    `update of connector, priority, disabled_at on account for each row
     when (old.connector is distinct from new.connector or old.priority <> new.priority
       or old.disabled_at is distinct from new.disabled_at)`,
  )}
`;
