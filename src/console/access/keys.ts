import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { accountRecord } from '../../domain/accounts/accounts.ts';
import { accountTokenAdd, accountTokenList, accountTokenRevoke } from '../../operator/actions/access/tokens.ts';
import { userIdAdd, userIdList, userIdRevoke } from '../../operator/actions/access/user-ids.ts';
import { asking, check, checks, field, hidden, problemNote, refusalOf, screen, table } from '../lists.ts';
import { noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { acts, button, chip, empty, formPanel, head, secretPage, tablePanel } from '../parts.ts';
import { day, time } from '../words.ts';
import { ACCESS_LABELS, accessPage, ownAccessRoutes } from './access.ts';

/** The user_ids and tokens with which programs use an account. Each secret is shown once. */

const texts = {
  title: 'Access',
  userIds: 'user_ids of your programs',
  userIdLead: 'Programs that call the messaging API use a user_id. Columba can show only the beginning of its hash.',
  networks: (networks: string | null) =>
    networks === null
      ? 'The account can be used from every network.'
      : `The account can be used only from: ${networks.replaceAll(',', ', ')}.`,
  userIdColumns: ['Hash', 'Made', 'Last used', 'State', ''],
  newUserId: 'Create a new user_id',
  shownOnce: 'This cannot be shown again. Copy it to a safe place.',
  valid: 'valid',
  revoked: 'revoked',
  revoke: 'Revoke',
  revokeAct: 'Revoke…',
  revokeUserId: (hash: string) => `Revoke the user_id ${hash}? Programs that use it are refused from the next call on.`,
  lastUserId: 'It is the last valid user_id: no program can use the account afterwards.',
  tokens: 'Tokens of the JSON API',
  tokenLead: 'A token lets a program of yours send and read messages through the JSON API.',
  tokenColumns: ['Name', 'May', 'Made', 'Last used', ''],
  scopes: {
    'messages:send': 'send messages',
    'messages:read': 'read messages',
    'messages:delete': 'delete messages',
    contacts: 'contacts, templates and blacklist',
    credits: 'see credits',
  } as Readonly<Record<string, string>>,
  newToken: 'Make a token',
  noTokens: 'There are no tokens yet.',
  noTokensHint: 'Create one for each program, so that each can be revoked on its own.',
  revokeToken: (name: string) => `Revoke the token ${name}? Programs that use it are refused from the next call on.`,
  done: 'Go on',
} as const;

const SHORT = 12;
const LISTED_MAX = 100;
const paramsOf = ({ account }: PageRequest) => ({ username: account.username });

const userIdsOf = async (request: PageRequest) =>
  (
    await request.act.run(userIdList, {
      params: paramsOf(request),
      query: { limit: String(LISTED_MAX) },
    })
  ).items;

async function userIds(request: PageRequest): Promise<Html> {
  const { base, zone } = request;
  const rows = (await userIdsOf(request)).map(({ hash, createdAt, lastUsedAt, revokedAt }) => ({
    key: hash,
    cells: [
      html`<code>${hash.slice(0, SHORT)}…</code>`,
      time(createdAt, zone),
      day(lastUsedAt),
      revokedAt === null
        ? chip('good', 'tick', texts.valid)
        : html`${chip('off', 'block', texts.revoked)} <span class="small quiet">${time(revokedAt, zone)}</span>`,
      revokedAt !== null
        ? html``
        : acts(
            html`<form method="post" action="${base}/access/user-ids/revoke">${hidden({ hash })}${button(texts.revokeAct, { look: 's danger', label: `${texts.revoke} ${hash.slice(0, SHORT)}` })}</form>`,
          ),
    ],
  }));
  const { allowedNetworks } = await accountRecord(request.services.database, request.account.username);
  const list = html`${table({ caption: texts.userIds, columns: texts.userIdColumns, rows })}<footer>${texts.userIdLead} ${texts.networks(allowedNetworks)}</footer>`;
  const add = html`<form method="post" action="${base}/access/user-ids">${button(texts.newUserId, { look: 's', icon: 'plus' })}</form>`;
  return tablePanel(texts.userIds, list, add);
}

async function tokens(request: PageRequest): Promise<Html> {
  const { act, base, zone, form } = request;
  const { items } = await act.run(accountTokenList, { params: paramsOf(request) });
  const rows = items.map(({ id, name, scopes, createdAt, lastUsedAt, revokedAt }) => ({
    key: id,
    cells: [
      html`<bdi>${name}</bdi>`,
      html`${scopes.map((scope) => texts.scopes[scope] ?? scope).join(', ')}`,
      time(createdAt, zone),
      time(lastUsedAt, zone),
      revokedAt !== null
        ? chip('off', 'block', texts.revoked)
        : acts(
            html`<form method="post" action="${base}/access/tokens/revoke">${hidden({ token: id, name })}${button(texts.revokeAct, { look: 's danger', label: `${texts.revoke} ${name}` })}</form>`,
          ),
    ],
  }));
  const choices = Object.entries(texts.scopes).map(([scope, said]) =>
    check('scope', said, scope, form.all('scope').includes(scope)),
  );
  const list =
    rows.length > 0
      ? table({ caption: texts.tokens, columns: texts.tokenColumns, rows })
      : empty(texts.noTokens, texts.noTokensHint, '', 'key');
  const fields = html`${field({ name: 'tokenName', label: ACCESS_LABELS.name, value: form.text('tokenName'), isRequired: true, lengthMax: 100 })}${checks(ACCESS_LABELS.scopes, choices)}`;
  return html`${tablePanel(texts.tokens, list)}
${formPanel({ title: texts.newToken, action: `${base}/access/tokens`, lead: texts.tokenLead, fields, submit: texts.newToken })}`;
}

/** An operator who looks at an account sees its keys, but no sessions or passwords. */
const show = async (request: PageRequest, problem: Problem | null): Promise<View> => {
  const keys = html`${await userIds(request)}${await tokens(request)}`;
  if (!request.isOperator) return accessPage(request, keys, problem);
  return screen(
    texts.title,
    'access',
    html`${head(texts.title)}${problemNote(problem, ACCESS_LABELS)}${keys}`,
    problem,
  );
};

const shownOnce = ({ base }: PageRequest, title: string, secret: string): View =>
  page(title, secretPage(title, texts.shownOnce, secret, { href: `${base}/access`, words: texts.done }), {
    current: 'access',
  });

const addUserId = async (request: PageRequest): Promise<View> => {
  const { userId } = await request.act.run(userIdAdd, { params: paramsOf(request), body: {} });
  return shownOnce(request, texts.newUserId, userId);
};

const revokeUserId = async (request: PageRequest): Promise<View> => {
  const { form, base, path, act } = request;
  const hash = form.text('hash');
  if (form.text('confirmed') !== 'yes') {
    const valid = (await userIdsOf(request)).filter(({ revokedAt }) => revokedAt === null);
    const question = texts.revokeUserId(`${hash.slice(0, SHORT)}…`);
    const details = valid.length === 1 && valid[0]?.hash === hash ? texts.lastUserId : '';
    return asking('access', {
      question,
      details,
      action: path,
      fields: hidden({ hash }),
      submit: texts.revoke,
      back: `${base}/access`,
    });
  }
  await act.run(userIdRevoke, { params: { ...paramsOf(request), hash } });
  return noticed(`${base}/access`, 'revoked');
};

const addToken = async (request: PageRequest): Promise<View> => {
  const { form, act } = request;
  try {
    const body = { name: form.text('tokenName'), scopes: form.all('scope') };
    const { token } = await act.run(accountTokenAdd, { params: paramsOf(request), body });
    return shownOnce(request, texts.newToken, token);
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
};

const revokeToken = async (request: PageRequest): Promise<View> => {
  const { form, base, path, act } = request;
  const fields = { token: form.text('token'), name: form.text('name') };
  if (form.text('confirmed') !== 'yes') {
    const question = texts.revokeToken(fields.name);
    return asking('access', {
      question,
      action: path,
      fields: hidden(fields),
      submit: texts.revoke,
      back: `${base}/access`,
    });
  }
  await act.run(accountTokenRevoke, { params: { ...paramsOf(request), id: fields.token } });
  return noticed(`${base}/access`, 'revoked');
};

export const customerAccessRoutes = [
  ...ownAccessRoutes(show),
  post('/access/user-ids', addUserId),
  post('/access/user-ids/revoke', revokeUserId),
  post('/access/tokens', addToken),
  post('/access/tokens/revoke', revokeToken),
];
