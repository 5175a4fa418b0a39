import { z } from 'zod';
import { accountId } from '../../domain/account-records.ts';
import { addToken, revokeToken, type Token, tokensAfter } from '../../domain/tokens.ts';
import { badField } from '../../problem.ts';
import { type Action, action, listAction, pageOf, type Scope, scopes } from '../action.ts';
import { id, instant, line, username } from '../schemas.ts';

/** Bearer tokens of this API. */

/**
 * What the holder of an account may be given: not the right to change accounts, credits or the
 * gateway.
 */
const ACCOUNT_SCOPES: readonly Scope[] = ['contacts', 'messages:read', 'messages:send', 'credits'];

const tokenOutput = z.strictObject({
  id,
  kind: z.enum(['operator', 'account']),
  name: z.string(),
  username: z.string().nullable().describe('The account that it is bound to; null for an operator token.'),
  scopes: z.array(z.string()),
  createdAt: instant,
  expiresAt: instant.nullable(),
  lastUsedAt: instant.nullable().describe('Exact to a minute.'),
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

const list = listAction({
  name: 'token list',
  scope: 'accounts',
  path: '/tokens',
  summary: 'List tokens, by the time they were made.',
  item: tokenOutput,
  position: z.tuple([instant, id]),
  example: { output: { items: [EXAMPLE], next: null } },
  command: { columns: ['id', 'kind', 'name', 'username', 'scopes', 'expiresAt', 'lastUsedAt', 'revokedAt'] },
  run: async ({ database }, { page: { after, limit } }) => {
    const rows = await tokensAfter(database, after, limit + 1);
    return pageOf(rows, limit, shown, (token): [number, bigint] => [token.createdAt, token.id]);
  },
});

const add = action({
  name: 'token add',
  scope: 'accounts',
  method: 'POST',
  path: '/tokens',
  summary: 'Make a token.',
  description:
    'The answer has the token, which is shown only now. With `username` it is bound to that account. ' +
    'A token can give only scopes that it has itself.',
  body: z.strictObject({
    name: line(100).min(1).describe('What it is for.'),
    scope: z.array(z.enum(scopes)).min(1).max(scopes.length).describe('What it may do.'),
    username: username.optional().describe('The account that it is bound to.'),
    expiresAt: instant.optional().describe('From when on it is not valid any more.'),
  }),
  output: z.strictObject({ token: z.string().describe('Shown only now.'), ...tokenOutput.shape }),
  status: 201,
  problems: ['not-found'],
  example: {
    body: { name: 'provisioning', scope: ['accounts', 'credits'] },
    output: { token: 'colo_K7J0Qy3mB5v1uYx2Wd9sTq8Rf4Hn6Lp0Za1Xc3Ve5Bg', ...EXAMPLE },
  },
  target: ({ body }) => body.name,
  command: {
    arguments: ['name'],
    creates: true,
    say: ({ name, token }) => `Added the token ${name}, which is shown only now:\n${token}`,
  },
  run: async ({ database, now }, { body }, actor) => {
    const { name, scope, username: owner, expiresAt = null } = body;
    const lacking = actor.kind === 'command' ? undefined : scope.find((each) => !actor.scopes.includes(each));
    if (lacking) throw badField('scope', `the token that you use lacks the scope ${lacking}`);
    const tooMuch = owner === undefined ? undefined : scope.find((each) => !ACCOUNT_SCOPES.includes(each));
    if (tooMuch) throw badField('scope', `a token of an account cannot have the scope ${tooMuch}`);
    if (expiresAt !== null && expiresAt <= now()) throw badField('expiresAt', 'expected an instant in the future');
    const account = owner === undefined ? null : await accountId(database, owner);
    const given = { name, account, scopes: [...new Set(scope)], expiresAt };
    const { token, secret } = await addToken(database, given, now());
    return { token: secret, ...shown(token) };
  },
});

const revoke = action({
  name: 'token revoke',
  scope: 'accounts',
  method: 'DELETE',
  path: '/tokens/{id}',
  summary: 'Revoke a token: every process refuses it from the next request on.',
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

export const tokenActions: readonly Action[] = [list, add, revoke];
