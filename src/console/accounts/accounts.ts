import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { accountAdd, accountList } from '../../operator/actions/accounts.ts';
import {
  field,
  filterSelect,
  filters,
  isFilteredBy,
  listOf,
  noticeOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
  searchField,
} from '../lists.ts';
import { get, type PageRequest, page, post, type View } from '../page-request.ts';
import { counted, grouped, listOf as typedList } from '../words.ts';

/** All accounts, and a form for a new one. */

const texts = {
  title: 'Accounts',
  columns: ['Username', 'Company', 'Free credits', 'State', ''],
  search: 'Search in names and e-mail',
  state: 'State',
  states: [
    ['', 'all'],
    ['enabled', 'enabled'],
    ['disabled', 'disabled'],
  ] as readonly (readonly [string, string])[],
  stateWords: { enabled: 'enabled', disabled: 'disabled' } as Readonly<Record<string, string>>,
  open: 'Open as the customer sees it',
  empty: 'There is no account yet.',
  emptyHint: 'Create the first one below.',
  noMatch: 'No account matches.',
  noMatchHint: 'Shorten the search.',
  add: 'Create an account',
  username: 'Username',
  company: 'Company',
  region: 'Region',
  regionHint: 'Country of its local phone numbers, such as ZA.',
  credits: 'Credits to begin with',
  stopWords: 'STOP words, separated by commas',
  stopWordsHint:
    'A message that consists of one of these words, such as STOP, puts its sender on the blacklist. Empty: nobody can opt out by a message.',
  addSubmit: 'Create the account',
  added: (username: string) => `The account ${username} was created`,
  userId: 'Its user_id, which cannot be shown again:',
  done: 'Go on',
  notices: {
    removed: (count: bigint) => `The account is removed, with ${counted(count, 'message')}.`,
  },
} as const;

const LABELS = {
  username: texts.username,
  company: texts.company,
  region: texts.region,
  credits: texts.credits,
  stopWords: texts.stopWords,
};

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, form } = request;
  const { items, next } = await act.run(accountList, {
    query: pageQuery(request, 'q', 'state'),
  });
  const rows = items.map(({ username, company, credits, state }) => ({
    key: username,
    cells: [
      html`<a href="/console/accounts/${encodeURIComponent(username)}">${username}</a>`,
      html`${company ?? ''}`,
      html`${grouped(credits)}`,
      html`<span class="${state === 'disabled' ? 'bad' : ''}">${texts.stateWords[state] ?? state}</span>`,
      html`<a href="/console/accounts/${encodeURIComponent(username)}/">${texts.open}<span class="unseen">: ${username}</span></a>`,
    ],
  }));
  const list = listOf(texts, rows, isFilteredBy(request, 'q', 'state'));
  const filtersForm = filters(request, [
    searchField(request, texts.search),
    filterSelect(request, { name: 'state', label: texts.state, choices: texts.states }),
  ]);
  const main = html`<h1>${texts.title}</h1>${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}${filtersForm}${list}${pagerOf(request, next)}
<h2>${texts.add}</h2><form method="post" action="/console/accounts" class="fields">
${field({ name: 'username', label: texts.username, value: form.text('username'), isRequired: true, lengthMax: 200, autocomplete: 'off' })}
${field({ name: 'company', label: texts.company, value: form.text('company'), lengthMax: 200 })}
${field({ name: 'region', label: texts.region, value: form.text('region'), hint: texts.regionHint, lengthMax: 2 })}
${field({ name: 'credits', label: texts.credits, value: form.text('credits'), lengthMax: 19 })}
${field({ name: 'stopWords', label: texts.stopWords, value: form.text('stopWords'), hint: texts.stopWordsHint, lengthMax: 1_000 })}
<button class="main">${texts.addSubmit}</button></form>`;
  return screen(texts.title, 'accounts', main, problem);
};

const add = async (request: PageRequest): Promise<View> => {
  const { act, form } = request;
  const optional = Object.fromEntries(
    ['company', 'region', 'credits'].flatMap((name) => (form.text(name) === '' ? [] : [[name, form.text(name)]])),
  );
  try {
    const { username, userId } = await act.run(accountAdd, {
      body: { username: form.text('username'), ...optional, stopWords: typedList(form.text('stopWords')) },
    });
    const main = html`<h1>${texts.added(username)}</h1><p>${texts.userId}</p><pre><code data-copy>${userId}</code></pre>
<p><a href="/console/accounts/${encodeURIComponent(username)}">${texts.done}</a></p>`;
    return page(texts.added(username), main, { current: 'accounts' });
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
};

export const accountListRoutes = [get('/accounts', (request) => show(request)), post('/accounts', add)];
