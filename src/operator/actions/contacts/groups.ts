import { z } from 'zod';
import { CONTACT_TEXT_LENGTH_MAX } from '../../../domain/contacts/contacts.ts';
import type { ContactGroup } from '../../../domain/contacts/groups.ts';
import { type Action, accountAction, accountListAction, pageOf } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { accountParams, line, rowId, username } from '../../schemas.ts';

/** Groups of contacts. */

const group = z.strictObject({
  id: rowId,
  name: z.string().nullable(),
  contacts: z.int().describe('Number of contacts in the group.'),
});
const shown = ({ id, name, total }: ContactGroup): z.output<typeof group> => ({
  id: BigInt(id),
  name,
  contacts: total,
});
const EXAMPLE = { id: '3', name: 'Customers', contacts: 40 };

const groupParams = z.strictObject({ username, id: rowId });
const body = z.strictObject({
  name: line(CONTACT_TEXT_LENGTH_MAX).min(1).describe('The name, which no other group of the account may have.'),
});

export const groupList = accountListAction({
  name: 'group list',
  scope: 'contacts',
  accountTokens: true,
  path: '/accounts/{username}/groups',
  summary: 'List groups of contacts, by id.',
  params: accountParams,
  item: group,
  position: z.tuple([rowId]),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: { items: [EXAMPLE], next: null } },
  run: async (services, { page: { limit, after } }) => {
    const rows = await domainOf(services).contacts.groups(services.account.id, limit + 1, after?.[0] ?? null);
    return pageOf(rows, limit, shown, ({ id }): [bigint] => [BigInt(id)]);
  },
});

export const groupAdd = accountAction({
  name: 'group add',
  scope: 'contacts',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/groups',
  summary: 'Add a group.',
  params: accountParams,
  body,
  output: group,
  status: 201,
  location: '/accounts/{username}/groups/{id}',
  problems: ['not-found'],
  example: { params: { username: 'acme' }, body: { name: 'Customers' }, output: { ...EXAMPLE, contacts: 0 } },
  target: ({ params }, { id }) => `${params.username}/${id}`,
  command: { arguments: ['name'], say: ({ id }) => `Added the group ${id}.` },
  run: async (services, input) =>
    shown(await domainOf(services).contacts.addGroup(services.account.id, input.body.name)),
});

export const groupShow = accountAction({
  name: 'group show',
  scope: 'contacts',
  accountTokens: true,
  method: 'GET',
  path: '/accounts/{username}/groups/{id}',
  countedFields: ['contacts'],
  summary: 'Show a group.',
  params: groupParams,
  output: group,
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '3' }, output: EXAMPLE },
  run: async (services, { params }) => shown(await domainOf(services).contacts.group(services.account.id, params.id)),
});

export const groupChange = accountAction({
  name: 'group change',
  scope: 'contacts',
  accountTokens: true,
  method: 'PUT',
  path: '/accounts/{username}/groups/{id}',
  summary: 'Rename a group.',
  params: groupParams,
  body,
  output: group,
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '3' }, body: { name: 'Customers' }, output: EXAMPLE },
  command: { say: ({ id }) => `Changed the group ${id}.` },
  run: async (services, { params, body: { name } }) =>
    shown(await domainOf(services).contacts.renameGroup(services.account.id, params.id, name)),
});

export const groupRemove = accountAction({
  name: 'group remove',
  scope: 'contacts',
  accountTokens: true,
  method: 'DELETE',
  path: '/accounts/{username}/groups/{id}',
  summary: 'Remove a group. Its contacts stay, without a group.',
  params: groupParams,
  output: z.strictObject({ id: rowId, contacts: z.int().describe('Number of contacts that have no group now.') }),
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '3' }, output: { id: '3', contacts: 40 } },
  command: { say: ({ id, contacts }) => `Removed the group ${id}. Contacts that have no group now: ${contacts}.` },
  run: async (services, { params: { id } }) => ({
    id,
    contacts: await domainOf(services).contacts.deleteGroup(services.account.id, id),
  }),
});

export const groupActions: readonly Action[] = [groupList, groupAdd, groupShow, groupChange, groupRemove];
