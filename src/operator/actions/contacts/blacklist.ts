import { z } from 'zod';
import { notFound } from '../../../base/problem.ts';
import { BLACKLIST_ORIGINS, type BlacklistEntry, checkOperatorsNumber } from '../../../domain/contacts/blacklist.ts';
import { type Action, accountAction, accountListAction, pageOf, withStatus } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { accountParams, instant, line, username } from '../../schemas.ts';

/** Numbers to which nothing is sent. The audit names the account and never the number. */

const number = line(200)
  .regex(/\p{Nd}/u, 'expected at least one digit')
  .describe('A phone number in any notation.');

const entry = z.strictObject({
  number: z
    .string()
    .nullable()
    .describe('The phone number; null if the person was erased and only a hash of the number is left.'),
  origin: z.enum(BLACKLIST_ORIGINS),
  evidence: z.string().nullable().describe('The message with which the person asked for it.'),
  blockedAt: instant,
});
const shown = ({ number: written, origin, evidence, blockedAt }: BlacklistEntry): z.output<typeof entry> => ({
  number: written,
  origin,
  evidence,
  blockedAt,
});
const EXAMPLE = { number: '+27825550201', origin: 'STOP', evidence: 'stop', blockedAt: '2026-11-15T12:00:00.000Z' };

export const blacklistList = accountListAction({
  name: 'blacklist list',
  scope: 'contacts',
  accountTokens: true,
  path: '/accounts/{username}/blacklist',
  summary: 'List the numbers to which nothing is sent.',
  params: accountParams,
  item: entry,
  position: z.tuple([z.string().max(400)]),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: { items: [EXAMPLE], next: null } },
  run: async (services, { page: { limit, after } }) => {
    const rows = await domainOf(services).blacklist.list(services.account.id, limit + 1, after?.[0] ?? null);
    return pageOf(rows, limit, shown, ({ position }): [string] => [position]);
  },
});

export const blacklistAdd = accountAction({
  name: 'blacklist add',
  scope: 'contacts',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/blacklist',
  summary: 'Put a number on the blacklist: nothing is sent to it any more.',
  description:
    'All messages that wait for the number, scheduled or due, end in the same transaction, and their credits are free again. ' +
    'Messages that a carrier has already are not recalled. The status is 200 if the number was on the blacklist already.',
  params: accountParams,
  body: z.strictObject({
    number,
    origin: z.enum(BLACKLIST_ORIGINS).optional().describe('Who asked for it; `user` if it is not given.'),
    evidence: z
      .string()
      .min(1)
      .max(2_000)
      .nullable()
      .optional()
      .describe('The message with which the person asked for it.'),
  }),
  output: z.strictObject({
    cancelled: z.int().describe('Messages to this number, scheduled or due, that were cancelled.'),
  }),
  status: 201,
  otherStatuses: [200],
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: { number: '+27825550201', origin: 'STOP', evidence: 'stop' },
    output: { cancelled: 0 },
  },
  command: {
    arguments: ['number'],
    say: ({ cancelled }) => `Nothing is sent to this number any more. Cancelled messages: ${cancelled}.`,
  },
  run: async (services, { body: { number: given, origin = 'user', evidence = null } }) => {
    const { blacklist } = domainOf(services);
    checkOperatorsNumber(given);
    const { isNew, cancelled } = await blacklist.add(services.account.id, given, evidence, origin);
    return isNew ? { cancelled } : withStatus(200, { cancelled });
  },
});

export const blacklistRemove = accountAction({
  name: 'blacklist remove',
  scope: 'contacts',
  accountTokens: true,
  method: 'DELETE',
  path: '/accounts/{username}/blacklist/{number}',
  summary: 'Remove a number from the blacklist, so that messages can be sent to it again.',
  params: z.strictObject({ username, number }),
  output: z.strictObject({ removed: z.int().describe('Number of entries that were removed.') }),
  problems: ['not-found'],
  example: { params: { username: 'acme', number: '+27825550201' }, output: { removed: 1 } },
  target: ({ params }) => params.username,
  command: { say: () => 'Messages can be sent to this number again.' },
  run: async (services, { params }) => {
    const removed = await domainOf(services).blacklist.remove(services.account.id, params.number);
    if (removed === 0) throw notFound('such number on the blacklist');
    return { removed };
  },
});

export const blacklistActions: readonly Action[] = [blacklistList, blacklistAdd, blacklistRemove];
