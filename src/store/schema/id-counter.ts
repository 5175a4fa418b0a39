/**
 * The last id that an account was given, for each kind of row. A counter only grows, so the id of a
 * deleted row is never used again. A missing row counts as 0. Each counter starts at the highest
 * existing id in its range: see domain/ids.ts.
 */
const startAt = (kind: string, rangeEnd: bigint, ids: string): string => `
  insert into id_counter (account_id, kind, last_id)
    select account_id, '${kind}', max(id) from (${ids}) as present
    where id between 1 and ${rangeEnd} group by account_id;`;

export const idCounterTable = `
  create table id_counter (
    account_id bigint not null references account on delete cascade,
    kind text not null,
    last_id bigint not null,
    primary key (account_id, kind)
  ) {clustered};
  ${startAt('contact', 2n ** 30n, 'select account_id, contact_id as id from contact')}
  ${startAt('group', 2n ** 30n, 'select account_id, group_id as id from contact_group')}
  ${startAt('template', 2n ** 62n, 'select account_id, position as id from template')}
  ${startAt(
    'message',
    2n ** 62n,
    `select account_id, message_id as id from received union all
     select account_id, message_id from sent union all
     select account_id, message_id from scheduled`,
  )}
`;
