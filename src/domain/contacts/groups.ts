import { badField, notFound } from '../../base/problem.ts';
import type { AccountKey } from '../../store/caller.ts';
import { EVERYTHING, FIRST_ID, LAST_ID, pages } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { takeIds } from '../accounts/ids.ts';
import * as sql from './groups.sql.ts';

/** The groups of contacts. */
export type ContactGroup = sql.GroupValues;
const toGroup = sql.groupColumns.read;

const PAGE = 1_000;

export function createGroups(database: Database) {
  return {
    /** Lists groups by id, after the group `after`. */
    async groups(account: AccountKey, limit: number, after: bigint | null = null): Promise<ContactGroup[]> {
      if (after === LAST_ID) return [];
      const from = after === null ? FIRST_ID : after + 1n;
      return (await database.all(sql.groups, { account, from, limit })).map(toGroup);
    },
    /** The names of groups that have a name. */
    async groupNames(account: AccountKey): Promise<Map<bigint, string>> {
      const names = new Map<bigint, string>();
      const page = (from: bigint) => database.all(sql.groupNames, { account, from, limit: PAGE });
      for await (const rows of pages(PAGE, page, ({ group_id }) => group_id)) {
        for (const { group_id, name } of rows) if (name !== null) names.set(group_id, name);
      }
      return names;
    },

    group: (account: AccountKey, group: bigint): Promise<ContactGroup> => groupOf(database, account, group),

    addGroup: (account: AccountKey, name: string): Promise<ContactGroup> =>
      database.transaction(account, async (queries) => {
        await checkName(queries, account, name, null);
        return { id: Number(await addGroup(queries, account, name)), name, total: 0 };
      }),

    renameGroup: (account: AccountKey, group: bigint, name: string): Promise<ContactGroup> =>
      database.transaction(account, async (queries) => {
        const found = await groupOf(queries, account, group);
        await checkName(queries, account, name, group);
        await queries.run(sql.setGroupName, { account, group, name });
        return { ...found, name };
      }),

    /** Deletes the group and keeps its contacts. Returns the number of its contacts. */
    deleteGroup: (account: AccountKey, group: bigint): Promise<number> =>
      database.transaction(account, async (queries) => {
        const { total } = await groupOf(queries, account, group);
        await queries.run(sql.emptyGroup, { account, group });
        await queries.run(sql.deleteGroup, { account, group });
        return total;
      }),
  };
}

export async function addGroup(queries: Queries, account: AccountKey, name: string): Promise<bigint> {
  const group = await takeIds(queries, account, 'group');
  await queries.run(sql.addGroup, { account, group, name });
  return group;
}

/** The groups of an account by name. If two groups have the same name, the older one counts. */
export async function groupsByName(queries: Queries, account: AccountKey): Promise<Map<string, bigint>> {
  const byName = new Map<string, bigint>();
  const page = (from: bigint) => queries.all(sql.groupNames, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ group_id }) => group_id)) {
    for (const { group_id, name } of rows) if (name !== null && !byName.has(name)) byName.set(name, group_id);
  }
  return byName;
}

/** Names are unique, because a file names groups by them. */
async function checkName(queries: Queries, account: AccountKey, name: string, own: bigint | null): Promise<void> {
  const other = (await groupsByName(queries, account)).get(name);
  if (other !== undefined && other !== own) throw badField('name', 'another group has this name');
}

async function groupOf(queries: Queries, account: AccountKey, group: bigint): Promise<ContactGroup> {
  const row = await queries.first(sql.group, { account, group });
  if (!row) throw notFound('group with this id');
  return toGroup(row);
}

export const isGroup = async (queries: Queries, account: AccountKey, group: bigint): Promise<boolean> =>
  (await queries.first(sql.isThere, { account, group })) !== undefined;

export const allGroups = async (queries: Queries, account: bigint): Promise<ContactGroup[]> =>
  (await queries.all(sql.groups, { account, ...EVERYTHING })).map(toGroup);

type NamedGroup = Omit<ContactGroup, 'total'>;
const rowsOf = (account: bigint, groups: readonly NamedGroup[]) =>
  groups.map(({ id, name }) => ({ account, group: BigInt(id), name }));

/** Adds imported groups with their ids. */
export const addGroups = (queries: TransactionQueries, account: bigint, groups: readonly NamedGroup[]): Promise<void> =>
  queries.runAll(sql.addGroup, rowsOf(account, groups));
/** Adds the groups, and renames those that exist. */
export const putGroups = (queries: TransactionQueries, account: bigint, groups: readonly NamedGroup[]): Promise<void> =>
  queries.runAll(sql.putGroup, rowsOf(account, groups));
/** Deletes groups, which must have no contacts. */
export const deleteGroups = (queries: Queries, account: bigint, ids: readonly bigint[]): Promise<number> =>
  queries.run(sql.deleteGroups, { account, ids: elementsOf(ids) });
