import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { accountAdd, accountList } from '../../operator/actions/accounts/accounts.ts';
import { counted } from '../counts.ts';
import {
  field,
  fieldRow,
  filters,
  isFilteredBy,
  listPanel,
  noticeOf,
  onOff,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
  searchField,
  tabs,
} from '../lists.ts';
import { get, type PageRequest, page, post, type View } from '../page-request.ts';
import { acts, formPanel, head, linkButton, named, num, secretPage } from '../parts.ts';
import { listOf as typedList } from '../words.ts';

/** All accounts, and a form for a new one. */

const texts = {
  title: 'Accounts',
  columns: ['Account', 'Free credits', 'State', ''],
  search: 'Search in names and e-mail',
  state: 'State',
  states: [
    ['', 'All'],
    ['enabled', 'Enabled'],
    ['disabled', 'Disabled'],
  ] as readonly (readonly [string, string])[],
  enabled: 'Enabled',
  disabled: 'Disabled',
  open: 'Open as the customer',
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
    removed: (count: bigint) => html`The account is removed, with ${counted(count, 'message')}.`,
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
      named(
        html`<a href="/console/accounts/${encodeURIComponent(username)}"><bdi>${username}</bdi></a>`,
        company ?? '',
      ),
      num(credits),
      onOff(state === 'enabled', texts.enabled, texts.disabled),
      acts(
        linkButton(`/console/accounts/${encodeURIComponent(username)}/`, texts.open, {
          icon: 'user',
          look: 'ghost s',
          about: username,
        }),
      ),
    ],
  }));
  const list = listPanel(texts, rows, isFilteredBy(request, 'q', 'state'), linkButton('#add', texts.add));
  const filtersForm = filters(request, [searchField(request, texts.search)], {
    before: tabs(request, { name: 'state', label: texts.state, choices: texts.states }),
    kept: ['state'],
  });
  const value = (name: string) => ({ name, value: form.text(name) });
  const fields = html`${fieldRow([
    field({ ...value('username'), label: texts.username, isRequired: true, lengthMax: 200, autocomplete: 'off' }),
    field({ ...value('company'), label: texts.company, lengthMax: 200 }),
  ])}${fieldRow([
    field({ ...value('region'), label: texts.region, hint: texts.regionHint, lengthMax: 2 }),
    field({ ...value('credits'), label: texts.credits, lengthMax: 19 }),
  ])}${field({ ...value('stopWords'), label: texts.stopWords, hint: texts.stopWordsHint, lengthMax: 1_000 })}`;
  const main = html`${head(texts.title, '', linkButton('#add', texts.add, { icon: 'plus' }))}${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}${filtersForm}${list}${pagerOf(request, next)}
${formPanel({ title: texts.add, id: 'add', action: '/console/accounts', fields, submit: texts.addSubmit })}`;
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
    const onward = { href: `/console/accounts/${encodeURIComponent(username)}`, words: texts.done };
    const main = secretPage(texts.added(username), texts.userId, userId, onward);
    return page(texts.added(username), main, { current: 'accounts' });
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
};

export const accountListRoutes = [get('/accounts', (request) => show(request)), post('/accounts', add)];
