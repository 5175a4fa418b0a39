import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { groupAdd, groupChange, groupList, groupRemove, groupShow } from '../../operator/actions/groups.ts';
import { asking, field, listOf, noticeOf, pageQuery, pagerOf, problemNote, refusalOf, screen } from '../lists.ts';
import { get, noticed, post, type View, type Visit } from '../visit.ts';
import { counted, grouped } from '../words.ts';

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
  removeQuestion: (name: string, count: number) =>
    count === 0
      ? `Remove the empty group ${name}?`
      : `Remove the group ${name}? Its ${counted(count, 'contact')} stay, without a group.`,
  write: 'Write to all',
  notices: {
    added: 'The group is added.',
    renamed: 'The group has its new name.',
    removed: (count: bigint) => `The group is removed. ${counted(count, 'contact')} without a group now.`,
  },
} as const;

const paramsOf = ({ account, params }: Visit) => ({ username: account.username, id: params.id ?? '' });

const show = async (visit: Visit, problem: Problem | null = null): Promise<View> => {
  const { act, base, account, form } = visit;
  const { items, next } = await act.run(groupList, {
    params: { username: account.username },
    query: pageQuery(visit),
  });
  const rows = items.map(({ id, name, contacts }) => ({
    key: id,
    cells: [
      html`<a href="${base}/contacts?group=${id}"><bdi>${name ?? id}</bdi></a>`,
      html`${grouped(contacts)}`,
      html`<a href="${base}/groups/${id}">${texts.rename}<span class="unseen"> ${name ?? id}</span></a> · <a href="${base}/compose?group=${id}">${texts.write}<span class="unseen"> ${name ?? id}</span></a>`,
    ],
  }));
  const list = listOf(texts, rows);
  const main = html`<h1>${texts.title}</h1>${noticeOf(visit, texts.notices)}${problemNote(problem, { name: texts.name })}${list}${pagerOf(visit, next)}
<h2>${texts.add}</h2><form method="post" action="${base}/groups" class="fields">
${field({ name: 'name', label: texts.name, value: form.text('name'), isRequired: true, lengthMax: 200 })}<button class="main">${texts.addSubmit}</button></form>`;
  return screen(texts.title, 'groups', main, problem);
};

const add = async (visit: Visit): Promise<View> => {
  try {
    await visit.act.run(groupAdd, {
      params: { username: visit.account.username },
      body: { name: visit.form.text('name') },
    });
  } catch (thrown) {
    return show(visit, refusalOf(thrown));
  }
  return noticed(`${visit.base}/groups`, 'added');
};

const edit = async (visit: Visit, problem: Problem | null = null): Promise<View> => {
  const { act, base, form } = visit;
  const { id, name } = await act.run(groupShow, { params: paramsOf(visit) });
  const main = html`<h1>${texts.rename}</h1>${problemNote(problem, { name: texts.name })}
<form method="post" action="${base}/groups/${id}" class="fields">
${field({ name: 'name', label: texts.name, value: problem ? form.text('name') : (name ?? ''), isRequired: true, lengthMax: 200 })}<button class="main">${texts.renameSubmit}</button></form>
<form method="post" action="${base}/groups/${id}/remove" class="buttons"><button class="danger">${texts.remove}</button></form>`;
  return screen(texts.rename, 'groups', main, problem);
};

const rename = async (visit: Visit): Promise<View> => {
  try {
    await visit.act.run(groupChange, { params: paramsOf(visit), body: { name: visit.form.text('name') } });
  } catch (thrown) {
    return edit(visit, refusalOf(thrown));
  }
  return noticed(`${visit.base}/groups`, 'renamed');
};

const remove = async (visit: Visit): Promise<View> => {
  const { act, base, form, path } = visit;
  if (form.text('confirmed') !== 'yes') {
    const { id, name, contacts } = await act.run(groupShow, { params: paramsOf(visit) });
    const question = texts.removeQuestion(name ?? id, contacts);
    return asking('groups', { question, action: path, submit: texts.remove, back: `${base}/groups/${id}` });
  }
  const { contacts } = await act.run(groupRemove, { params: paramsOf(visit) });
  return noticed(`${base}/groups`, 'removed', contacts);
};

export const groupRoutes = [
  get('/groups', (visit) => show(visit)),
  post('/groups', add),
  get('/groups/:id', (visit) => edit(visit)),
  post('/groups/:id', rename),
  post('/groups/:id/remove', remove),
];
