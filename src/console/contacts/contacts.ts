import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import { COUNTED_CONTACTS_MAX } from '../../domain/contacts/contacts.ts';
import {
  contactAdd,
  contactChange,
  contactList,
  contactRemove,
  contactShow,
} from '../../operator/actions/contacts/contacts.ts';
import { contactExport } from '../../operator/actions/contacts/files.ts';
import { contactsCsv } from '../../transfer/contact-csv.ts';
import { actOnRows, selectableList, selectedIds } from '../bulk.ts';
import { counted, grouped } from '../counts.ts';
import {
  asking,
  csvLink,
  download,
  field,
  fieldRow,
  filters,
  isFilteredBy,
  keptAddress,
  keptFields,
  listWords,
  noticeOf,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
  searchField,
  select,
  tabs,
} from '../lists.ts';
import { missingNote, noFile } from '../messages/message-filter.ts';
import { get, noticed, type PageRequest, post, redirect, type View } from '../page-request.ts';
import { backLink, button, type FormPanel, formPanel, head, linkButton } from '../parts.ts';
import { telephone } from '../words.ts';
import { CONTACT_COLUMNS, groupOf, listed, matching, nameOf, rowsOf } from './contact-list.ts';
import { conversationWith } from './contact-names.ts';

/** Contacts: add, change, move to a group, remove, search. */

const texts = {
  title: 'Contacts',
  columns: CONTACT_COLUMNS,
  search: 'Search in names and numbers',
  group: 'Group',
  allGroups: 'All',
  noGroup: 'no group',
  openConversation: 'Conversation',
  back: 'Contacts',
  number: 'Number',
  name: 'First name',
  surname: 'Surname',
  note: 'Note',
  noteHint: 'Only you see it, beside the conversation. It is never sent.',
  add: 'Add a contact',
  addSubmit: 'Add',
  changeTitle: 'Change a contact',
  changeSubmit: 'Save',
  remove: 'Remove',
  removeQuestion: (name: string) => `Remove the contact ${name}?`,
  import: 'Import',
  empty: 'There are no contacts yet.',
  emptyHint: 'Add the first one below, or import a CSV file.',
  noMatch: 'No contact matches.',
  noMatchHint: 'Shorten the search.',
  missing: {
    notIndexed:
      'Some contacts are not in the index yet, so they may be missing here. They are being added. Look again in a minute.',
    tooShort: 'More names begin like this than are searched, so somebody may be missing here. Write more of the name.',
  },
  total: (said: Html, count: number) => html`${said} ${count === 1 ? 'contact' : 'contacts'} in all`,
  writeAll: 'Write to the selected contacts',
  moveTo: 'Group',
  move: 'Move to the group',
  removeAct: 'Remove…',
  removeMany: (count: number) => html`Remove ${counted(count, 'contact')}? This cannot be undone.`,
  removeSubmit: (count: number) => html`Remove ${counted(count, 'contact')}`,
  notices: {
    added: 'The contact is added.',
    twice: 'The contact is added. Another contact has the same number, which is allowed.',
    changed: 'The contact is changed.',
    removed: 'The contact is removed.',
    nothing: { nothingDone: 'Nothing was selected, so nothing was done.' },
    moved: (count: bigint) => html`Moved ${counted(count, 'contact')}.`,
    removedMany: (count: bigint) =>
      html`Removed ${counted(count, 'contact')}. Contacts that were removed before are not counted.`,
  },
} as const;

const paramsOf = ({ account, params }: PageRequest) => ({ username: account.username, id: params.id ?? '' });
const GROUPS_MAX = 500;
const LABELS = {
  mobile: texts.number,
  name: texts.name,
  surname: texts.surname,
  groupId: texts.group,
  note: texts.note,
  q: texts.search,
};
const FILTER = ['q', 'group'] as const;

async function groupChoices({ domain, account }: PageRequest): Promise<(readonly [string, string])[]> {
  const groups = await domain.contacts.groups(account.id, GROUPS_MAX, null);
  return groups.map(({ id, name }) => [String(id), name ?? String(id)] as const);
}

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { query, base, form, account, domain } = request;
  groupOf(request);
  const groups = await groupChoices(request);
  const { items, next, isWhole, missing } = await listed(request);
  const total = await domain.contacts.count(account.id);
  const list = selectableList({
    texts: listWords(texts, missing === null && isWhole),
    action: `${base}/contacts/selected`,
    rows: await rowsOf(request, items, new Map(groups)),
    isFiltered: isFilteredBy(request, ...FILTER),
    all: null,
    kept: keptFields(request, FILTER),
    buttons: selectionButtons(groups),
    step: linkButton(`${base}/import`, texts.import, { icon: 'upload' }),
  });
  const filtersForm = filters(request, [searchField(request, texts.search)], {
    before: tabs(request, { name: 'group', label: texts.group, choices: [['', texts.allGroups], ...groups] }),
    after: csvLink(request, isFilteredBy(request, ...FILTER)),
    kept: ['group'],
  });
  const buttons = html`${linkButton(`${base}/import`, texts.import, { icon: 'upload' })}${linkButton('#add', texts.add, { icon: 'plus' })}`;
  const typed = {
    mobile: form.text('mobile') || (query.get('mobile') ?? ''),
    name: form.text('name'),
    surname: form.text('surname'),
    note: form.text('note'),
    groupId: form.text('groupId'),
  };
  const said = html`${grouped(total)}${total >= COUNTED_CONTACTS_MAX ? '+' : ''}`;
  const main = html`${head(texts.title, texts.total(said, total), buttons)}${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}
${missingNote({ missing }, texts.missing)}${filtersForm}${list}${pagerOf(request, next)}
${contactForm({ title: texts.add, id: 'add', action: `${base}/contacts`, submit: texts.addSubmit }, typed, groups)}`;
  return screen(texts.title, 'contacts', main, problem);
};

const selectionButtons = (groups: readonly (readonly [string, string])[]): Html => {
  const options = [['', texts.noGroup] as const, ...groups].map(
    ([value, name]) => html`<option value="${value}">${name}</option>`,
  );
  return html`${button(texts.writeAll, { act: 'write', look: 's', icon: 'pen' })}
<label for="moveTo">${texts.moveTo}</label> <select id="moveTo" name="moveTo">${options}</select>${button(texts.move, { act: 'move', look: 's' })}
${button(texts.removeAct, { act: 'delete', look: 's danger' })}`;
};

/** Writes to the chosen contacts, moves them to a group, or removes them. */
const actOnSelected = async (request: PageRequest): Promise<View> => {
  const { form, base, act, account } = request;
  const back = keptAddress(`${base}/contacts`, request, FILTER);
  const paramsFor = (id: string) => ({ username: account.username, id });
  const each = async (ids: readonly string[], work: (id: string) => Promise<unknown>): Promise<number> => {
    let done = 0;
    for (const id of ids) if ((await work(id).catch(goneMeanwhile)) !== null) done += 1;
    return done;
  };
  if (form.text('act') === 'write') return writeTo(request);
  const isMove = form.text('act') === 'move';
  return actOnRows(request, {
    title: texts.title,
    back,
    action: `${base}/contacts/selected`,
    current: 'contacts',
    notice: isMove ? 'moved' : 'removedMany',
    ...(isMove
      ? {}
      : { ask: (total: number) => ({ question: texts.removeMany(total), submit: texts.removeSubmit(total) }) }),
    act: (ids) =>
      each(ids, async (id) => {
        if (!isMove) return act.run(contactRemove, { params: paramsFor(id) });
        const { name, surname, mobile } = await act.run(contactShow, { params: paramsFor(id) });
        const body = { name, surname, mobile: mobile ?? '', groupId: form.text('moveTo') || null };
        return act.run(contactChange, { params: paramsFor(id), body });
      }),
  });
};

function goneMeanwhile(thrown: unknown): null {
  if (thrown instanceof Problem && thrown.kind === 'not-found') return null;
  throw thrown;
}

/** Leads to the page that writes a message, with the numbers of the chosen contacts. */
async function writeTo(request: PageRequest): Promise<View> {
  const { act, account, base } = request;
  const numbers: string[] = [];
  for (const id of selectedIds(request)) {
    const params = { username: account.username, id };
    const found = await act.run(contactShow, { params }).catch(goneMeanwhile);
    if (found?.mobile) numbers.push(found.mobile);
  }
  if (numbers.length === 0) return noticed(keptAddress(`${base}/contacts`, request, FILTER), 'nothing');
  return redirect(`${base}/compose?${new URLSearchParams({ to: numbers.join('\n') })}`);
}

interface Typed {
  readonly mobile: string;
  readonly name: string;
  readonly surname: string;
  readonly note: string;
  readonly groupId: string;
}

const contactForm = (
  form: Pick<FormPanel, 'title' | 'action' | 'submit' | 'id'>,
  typed: Typed,
  groups: readonly (readonly [string, string])[],
): Html =>
  formPanel({
    ...form,
    fields: [
      fieldRow([
        field({
          name: 'mobile',
          label: texts.number,
          type: 'tel',
          value: typed.mobile,
          isRequired: true,
          lengthMax: 200,
        }),
        field({ name: 'name', label: texts.name, value: typed.name, lengthMax: 200 }),
        field({ name: 'surname', label: texts.surname, value: typed.surname, lengthMax: 200 }),
        select({
          name: 'groupId',
          label: texts.group,
          value: typed.groupId,
          choices: [['', texts.noGroup], ...groups],
        }),
      ]),
      field({ name: 'note', label: texts.note, value: typed.note, hint: texts.noteHint, lengthMax: 500 }),
    ],
  });

const bodyOf = ({ form }: PageRequest) => ({
  mobile: form.text('mobile'),
  name: form.text('name') || null,
  surname: form.text('surname') || null,
  groupId: form.text('groupId') || null,
  note: form.text('note') || null,
});

const add = async (request: PageRequest): Promise<View> => {
  const { act, account, base, form } = request;
  const params = { username: account.username };
  try {
    await act.run(contactAdd, { params, body: bodyOf(request) });
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
  const { items } = await act.run(contactList, {
    params,
    query: { mobile: form.text('mobile'), limit: '2' },
  });
  return noticed(`${base}/contacts`, items.length > 1 ? 'twice' : 'added');
};

const edit = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, base, form, params } = request;
  const contact = await act.run(contactShow, { params: paramsOf(request) });
  const typed: Typed = problem
    ? {
        mobile: form.text('mobile'),
        name: form.text('name'),
        surname: form.text('surname'),
        note: form.text('note'),
        groupId: form.text('groupId'),
      }
    : {
        mobile: contact.mobile ?? '',
        name: contact.name ?? '',
        surname: contact.surname ?? '',
        note: contact.note ?? '',
        groupId: contact.groupId ?? '',
      };
  const address = `${base}/contacts/${params.id ?? ''}`;
  const talk = contact.mobile
    ? linkButton(conversationWith(base, contact.mobile), texts.openConversation, { icon: 'chat' })
    : '';
  const main = html`${backLink(`${base}/contacts`, texts.back)}${head(nameOf(contact), telephone(contact.mobile ?? ''), talk)}${problemNote(problem, LABELS)}
${contactForm({ title: texts.changeTitle, action: address, submit: texts.changeSubmit }, typed, await groupChoices(request))}
<form method="post" action="${address}/remove">${button(texts.removeAct, { look: 'danger' })}</form>`;
  return screen(texts.changeTitle, 'contacts', main, problem);
};

const change = async (request: PageRequest): Promise<View> => {
  try {
    await request.act.run(contactChange, { params: paramsOf(request), body: bodyOf(request) });
  } catch (thrown) {
    return edit(request, refusalOf(thrown));
  }
  return noticed(`${request.base}/contacts`, 'changed');
};

const remove = async (request: PageRequest): Promise<View> => {
  const { act, base, form, path, params } = request;
  if (form.text('confirmed') !== 'yes') {
    const contact = await act.run(contactShow, { params: paramsOf(request) });
    const question = texts.removeQuestion(nameOf(contact));
    const back = `${base}/contacts/${params.id ?? ''}`;
    return asking('contacts', { question, action: path, submit: texts.remove, back });
  }
  await act.run(contactRemove, { params: paramsOf(request) });
  return noticed(`${base}/contacts`, 'removed');
};

const whole = download('contacts.csv', contactExport);

const csv = async (request: PageRequest): Promise<View> => {
  if (!isFilteredBy(request, ...FILTER)) return whole(request);
  const { domain, account } = request;
  const { rows, missing } = await matching(request, groupOf(request));
  if (missing !== null) return noFile(missing, texts.missing);
  const text = contactsCsv(rows, await domain.contacts.groupNames(account.id));
  return { kind: 'download', fileName: 'contacts.csv', text };
};

export const contactRoutes = [
  get('/contacts', (request) => show(request)),
  post('/contacts', add),
  post('/contacts/selected', actOnSelected),
  get('/contacts.csv', csv),
  get('/contacts/:id', (request) => edit(request)),
  post('/contacts/:id', change),
  post('/contacts/:id/remove', remove),
];
