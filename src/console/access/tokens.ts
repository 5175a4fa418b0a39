import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { tokenAdd, tokenList, tokenRevoke } from '../../operator/actions/access/tokens.ts';
import { scopes } from '../../operator/actor.ts';
import {
  asking,
  check,
  checks,
  field,
  fieldRow,
  hidden,
  listPanel,
  noticeOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
} from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { acts, button, chip, formPanel, head, secretPage } from '../parts.ts';
import { time } from '../words.ts';

/** Bearer tokens of the JSON API, of operators and of accounts. */

const texts = {
  title: 'Tokens',
  lead: 'Bearer tokens of the JSON API.',
  columns: ['Name', 'Account', 'May', 'Made', 'Last used', 'Ends', ''],
  all: 'all accounts',
  revoked: 'revoked',
  revoke: 'Revoke',
  revokeAct: 'Revoke…',
  question: (name: string) => `Revoke the token ${name}? Every process refuses it from the next request on.`,
  empty: 'There are no tokens yet.',
  emptyHint: 'The JSON API answers only if there is a token.',
  add: 'Make a token',
  name: 'Purpose',
  username: 'Only for this account',
  scopes: 'What it may do',
  scopeWords: {
    accounts: 'accounts, their user_ids, tokens and operators',
    contacts: 'contacts, templates and blacklists',
    'messages:read': 'read messages',
    'messages:send': 'send messages',
    'messages:delete': 'delete messages',
    credits: 'see and move credits',
    audit: 'read the audit',
    erase: 'erase persons, set retention',
    gateway: 'connectors, routes, the queue and webhooks',
    metrics: 'see the state of the service',
  } as Readonly<Record<string, string>>,
  submit: 'Make it',
  shown: 'The token, which cannot be shown again',
  done: 'Go on',
  notices: { revoked: 'The token is revoked.' },
} as const;

const HERE = '/console/tokens';
const LABELS = { name: texts.name, username: texts.username, scopes: texts.scopes };

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, zone, form } = request;
  const { items, next } = await act.run(tokenList, {
    query: pageQuery(request),
  });
  const rows = items.map((token) => ({
    key: token.id,
    cells: [
      html`<bdi>${token.name}</bdi>`,
      html`${token.username ?? texts.all}`,
      html`${token.scopes.join(', ')}`,
      time(token.createdAt, zone),
      time(token.lastUsedAt, zone),
      time(token.expiresAt, zone),
      token.revokedAt !== null
        ? chip('off', 'block', texts.revoked)
        : acts(
            html`<form method="post" action="${HERE}/revoke">${hidden({ token: token.id, name: token.name })}${button(texts.revokeAct, { look: 's danger', label: `${texts.revoke} ${token.name}` })}</form>`,
          ),
    ],
  }));
  const choices = scopes.map((scope) => {
    const said = html`${texts.scopeWords[scope] ?? scope} <span class="small quiet">${scope}</span>`;
    return check('scope', said, scope, form.all('scope').includes(scope));
  });
  const names = fieldRow([
    field({ name: 'name', label: texts.name, value: form.text('name'), isRequired: true, lengthMax: 100 }),
    field({
      name: 'username',
      label: texts.username,
      value: form.text('username'),
      lengthMax: 200,
      autocomplete: 'off',
    }),
  ]);
  const fields = html`${names}${checks(texts.scopes, choices)}`;
  const main = html`${head(texts.title, texts.lead)}${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}${listPanel(texts, rows)}${pagerOf(request, next)}
${formPanel({ title: texts.add, action: HERE, fields, submit: texts.submit })}`;
  return screen(texts.title, 'tokens', main, problem);
};

const add = async (request: PageRequest): Promise<View> => {
  const { act, form } = request;
  const username = form.text('username');
  try {
    const body = { name: form.text('name'), scopes: form.all('scope'), ...(username === '' ? {} : { username }) };
    const { token } = await act.run(tokenAdd, { body });
    const shown = secretPage(texts.shown, '', token, { href: HERE, words: texts.done });
    return page(texts.shown, shown, { current: 'tokens' });
  } catch (thrown) {
    return show(request, refusalOf(thrown, 'not-found'));
  }
};

const revoke = async ({ act, form }: PageRequest): Promise<View> => {
  const fields = { token: form.text('token'), name: form.text('name') };
  if (form.text('confirmed') !== 'yes') {
    const question = texts.question(fields.name);
    return asking('tokens', {
      question,
      action: `${HERE}/revoke`,
      fields: hidden(fields),
      submit: texts.revoke,
      back: HERE,
    });
  }
  await act.run(tokenRevoke, { params: { id: fields.token } });
  return noticed(HERE, 'revoked');
};

export const tokenRoutes = [
  get('/tokens', (request) => show(request)),
  post('/tokens', add),
  post('/tokens/revoke', revoke),
];
