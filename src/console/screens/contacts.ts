import { type Html, html } from '../../html.ts';
import type { Problem } from '../../problem.ts';
import { isAction } from '../acting.ts';
import {
  confirmation,
  empty,
  field,
  filters,
  noticeOf,
  pagerOf,
  problemNote,
  refusalOf,
  select,
  table,
} from '../lists.ts';
import { PAGE_ROWS } from '../scan.ts';
import { texts } from '../texts/contacts.ts';
import { texts as listTexts } from '../texts/lists.ts';
import { get, noticed, page, post, type View, type Visit } from '../visit.ts';

/** Contacts: add, change, move to a group, remove, search. */
interface ContactOutput {
  readonly id: string;
  readonly name: string | null;
  readonly surname: string | null;
  readonly mobile: string | null;
  readonly groupId: string | null;
}
interface PageOutput {
  readonly items: readonly ContactOutput[];
  readonly next: string | null;
}

const paramsOf = ({ account, params }: Visit) => ({
  username: account.username,
  ...(params.id === undefined ? {} : { id: params.id }),
});
const GROUPS_MAX = 500;

async function groupChoices({ domain, account }: Visit): Promise<(readonly [string, string])[]> {
  const groups = await domain.contacts.groups(account.id, GROUPS_MAX, null);
  return groups.map(({ id, name }) => [String(id), name ?? String(id)] as const);
}

async function listOf({ act, query, account }: Visit): Promise<PageOutput> {
  const given = { q: query.get('q')?.trim(), group: query.get('group'), after: query.get('after') };
  const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value)) as Record<string, string>;
  const params = { username: account.username };
  return act.run<PageOutput>('contact list', { params, query: { limit: String(PAGE_ROWS), ...filter } });
}

const nameOf = ({ name, surname, mobile }: ContactOutput): string =>
  [name, surname].filter(Boolean).join(' ') || mobile || '?';

const show = async (visit: Visit, problem: Problem | null = null): Promise<View> => {
  const { query, base, form } = visit;
  const groups = await groupChoices(visit);
  const groupNames = new Map(groups);
  const { items, next } = await listOf(visit);
  const rows = items.map((contact) => ({
    key: contact.id,
    cells: [
      html`<bdi>${[contact.name, contact.surname].filter(Boolean).join(' ')}</bdi>`,
      html`<a href="${base}/conversation?${new URLSearchParams({ with: contact.mobile ?? '' }).toString()}">${contact.mobile ?? ''}</a>`,
      html`${contact.groupId === null ? html`<span class="quiet">${texts.noGroup}</span>` : (groupNames.get(contact.groupId) ?? contact.groupId)}`,
      html`<a href="${base}/contacts/${contact.id}">${texts.change}<span class="unseen"> ${nameOf(contact)}</span></a>${
        isAction('message send') && contact.mobile
          ? html` · <a href="${base}/compose?${new URLSearchParams({ to: contact.mobile }).toString()}">${texts.write}<span class="unseen"> ${nameOf(contact)}</span></a>`
          : ''
      }`,
    ],
    href: `${base}/contacts/${contact.id}`,
  }));
  const isFiltered = Boolean(query.get('q') || query.get('group'));
  const list =
    rows.length > 0
      ? table({ caption: texts.title, columns: texts.columns, rows })
      : isFiltered
        ? empty(texts.noMatch, texts.noMatchHint)
        : empty(texts.empty, texts.emptyHint);
  const filtersForm = filters(visit, [
    field({
      isFilter: true,
      name: 'q',
      label: texts.search,
      type: 'search',
      value: query.get('q') ?? '',
      lengthMax: 200,
    }),
    select({
      name: 'group',
      label: texts.group,
      value: query.get('group') ?? '',
      choices: [['', texts.allGroups], ...groups],
    }),
  ]);
  const typed = {
    mobile: form.text('mobile') || (query.get('mobile') ?? ''),
    name: form.text('name'),
    surname: form.text('surname'),
    groupId: form.text('groupId'),
  };
  const main = html`<h1>${texts.title}</h1>${noticeOf(visit, texts.notices)}${problemNote(problem)}${filtersForm}${list}${pagerOf(visit, next)}
<p class="buttons"><a href="${base}/import">${texts.import}</a> <a href="${base}/contacts.csv">${listTexts.download}</a></p>
<h2 id="add">${texts.add}</h2>${contactForm(`${base}/contacts`, typed, groups, texts.addSubmit)}`;
  return page(texts.title, main, { current: 'contacts', ...(problem ? { status: 400 } : {}) });
};

interface Typed {
  readonly mobile: string;
  readonly name: string;
  readonly surname: string;
  readonly groupId: string;
}

const contactForm = (
  action: string,
  typed: Typed,
  groups: readonly (readonly [string, string])[],
  submit: string,
): Html =>
  html`<form method="post" action="${action}" class="fields">
${field({ name: 'mobile', label: texts.number, type: 'tel', value: typed.mobile, isRequired: true, lengthMax: 200 })}
${field({ name: 'name', label: texts.name, value: typed.name, lengthMax: 200 })}
${field({ name: 'surname', label: texts.surname, value: typed.surname, lengthMax: 200 })}
${select({ name: 'groupId', label: texts.group, value: typed.groupId, choices: [['', texts.noGroup], ...groups] })}
<button class="main">${submit}</button></form>`;

const bodyOf = ({ form }: Visit) => ({
  mobile: form.text('mobile'),
  name: form.text('name') || null,
  surname: form.text('surname') || null,
  groupId: form.text('groupId') || null,
});

const add = async (visit: Visit): Promise<View> => {
  const { act, account, base, form } = visit;
  const params = { username: account.username };
  try {
    await act.run('contact add', { params, body: bodyOf(visit) });
  } catch (thrown) {
    return show(visit, refusalOf(thrown));
  }
  const { items } = await act.run<PageOutput>('contact list', {
    params,
    query: { mobile: form.text('mobile'), limit: '2' },
  });
  return noticed(`${base}/contacts`, items.length > 1 ? 'twice' : 'added');
};

const edit = async (visit: Visit, problem: Problem | null = null): Promise<View> => {
  const { act, base, form, params } = visit;
  const contact = await act.run<ContactOutput>('contact show', { params: paramsOf(visit) });
  const typed: Typed = problem
    ? {
        mobile: form.text('mobile'),
        name: form.text('name'),
        surname: form.text('surname'),
        groupId: form.text('groupId'),
      }
    : {
        mobile: contact.mobile ?? '',
        name: contact.name ?? '',
        surname: contact.surname ?? '',
        groupId: contact.groupId ?? '',
      };
  const address = `${base}/contacts/${params.id ?? ''}`;
  const main = html`<h1>${texts.changeTitle}</h1>${problemNote(problem)}
${contactForm(address, typed, await groupChoices(visit), texts.changeSubmit)}
<form method="post" action="${address}/remove" class="buttons"><button class="danger">${texts.remove}</button></form>`;
  return page(texts.changeTitle, main, { current: 'contacts', ...(problem ? { status: 400 } : {}) });
};

const change = async (visit: Visit): Promise<View> => {
  try {
    await visit.act.run('contact change', { params: paramsOf(visit), body: bodyOf(visit) });
  } catch (thrown) {
    return edit(visit, refusalOf(thrown));
  }
  return noticed(`${visit.base}/contacts`, 'changed');
};

const remove = async (visit: Visit): Promise<View> => {
  const { act, base, form, path, params } = visit;
  if (form.text('confirmed') !== 'yes') {
    const contact = await act.run<ContactOutput>('contact show', { params: paramsOf(visit) });
    const question = texts.removeQuestion(nameOf(contact));
    const back = `${base}/contacts/${params.id ?? ''}`;
    return page(question, confirmation({ question, action: path, fields: [], submit: texts.remove, back }), {
      current: 'contacts',
    });
  }
  await act.run('contact remove', { params: paramsOf(visit) });
  return noticed(`${base}/contacts`, 'removed');
};

const download = async ({ act, account }: Visit): Promise<View> => ({
  kind: 'download',
  fileName: 'contacts.csv',
  text: await act.download('contact export', { params: { username: account.username } }),
});

export const contactRoutes = [
  get('/contacts', (visit) => show(visit)),
  post('/contacts', add),
  get('/contacts.csv', download),
  get('/contacts/:id', (visit) => edit(visit)),
  post('/contacts/:id', change),
  post('/contacts/:id/remove', remove),
];
