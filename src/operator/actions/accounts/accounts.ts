import { z } from 'zod';
import { counted } from '../../../base/counted.ts';
import { setAccountEnabled } from '../../../domain/access/sessions.ts';
import {
  type AccountRecord,
  accountRecord,
  accountRecords,
  changeAccount,
  removeAccount,
} from '../../../domain/accounts/accounts.ts';
import { hashPassword } from '../../../domain/accounts/credentials.ts';
import { createGuardedAccount } from '../../../domain/outbound/guard.ts';
import { requireConnector } from '../../../domain/sending/connectors.ts';
import { type Action, accountAction, action, listAction, type Services } from '../../action.ts';
import type { Scope } from '../../actor.ts';
import { accountParams, amount, credits, line, username } from '../../schemas.ts';
import { accountSignInLink } from '../access/operators.ts';
import { requireStoredFields } from '../messages/carrier-fields.ts';
import { accountOutput, EXAMPLE, givenSettings, settable, settableObject, shown } from './account-fields.ts';

/** Accounts: make, show, change, switch off, remove. */

export const accountList = listAction({
  name: 'account list',
  scope: 'accounts',
  path: '/accounts',
  summary: 'List accounts, by username.',
  query: z.strictObject({
    q: line(200).min(1).optional().describe('Part of the username, company, contact or e-mail, in any letter case.'),
    state: z.enum(['enabled', 'disabled']).optional().describe('Only accounts in this state.'),
  }),
  item: accountOutput,
  position: z.tuple([username]),
  example: { query: { q: 'acme', state: 'enabled' }, output: { items: [EXAMPLE], next: null } },
  command: {
    columns: ['username', 'company', 'credits', 'state'],
    row: ({ username: name, company, credits: free, state }) => [
      name,
      company ?? '',
      counted(BigInt(free), 'credit'),
      state === 'disabled' ? state : '',
    ],
  },
  run: async ({ database }, { query: { q, state }, page }) => {
    const [after] = page.after ?? [''];
    const isWanted = (record: AccountRecord) =>
      (state === undefined || (record.disabledAt === null) === (state === 'enabled')) &&
      holds(record, q?.toLowerCase());
    const { items, next } = await accountRecords(database, { after, limit: page.limit, isWanted });
    return { items: items.map(shown), next: next === null ? null : ([next] as [string]) };
  },
});

function holds(record: AccountRecord, part: string | undefined): boolean {
  if (part === undefined) return true;
  const { username: name, company, contactName, contactSurname, email } = record;
  return [name, company, contactName, contactSurname, email].some((value) => value?.toLowerCase().includes(part));
}

/** Answers to words are messages that the account pays for. */
const ANSWERS_SEND = 'With `stopAnswer` or `helpAnswer` this also needs the scope messages:send.';
const scopesOfAnswers = (body: {
  stopAnswer?: string | null | undefined;
  helpAnswer?: string | null | undefined;
}): readonly Scope[] =>
  typeof body.stopAnswer === 'string' || typeof body.helpAnswer === 'string' ? ['messages:send'] : [];

export const accountAdd = action({
  name: 'account add',
  scope: 'accounts',
  // The new user_id and password open an empty account, so they need no further scopes.
  needs: {
    says: `With \`credits\` this also needs the scope credits. ${ANSWERS_SEND}`,
    scopes: ({ body }) => [...(body.credits === undefined ? [] : (['credits'] as const)), ...scopesOfAnswers(body)],
  },
  method: 'POST',
  path: '/accounts',
  summary: 'Create an account.',
  description: 'The user_id cannot be shown again. The spend guard of the account allows its own country alone.',
  body: z.strictObject({
    username,
    ...settable,
    credits: amount.optional().describe('Credits that the account begins with.'),
    password: z.string().min(1).max(200).optional().describe('A password; only its argon2id hash is stored.'),
  }),
  output: z.strictObject({ username, userId: z.string().describe('Its user_id, which cannot be shown again.') }),
  status: 201,
  location: '/accounts/{username}',
  problems: ['conflict'],
  example: {
    body: { username: 'acme', company: 'Acme Ltd', region: 'ZA', credits: '500' },
    output: { username: 'acme', userId: '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11' },
  },
  target: ({ body }) => body.username,
  command: {
    arguments: ['username'],
    secrets: ['password'],
    creates: true,
    say: ({ username: name, userId }) => `Added ${name}. Its user_id, which cannot be shown again:\n${userId}`,
  },
  run: async (services, { body }) => {
    const { database, now } = services;
    const { password, credits: begin = 0n, username: name, ...settings } = body;
    await checkConnector(services, settings.connector);
    await requireStoredFields(services, settings.carrierFields);
    const passwordHash = password === undefined ? null : await hashPassword(password);
    const given = { ...givenSettings(settings), username: name, passwordHash, credits: begin };
    return { username: name, ...(await createGuardedAccount(database, given, now())) };
  },
});

/** Refuses an unknown connector: the messages of an account that names one would wait for ever. */
async function checkConnector(
  { database, connectorsOfFile }: Services,
  name: string | null | undefined,
): Promise<void> {
  if (typeof name === 'string') await requireConnector(database, name, connectorsOfFile);
}

export const accountShow = accountAction({
  name: 'account show',
  scope: 'accounts',
  method: 'GET',
  path: '/accounts/{username}',
  countedFields: ['credits', 'usedCredits', 'lastLoginAt'],
  summary: 'Show an account.',
  params: accountParams,
  output: accountOutput,
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: EXAMPLE },
  run: async ({ database, account }) => shown(await accountRecord(database, account.username)),
});

export const accountChange = accountAction({
  name: 'account change',
  scope: 'accounts',
  needs: { says: ANSWERS_SEND, scopes: ({ body }) => scopesOfAnswers(body) },
  method: 'PATCH',
  path: '/accounts/{username}',
  summary: 'Change fields of an account.',
  description: 'A JSON Merge Patch (RFC 7396): null clears a field, and a field that is not given stays as it is.',
  params: accountParams,
  body: settableObject,
  output: accountOutput,
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: { company: 'Acme Ltd', quietHours: '22:00-06:00' },
    output: EXAMPLE,
  },
  command: { say: ({ username: name }) => `Changed ${name}.` },
  run: async (services, { body }) => {
    const { database, account } = services;
    await checkConnector(services, body.connector);
    await requireStoredFields(services, body.carrierFields);
    return shown(await changeAccount(database, account.id, account.username, givenSettings(body)));
  },
});

export const accountRemove = accountAction({
  name: 'account remove',
  scope: 'accounts',
  erases: true,
  method: 'DELETE',
  path: '/accounts/{username}',
  summary: 'Remove a disabled account with everything in it.',
  description: 'The answer says what was deleted. An account that is enabled is refused: disable it first.',
  params: accountParams,
  output: z.strictObject({
    username,
    removed: z.strictObject({
      userIds: z.int(),
      groups: z.int(),
      contacts: z.int(),
      templates: z.int(),
      blacklisted: z.int(),
      inbox: z.int(),
      sent: z.int(),
      scheduled: z.int(),
      credits,
    }),
  }),
  problems: ['not-found', 'conflict'],
  example: {
    params: { username: 'acme' },
    output: {
      username: 'acme',
      removed: {
        userIds: 1,
        groups: 2,
        contacts: 40,
        templates: 3,
        blacklisted: 0,
        inbox: 12,
        sent: 80,
        scheduled: 0,
        credits: '500',
      },
    },
  },
  command: {
    say: ({ username: name, removed }) => {
      const counts = Object.entries(removed).map(([what, count]) => `${what} ${count}`);
      return `Removed ${name}: ${counts.join(', ')}.`;
    },
  },
  run: async ({ database, account: { id, username: name }, extensions }) => {
    const removals = extensions.map(({ removeWithAccount }) => removeWithAccount);
    return { username: name, removed: await removeAccount(database, id, name, removals) };
  },
});

const switching = (verb: 'enable' | 'disable', summary: string, said: (name: string) => string) =>
  accountAction({
    name: `account ${verb}`,
    scope: 'accounts',
    method: 'POST',
    path: `/accounts/{username}/${verb}`,
    summary,
    params: accountParams,
    output: accountOutput,
    problems: ['not-found'],
    example: {
      params: { username: 'acme' },
      output: verb === 'enable' ? EXAMPLE : { ...EXAMPLE, state: 'disabled', disabledAt: '2026-11-15T12:00:00.000Z' },
    },
    command: { say: ({ username: name }) => said(name) },
    run: async ({ database, account: { id, username: name }, now }) =>
      shown(await setAccountEnabled(database, id, name, verb === 'enable' ? null : now())),
  });

export const accountEnable = switching('enable', 'Enable an account again.', (name) => `Enabled ${name}.`);
export const accountDisable = switching(
  'disable',
  'Disable an account: its calls are denied from now on.',
  (name) => `Disabled ${name}: its calls are denied until it is enabled again.`,
);

export const accountActions: readonly Action[] = [
  accountList,
  accountAdd,
  accountShow,
  accountChange,
  accountRemove,
  accountEnable,
  accountDisable,
  accountSignInLink,
];
