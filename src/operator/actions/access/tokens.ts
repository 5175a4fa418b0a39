import { z } from 'zod';
import { badField, conflict } from '../../../base/problem.ts';
import {
  addToken,
  revokeToken,
  revokeTokenOf,
  type Token,
  tokensAfter,
  tokensOfAccount,
} from '../../../domain/access/tokens.ts';
import { accountId } from '../../../domain/accounts/accounts.ts';
import { type Action, accountAction, action, listAction, pageOf } from '../../action.ts';
import { accountScopes, type Scope, scopes } from '../../actor.ts';
import { accountParams, id, instant, line, username } from '../../schemas.ts';

/** Bearer tokens of this API. */

const needsGiven = {
  says: 'A token can grant only scopes that it has itself.',
  scopes: ({ body }: { readonly body: { readonly scopes: readonly Scope[] } }) => body.scopes,
};

const tokenOutput = z.strictObject({
  id,
  kind: z.enum(['operator', 'account']),
  name: z.string(),
  username: z.string().nullable().describe('The account to which the token is bound; null for an operator token.'),
  scopes: z.array(z.string()),
  createdAt: instant,
  expiresAt: instant.nullable(),
  lastUsedAt: instant.nullable().describe('Time of the last use, exact to a minute.'),
  revokedAt: instant.nullable(),
});
const shown = ({ scopes: allowed, ...token }: Token): z.output<typeof tokenOutput> => ({
  ...token,
  scopes: [...allowed],
});
const EXAMPLE = {
  id: '2305843009213693951',
  kind: 'operator',
  name: 'provisioning',
  username: null,
  scopes: ['accounts', 'credits'],
  createdAt: '2026-11-15T12:00:00.000Z',
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
};

export const tokenList = listAction({
  name: 'token list',
  scope: 'accounts',
  path: '/tokens',
  summary: 'List tokens in the order in which they were created.',
  item: tokenOutput,
  position: z.tuple([instant, id]),
  example: { output: { items: [EXAMPLE], next: null } },
  command: { columns: ['id', 'kind', 'name', 'username', 'scopes', 'expiresAt', 'lastUsedAt', 'revokedAt'] },
  run: async ({ database }, { page: { after, limit } }) => {
    const rows = await tokensAfter(database, after, limit + 1);
    return pageOf(rows, limit, shown, (token): [number, bigint] => [token.createdAt, token.id]);
  },
});

export const tokenAdd = action({
  name: 'token add',
  scope: 'accounts',
  needs: needsGiven,
  method: 'POST',
  path: '/tokens',
  summary: 'Create a token.',
  description:
    'The answer contains the token, which cannot be shown again. With `username` the token is bound to that account.',
  formerFields: { scope: 'scopes' },
  body: z.strictObject({
    name: line(100).min(1).describe('The purpose of the token, for people.'),
    scopes: z.array(z.enum(scopes)).min(1).max(scopes.length).describe('What the token may do.'),
    username: username.optional().describe('The account to which the token is bound.'),
    expiresAt: instant.optional().describe('When the token expires; not later than the token that creates it.'),
  }),
  output: z.strictObject({
    token: z.string().describe('The secret, which cannot be shown again.'),
    ...tokenOutput.shape,
  }),
  status: 201,
  problems: ['not-found'],
  example: {
    body: { name: 'provisioning', scopes: ['accounts', 'credits'] },
    output: { token: 'colo_K7J0Qy3mB5v1uYx2Wd9sTq8Rf4Hn6Lp0Za1Xc3Ve5Bg', ...EXAMPLE },
  },
  target: ({ body }) => body.name,
  command: {
    arguments: ['name'],
    say: ({ name, token }) => `Added the token ${name}, which cannot be shown again:\n${token}`,
  },
  run: async ({ database, now }, { body }, { expiresAt: ends = null }) => {
    const { name, scopes: given, username: customer, expiresAt = ends } = body;
    if (ends !== null && (expiresAt ?? ends) > ends)
      throw badField('expiresAt', 'the token that you use expires before that');
    const allowed: readonly Scope[] = customer === undefined ? scopes : accountScopes;
    const tooMuch = given.find((each) => !allowed.includes(each));
    if (tooMuch) throw badField('scopes', `a token of an account cannot have the scope ${tooMuch}`);
    if (expiresAt !== null && expiresAt <= now()) throw badField('expiresAt', 'expected an instant in the future');
    const account = customer === undefined ? null : await accountId(database, customer);
    const wanted = { name, account, scopes: [...new Set(given)], expiresAt };
    const { token, secret } = await addToken(database, wanted, now());
    return { token: secret, ...shown(token) };
  },
});

export const tokenRevoke = action({
  name: 'token revoke',
  scope: 'accounts',
  method: 'DELETE',
  path: '/tokens/{id}',
  summary: 'Revoke a token. Every process refuses it from the next request on.',
  params: z.strictObject({ id }),
  output: tokenOutput,
  problems: ['not-found'],
  example: {
    params: { id: '2305843009213693951' },
    output: { ...EXAMPLE, revokedAt: '2026-11-16T12:00:00.000Z' },
  },
  command: { say: ({ name }) => `Revoked the token ${name}.` },
  run: async ({ database, now }, { params }) => shown(await revokeToken(database, params.id, now())),
});

const OF_ACCOUNT_MAX = 100;
const OF_ACCOUNT = { ...EXAMPLE, kind: 'account', username: 'acme', scopes: ['messages:send'] };

export const accountTokenList = accountAction({
  name: 'account-token list',
  scope: 'accounts',
  customers: true,
  method: 'GET',
  path: '/accounts/{username}/tokens',
  summary: `List the tokens of an account, newest first, at most ${OF_ACCOUNT_MAX}.`,
  params: accountParams,
  output: z.strictObject({ items: z.array(tokenOutput) }),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: { items: [OF_ACCOUNT] } },
  run: async ({ database, account }) => ({
    items: (await tokensOfAccount(database, account.id, OF_ACCOUNT_MAX)).map(shown),
  }),
});

export const accountTokenAdd = accountAction({
  name: 'account-token add',
  scope: 'accounts',
  needs: needsGiven,
  customers: true,
  method: 'POST',
  path: '/accounts/{username}/tokens',
  summary: 'Create a token that is bound to an account. It cannot be shown again.',
  params: accountParams,
  formerFields: { scope: 'scopes' },
  body: z.strictObject({
    name: line(100).min(1).describe('The purpose of the token, for people.'),
    scopes: z.array(z.enum(accountScopes)).min(1).max(accountScopes.length).describe('What the token may do.'),
  }),
  output: z.strictObject({
    token: z.string().describe('The secret, which cannot be shown again.'),
    ...tokenOutput.shape,
  }),
  status: 201,
  problems: ['not-found', 'conflict'],
  example: {
    params: { username: 'acme' },
    body: { name: 'web shop', scopes: ['messages:send'] },
    output: { token: 'cola_K7J0Qy3mB5v1uYx2Wd9sTq8Rf4Hn6Lp0Za1Xc3Ve5Bg', ...OF_ACCOUNT },
  },
  target: ({ params, body }) => `${params.username}/${body.name}`,
  command: {
    arguments: ['name'],
    say: ({ name, token }) => `Added the token ${name}, which cannot be shown again:\n${token}`,
  },
  run: async ({ database, account, now }, { body: { name, scopes: wanted } }, { expiresAt = null }) => {
    const valid = (await tokensOfAccount(database, account.id, OF_ACCOUNT_MAX)).filter(
      (each) => each.revokedAt === null,
    );
    if (valid.length >= OF_ACCOUNT_MAX) throw conflict(`An account has at most ${OF_ACCOUNT_MAX} tokens. Revoke some.`);
    const given = { name, account: account.id, scopes: [...new Set(wanted)], expiresAt };
    const { token, secret } = await addToken(database, given, now());
    return { token: secret, ...shown(token) };
  },
});

export const accountTokenRevoke = accountAction({
  name: 'account-token revoke',
  scope: 'accounts',
  customers: true,
  method: 'DELETE',
  path: '/accounts/{username}/tokens/{id}',
  summary: 'Revoke a token of an account.',
  params: z.strictObject({ ...accountParams.shape, id }),
  output: tokenOutput,
  problems: ['not-found'],
  example: {
    params: { username: 'acme', id: '2305843009213693951' },
    output: { ...OF_ACCOUNT, revokedAt: '2026-11-16T12:00:00.000Z' },
  },
  command: { say: ({ name }) => `Revoked the token ${name}.` },
  run: async ({ database, account, now }, { params }) =>
    shown(await revokeTokenOf(database, account.id, params.id, now())),
});

export const tokenActions: readonly Action[] = [
  tokenList,
  tokenAdd,
  tokenRevoke,
  accountTokenList,
  accountTokenAdd,
  accountTokenRevoke,
];
