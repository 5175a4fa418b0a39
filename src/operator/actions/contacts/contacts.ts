import { z } from 'zod';
import { CONTACT_TEXT_LENGTH_MAX, type Contact } from '../../../domain/contacts/contacts.ts';
import { type Action, accountAction, accountListAction } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { accountParams, line, rowId, username } from '../../schemas.ts';

/** Contacts, one by one. files.ts imports and exports many at once. */

const text = line(CONTACT_TEXT_LENGTH_MAX).nullable();
const NOTE_LENGTH_MAX = 500;

export const contact = z.strictObject({
  id: rowId,
  name: z.string().nullable(),
  surname: z.string().nullable(),
  mobile: z.string().nullable(),
  groupId: rowId.nullable(),
  note: z.string().nullable(),
});
const shown = ({ id, name, surname, mobile, groupId, note }: Contact): z.output<typeof contact> => ({
  id,
  name,
  surname,
  mobile,
  groupId,
  note,
});
const EXAMPLE = {
  id: '12',
  name: 'Ann',
  surname: 'Lee',
  mobile: '+27825550201',
  groupId: '3',
  note: 'Calls before noon',
};

const contactParams = z.strictObject({ username, id: rowId });

const fields = z.strictObject({
  mobile: line(CONTACT_TEXT_LENGTH_MAX).min(1).describe('A phone number in any notation.'),
  name: text.optional().describe('First name.'),
  surname: text.optional().describe('Surname.'),
  groupId: rowId.nullable().optional().describe('The group of the contact.'),
  note: line(NOTE_LENGTH_MAX)
    .nullable()
    .optional()
    .describe('A note for people who write to the contact. A change without it keeps the note.'),
});
const BODY = { mobile: '+27825550201', name: 'Ann', surname: 'Lee', groupId: '3', note: 'Calls before noon' };

const given = ({ mobile, name = null, surname = null, groupId = null, note }: z.output<typeof fields>) => ({
  mobile,
  name,
  surname,
  groupId,
  note,
});

export const contactList = accountListAction({
  name: 'contact list',
  scope: 'contacts',
  accountTokens: true,
  path: '/accounts/{username}/contacts',
  summary: 'List contacts, by id.',
  description:
    'If few contacts match the filter, a page may have fewer items than `limit` although there is a next page.',
  params: accountParams,
  query: z.strictObject({
    group: rowId.optional().describe('Only contacts of this group.'),
    q: line(200).min(1).optional().describe('Part of the name, surname or number, in any letter case.'),
    mobile: line(200).min(1).optional().describe('Only contacts with this number, in any notation.'),
  }),
  item: contact,
  position: z.tuple([rowId]),
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    query: { mobile: '0825550201' },
    output: { items: [EXAMPLE], next: null },
  },
  run: async (services, { query: { group, q, mobile }, page: { limit, after } }) => {
    const { contacts } = domainOf(services);
    const filter = { group, q, mobile };
    const { items, next } = await contacts.list(services.account.id, filter, limit, after?.[0] ?? null);
    return { items: items.map(shown), next: next === null ? null : ([next] as [bigint]) };
  },
});

export const contactAdd = accountAction({
  name: 'contact add',
  scope: 'contacts',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/contacts',
  summary: 'Add a contact.',
  params: accountParams,
  body: fields,
  output: contact,
  status: 201,
  location: '/accounts/{username}/contacts/{id}',
  problems: ['not-found'],
  example: { params: { username: 'acme' }, body: BODY, output: EXAMPLE },
  target: ({ params }, { id }) => `${params.username}/${id}`,
  command: { arguments: ['mobile'], say: ({ id }) => `Added the contact ${id}.` },
  run: async (services, { body }) =>
    shown(await domainOf(services).contacts.add(services.account.id, { ...given(body), note: body.note ?? null })),
});

export const contactShow = accountAction({
  name: 'contact show',
  scope: 'contacts',
  accountTokens: true,
  method: 'GET',
  path: '/accounts/{username}/contacts/{id}',
  summary: 'Show a contact.',
  params: contactParams,
  output: contact,
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '12' }, output: EXAMPLE },
  run: async (services, { params }) => shown(await domainOf(services).contacts.contact(services.account.id, params.id)),
});

export const contactChange = accountAction({
  name: 'contact change',
  scope: 'contacts',
  accountTokens: true,
  method: 'PUT',
  path: '/accounts/{username}/contacts/{id}',
  summary: 'Change a contact.',
  description: 'Replaces all fields: those that are not given are empty afterwards, except the note, which stays.',
  params: contactParams,
  body: fields,
  output: contact,
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '12' }, body: BODY, output: EXAMPLE },
  command: { say: ({ id }) => `Changed the contact ${id}.` },
  run: async (services, { params, body }) =>
    shown(await domainOf(services).contacts.change(services.account.id, params.id, given(body))),
});

export const contactRemove = accountAction({
  name: 'contact remove',
  scope: 'contacts',
  accountTokens: true,
  method: 'DELETE',
  path: '/accounts/{username}/contacts/{id}',
  summary: 'Remove a contact.',
  params: contactParams,
  output: z.strictObject({ id: rowId }),
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '12' }, output: { id: '12' } },
  command: { say: ({ id }) => `Removed the contact ${id}.` },
  run: async (services, { params: { id } }) => {
    await domainOf(services).contacts.delete(services.account.id, id);
    return { id };
  },
});

export const contactActions: readonly Action[] = [contactList, contactAdd, contactShow, contactChange, contactRemove];
