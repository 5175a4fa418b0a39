import { z } from 'zod';
import { notFound } from '../../../base/problem.ts';
import { TEMPLATE_LENGTH_MAX, type Template } from '../../../domain/contacts/templates.ts';
import { type Action, accountAction, accountListAction, pageOf, withStatus } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { accountParams, rowId, username } from '../../schemas.ts';

/** Saved message templates: a template is its text, exactly. */

const template = z.strictObject({ id: rowId, text: z.string() });
const shown = ({ position, text }: Template): z.output<typeof template> => ({ id: position, text });
const EXAMPLE = { id: '4', text: 'Your parcel has arrived.' };

export const templateList = accountListAction({
  name: 'template list',
  scope: 'contacts',
  accountTokens: true,
  path: '/accounts/{username}/templates',
  summary: 'List message templates, in the order in which they were saved.',
  params: accountParams,
  item: template,
  position: z.tuple([rowId]),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: { items: [EXAMPLE], next: null } },
  run: async (services, { page: { limit, after } }) => {
    const last = after === null ? undefined : { position: after[0], text: '' };
    const rows = await domainOf(services).templates.all(services.account.id, limit + 1, last);
    return pageOf(rows, limit, shown, ({ position }): [bigint] => [position]);
  },
});

export const templateAdd = accountAction({
  name: 'template add',
  scope: 'contacts',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/templates',
  summary: 'Save a message template.',
  description: 'If the account has the template already, the status is 200.',
  params: accountParams,
  body: z.strictObject({ text: z.string().min(1).max(TEMPLATE_LENGTH_MAX).describe('Its text.') }),
  output: template,
  status: 201,
  otherStatuses: [200],
  problems: ['not-found'],
  example: { params: { username: 'acme' }, body: { text: EXAMPLE.text }, output: EXAMPLE },
  target: ({ params }, { id }) => `${params.username}/${id}`,
  command: { arguments: ['text'], say: ({ id }) => `Saved the template ${id}.` },
  run: async (services, { body: { text } }) => {
    const done = await domainOf(services).templates.add(services.account.id, text);
    return done.isNew ? shown(done.template) : withStatus(200, shown(done.template));
  },
});

export const templateRemove = accountAction({
  name: 'template remove',
  scope: 'contacts',
  accountTokens: true,
  method: 'DELETE',
  path: '/accounts/{username}/templates/{id}',
  summary: 'Remove a message template.',
  params: z.strictObject({ username, id: rowId }),
  output: z.strictObject({ id: rowId }),
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '4' }, output: { id: '4' } },
  command: { say: ({ id }) => `Removed the template ${id}.` },
  run: async (services, { params: { id } }) => {
    if (!(await domainOf(services).templates.deleteAt(services.account.id, id)))
      throw notFound('template with this id');
    return { id };
  },
});

export const templateActions: readonly Action[] = [templateList, templateAdd, templateRemove];
