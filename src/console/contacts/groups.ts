import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { groupAdd, groupChange, groupList, groupRemove, groupShow } from '../../operator/actions/contacts/groups.ts';
import { counted } from '../counts.ts';
import { asking, field, listPanel, noticeOf, pageQuery, pagerOf, problemNote, refusalOf, screen } from '../lists.ts';
import { get, noticed, type PageRequest, post, type View } from '../page-request.ts';
import { acts, backLink, button, formPanel, head, linkButton, num } from '../parts.ts';

/** Groups of contacts. */

const texts = {
  title: 'Groups',
  columns: ['Group', 'Contacts', ''],
  empty: 'There are no groups yet.',
  emptyHint: 'A group lets you write to all of its contacts at once.',
  add: 'Add a group',
  name: 'Name of the group',
  addSubmit: 'Add',
  rename: 'Rename',
  renameSubmit: 'Save the name',
  remove: 'Remove',
  removeAct: 'Remove…',
  removeQuestion: (name: string, count: number) =>
    count === 0
      ? `Remove the empty group ${name}?`
      : html`Remove the group ${name}? Its ${counted(count, 'contact')} stay, without a group.`,
  write: 'Write to all',
  notices: {
    added: 'The group is added.',
    renamed: 'The group is renamed.',
    removed: (count: bigint) => html`The group is removed. ${counted(count, 'contact')} without a group now.`,
  },
} as const;

const paramsOf = ({ account, params }: PageRequest) => ({ username: account.username, id: params.id ?? '' });

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, base, account, form } = request;
  const { items, next } = await act.run(groupList, {
    params: { username: account.username },
    query: pageQuery(request),
  });
  const rows = items.map(({ id, name, contacts }) => ({
    key: id,
    cells: [
      html`<a href="${base}/contacts?group=${id}"><bdi>${name ?? id}</bdi></a>`,
      num(contacts),
      acts(
        html`${linkButton(`${base}/groups/${id}`, texts.rename, { look: 'ghost s', about: name ?? id })}${linkButton(`${base}/compose?group=${id}`, texts.write, { icon: 'pen', look: 'ghost s', about: name ?? id })}`,
      ),
    ],
  }));
  const name = field({ name: 'name', label: texts.name, value: form.text('name'), isRequired: true, lengthMax: 200 });
  const main = html`${head(texts.title)}${noticeOf(request, texts.notices)}${problemNote(problem, { name: texts.name })}${listPanel(texts, rows)}${pagerOf(request, next)}
${formPanel({ title: texts.add, action: `${base}/groups`, fields: name, submit: texts.addSubmit })}`;
  return screen(texts.title, 'groups', main, problem);
};

const add = async (request: PageRequest): Promise<View> => {
  try {
    await request.act.run(groupAdd, {
      params: { username: request.account.username },
      body: { name: request.form.text('name') },
    });
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
  return noticed(`${request.base}/groups`, 'added');
};

const edit = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, base, form } = request;
  const { id, name } = await act.run(groupShow, { params: paramsOf(request) });
  const value = problem ? form.text('name') : (name ?? '');
  const fields = field({ name: 'name', label: texts.name, value, isRequired: true, lengthMax: 200 });
  const main = html`${backLink(`${base}/groups`, texts.title)}${head(name ?? id)}${problemNote(problem, { name: texts.name })}
${formPanel({ title: texts.rename, action: `${base}/groups/${id}`, fields, submit: texts.renameSubmit })}
<form method="post" action="${base}/groups/${id}/remove">${button(texts.removeAct, { look: 'danger' })}</form>`;
  return screen(texts.rename, 'groups', main, problem);
};

const rename = async (request: PageRequest): Promise<View> => {
  try {
    await request.act.run(groupChange, { params: paramsOf(request), body: { name: request.form.text('name') } });
  } catch (thrown) {
    return edit(request, refusalOf(thrown));
  }
  return noticed(`${request.base}/groups`, 'renamed');
};

const remove = async (request: PageRequest): Promise<View> => {
  const { act, base, form, path } = request;
  if (form.text('confirmed') !== 'yes') {
    const { id, name, contacts } = await act.run(groupShow, { params: paramsOf(request) });
    const question = texts.removeQuestion(name ?? id, contacts);
    return asking('groups', { question, action: path, submit: texts.remove, back: `${base}/groups/${id}` });
  }
  const { contacts } = await act.run(groupRemove, { params: paramsOf(request) });
  return noticed(`${base}/groups`, 'removed', contacts);
};

export const groupRoutes = [
  get('/groups', (request) => show(request)),
  post('/groups', add),
  get('/groups/:id', (request) => edit(request)),
  post('/groups/:id', rename),
  post('/groups/:id/remove', remove),
];
