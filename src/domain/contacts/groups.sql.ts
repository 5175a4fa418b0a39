import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Groups of contacts. `total` is how many contacts a group has. */
const GROUP_FIELDS = { id: 'number', name: 'text?', total: 'number' } as const;
const GROUP_ID = { id: 'group_id' } as const;

export type GroupValues = ValuesOf<typeof GROUP_FIELDS>;
type GroupRow = RowOf<typeof GROUP_FIELDS, typeof GROUP_ID>;
export const groupColumns = defineColumns(GROUP_FIELDS, GROUP_ID);

type One = { account: AccountKey; group: bigint };
type Page = { account: AccountKey; from: bigint; limit: number };

const groupWithTotal = `select group_id, name,
     (select count(*) from contact
      where contact.account_id = :account and contact.group_id = contact_group.group_id) as total
   from contact_group where account_id = :account`;
export const groups = statement<Page, GroupRow>(
  'groups.groups',
  `${groupWithTotal} and group_id >= :from order by group_id {limit :limit}`,
);
export const groupsDown = statement<{ account: AccountKey; to: bigint; limit: number }, GroupRow>(
  'groups.groupsDown',
  `${groupWithTotal} and group_id <= :to order by group_id desc {limit :limit}`,
);
export const isThere = statement<One, { group_id: bigint }>(
  'groups.isThere',
  'select group_id from contact_group where account_id = :account and group_id = :group',
);
export const group = statement<One, GroupRow>('groups.group', `${groupWithTotal} and group_id = :group`);
/** A page of the groups whose ids start at `from`, without counting their contacts. */
export const groupNames = statement<Page, { group_id: bigint; name: string | null }>(
  'groups.names',
  `select group_id, name from contact_group where account_id = :account and group_id >= :from
   order by group_id {limit :limit}`,
);
type NewGroup = { account: AccountKey; group: bigint; name: string | null };
const insertGroup = 'insert into contact_group (account_id, group_id, name) values (:account, :group, :name)';

export const addGroup = statement<NewGroup>('groups.add', insertGroup);
/** Adds a group, or changes the one with this id. */
export const putGroup = statement<NewGroup>(
  'groups.put',
  `${insertGroup} on conflict (account_id, group_id) do update set name = excluded.name`,
);
export const setGroupName = statement<One & { name: string }>(
  'groups.setGroupName',
  'update contact_group set name = :name where account_id = :account and group_id = :group',
);
/** Takes the contacts out of a group before it is deleted, because the contacts stay. */
export const emptyGroup = statement<One>(
  'groups.emptyGroup',
  'update contact set group_id = null where account_id = :account and group_id = :group',
);
export const deleteGroup = statement<One>(
  'groups.deleteGroup',
  'delete from contact_group where account_id = :account and group_id = :group',
);
/** `ids` is a JSON array of numbers. */
export const deleteGroups = statement<{ account: AccountKey; ids: string }>(
  'groups.deleteAmong',
  'delete from contact_group where account_id = :account and group_id {among :ids}',
);
