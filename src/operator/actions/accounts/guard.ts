import { z } from 'zod';
import { notFound } from '../../../base/problem.ts';
import { type Guard, guardOf, NO_GUARD, putGuard, removeGuard } from '../../../domain/outbound/guard.ts';
import { refuseHeldMessage, releaseHeldMessage } from '../../../domain/sending/decide.ts';
import { isRegion } from '../../../sms/numbers.ts';
import { type Action, accountAction } from '../../action.ts';
import { accountParams, amount, integer, messageParams, rowId, username } from '../../schemas.ts';

/** The spend guard of an account, and the messages that it holds. */

const country = z.string().refine(isRegion, 'expected a country code such as ZA');
const COUNT_MAX = 1_000_000;

const countries = z
  .union([z.literal('region'), z.array(country).min(1).max(250)])
  .nullable()
  .describe('Countries that the account may send to, such as ZA,GB. `region`: its own country alone. Null: all.');
const fields = {
  recipientDay: integer(1, COUNT_MAX).nullable().describe('Messages to one recipient in a day; null for no ceiling.'),
  blockHour: integer(1, COUNT_MAX)
    .nullable()
    .describe('Messages in an hour to numbers that differ only in their last three digits; null for no ceiling.'),
  creditsHour: amount.nullable().describe('Credits in an hour; null for no ceiling.'),
  creditsDay: amount.nullable().describe('Credits in a day; null for no ceiling.'),
};
const output = z.strictObject({ username, countries, ...fields });

const EXAMPLE = {
  username: 'acme',
  countries: ['ZA'],
  recipientDay: 10,
  blockHour: 20,
  creditsHour: '500',
  creditsDay: '2000',
};
const shown = (name: string, { countries: allowed, ...rest }: Guard): z.output<typeof output> => ({
  username: name,
  countries: allowed === null || allowed === 'region' ? allowed : [...allowed],
  ...rest,
});

export const guardShow = accountAction({
  name: 'guard show',
  scope: 'accounts',
  method: 'GET',
  path: '/accounts/{username}/guard',
  summary: 'Show the spend guard of an account.',
  description: 'An account without a guard may send everywhere, as much as its credits allow.',
  params: accountParams,
  output,
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: EXAMPLE },
  run: async ({ database, account }) => shown(account.username, (await guardOf(database, account.id)) ?? NO_GUARD),
});

export const guardPut = accountAction({
  name: 'guard put',
  scope: 'accounts',
  needs: {
    says: 'This also needs the scope credits, because a guard limits what they are spent on.',
    scopes: () => ['credits'],
  },
  method: 'PUT',
  path: '/accounts/{username}/guard',
  summary: 'Give an account a spend guard, or replace it.',
  description:
    'A recipient in a country that is not allowed is refused. A message over a ceiling is held, with its credits, until an operator releases or refuses it. The ' +
    'event guard.stopped tells of both at once, and then once an hour for each rule. Hours and days are those of UTC. What is not given has no limit.',
  params: accountParams,
  body: z.strictObject({
    countries: z
      .array(
        z
          .string()
          .refine((text) => text === 'region' || isRegion(text), 'expected country codes such as ZA, or region'),
      )
      .max(250)
      .nullable()
      .optional()
      .describe('Countries that the account may send to, such as ZA,GB. `region`: its own country alone. None: all.'),
    recipientDay: fields.recipientDay.optional(),
    blockHour: fields.blockHour.optional(),
    creditsHour: fields.creditsHour.optional(),
    creditsDay: fields.creditsDay.optional(),
  }),
  output,
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: { countries: ['ZA'], recipientDay: 10, blockHour: 20, creditsHour: '500', creditsDay: '2000' },
    output: EXAMPLE,
  },
  command: { say: ({ username: name }) => `The spend guard of ${name} is set.` },
  run: async ({ database, account, now }, { body }) => {
    const {
      countries: given = null,
      recipientDay = null,
      blockHour = null,
      creditsHour = null,
      creditsDay = null,
    } = body;
    const allowed =
      given === null || given.length === 0 ? null : given.includes('region') ? ('region' as const) : given;
    const guard = { countries: allowed, recipientDay, blockHour, creditsHour, creditsDay };
    await putGuard(database, account.id, guard, now());
    return shown(account.username, guard);
  },
});

export const guardRemove = accountAction({
  name: 'guard remove',
  scope: 'accounts',
  needs: { says: 'This also needs the scope credits.', scopes: () => ['credits'] },
  method: 'DELETE',
  path: '/accounts/{username}/guard',
  summary: 'Remove the spend guard of an account. Messages that it holds stay held.',
  params: accountParams,
  output: z.strictObject({ username }),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: { username: 'acme' } },
  command: { say: ({ username: name }) => `${name} has no spend guard any more.` },
  run: async ({ database, account }) => {
    if (!(await removeGuard(database, account.id))) throw notFound('spend guard of this account');
    return { username: account.username };
  },
});

const held = z.strictObject({ id: rowId });

export const messageRelease = accountAction({
  name: 'message release',
  scope: 'gateway',
  needs: { says: 'This also needs the scope messages:send.', scopes: () => ['messages:send'] },
  method: 'POST',
  path: '/accounts/{username}/messages/{id}/release',
  summary: 'Release a message that the spend guard holds: it goes out when it is due.',
  description: '`queue list --held` lists them, each with its rule.',
  params: messageParams,
  output: held,
  problems: ['not-found', 'conflict'],
  example: { params: { username: 'acme', id: '2001' }, output: { id: '2001' } },
  command: { say: ({ id }) => `The message ${id} goes out.` },
  run: async ({ database, account, now, tryForMs }, { params: { id } }) => {
    await releaseHeldMessage(database, account.id, id, { at: now(), tryForMs });
    return { id };
  },
});

export const messageRefuse = accountAction({
  name: 'message refuse',
  scope: 'gateway',
  method: 'POST',
  path: '/accounts/{username}/messages/{id}/refuse',
  summary: 'Refuse a message that the spend guard holds: it ends as REJECTED, and its credits are free again.',
  params: messageParams,
  output: held,
  problems: ['not-found', 'conflict'],
  example: { params: { username: 'acme', id: '2001' }, output: { id: '2001' } },
  command: { say: ({ id }) => `The message ${id} is refused.` },
  run: async ({ database, account, now }, { params: { id } }) => {
    await refuseHeldMessage(database, account.id, id, now());
    return { id };
  },
});

export const guardActions: readonly Action[] = [guardShow, guardPut, guardRemove, messageRelease, messageRefuse];
