import { z } from 'zod';
import { MOVEMENT_KINDS, type Movement, SIDES } from '../../../domain/accounts/ledger.ts';
import { type Action, accountAction, accountListAction } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { rowsOf, since, type TimedList, timedPage, until } from '../../filters.ts';
import { accountParams, credits, id, instant, line, rowId } from '../../schemas.ts';

/** Credits: the balances of an account and the movements that they are the sums of. */

const balances = z.strictObject({
  free: credits.describe('Credits that can be spent. Profile calls them credits.'),
  held: credits.describe('Credits that are held for messages that are not sent yet.'),
  used: credits.describe('Credits that are spent. Profile calls them usedCredits.'),
});

const movement = z.strictObject({
  id,
  kind: z.enum(MOVEMENT_KINDS),
  from: z.enum(SIDES),
  to: z.enum(SIDES),
  amount: credits,
  at: instant,
  messageId: rowId.nullable().describe('The message that the movement was for.'),
  reason: z.string().nullable(),
  reference: z.string().nullable(),
});
const shown = (each: Movement): z.output<typeof movement> => ({ ...each });

const BALANCES = { free: '500', held: '2', used: '40' };
const MOVEMENT = {
  id: '4',
  kind: 'grant',
  from: 'operator',
  to: 'free',
  amount: '500',
  at: '2026-11-15T12:00:00.000Z',
  messageId: null,
  reason: 'Invoice 17',
  reference: 'INV-17',
};

export const creditsShow = accountAction({
  name: 'credits show',
  scope: 'credits',
  accountTokens: true,
  method: 'GET',
  path: '/accounts/{username}/credits',
  summary: 'Show the credits of an account.',
  params: accountParams,
  output: balances,
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: BALANCES },
  run: async (services) => domainOf(services).ledger.balances(services.account.id),
});

export const creditsMovements = accountListAction({
  name: 'credits movements',
  scope: 'credits',
  accountTokens: true,
  path: '/accounts/{username}/credits/movements',
  summary: 'List movements of credits, newest first.',
  description: 'Every change is a movement from one balance to another (double-entry bookkeeping).',
  params: accountParams,
  query: z.strictObject({ since, until }),
  item: movement,
  position: z.tuple([instant, id]),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: { items: [MOVEMENT], next: null } },
  run: async (services, { query, page }) => {
    const { ledger } = domainOf(services);
    const cursorOf = ({ at, id: number }: Movement) => ({ at, id: number });
    const read: TimedList<Movement>['read'] = async (from, limit) =>
      rowsOf(await ledger.movementsFrom(services.account.id, from, limit), limit, cursorOf);
    return timedPage({ ...query, page, order: 'newest', cursorOf, read }, shown);
  },
});

export const creditsAdd = accountAction({
  name: 'credits add',
  scope: 'credits',
  method: 'POST',
  path: '/accounts/{username}/credits/movements',
  summary: 'Grant credits to an account, or take free ones back.',
  description: 'A negative amount takes free credits back, but never more than there are.',
  params: accountParams,
  body: z.strictObject({
    amount: credits.describe('Number of credits; negative to take them back.'),
    reason: line(200).min(1).describe('The reason, for people.'),
    reference: line(200).min(1).nullable().optional().describe('Your own reference, such as an invoice.'),
  }),
  output: z.strictObject({ movement, balances }),
  status: 201,
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: { amount: '500', reason: 'Invoice 17', reference: 'INV-17' },
    output: { movement: MOVEMENT, balances: BALANCES },
  },
  command: {
    say: ({ movement: { amount, from }, balances: { free } }, { params }) =>
      `${from === 'operator' ? 'Granted' : 'Took back'} ${amount}: ${params.username} has ${free} free credits.`,
  },
  run: async (services, { body: { amount, reason, reference = null } }) => {
    const done = await domainOf(services).ledger.adjust(services.account.id, { amount, reason, reference });
    return { movement: shown(done.movement), balances: done.balances };
  },
});

export const creditActions: readonly Action[] = [creditsShow, creditsMovements, creditsAdd];
