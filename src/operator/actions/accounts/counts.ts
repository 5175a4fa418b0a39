import { z } from 'zod';
import { hourCountsOf } from '../../../domain/messages/hour-counts.ts';
import { connectorHours } from '../../../domain/sending/connectors.ts';
import { type Action, accountAction, action } from '../../action.ts';
import { accountParams, instant, queryInteger } from '../../schemas.ts';

/** What happened hour by hour, of an account and of each connector. */

const HOURS_MAX = 744;
const HOUR_MS = 3_600_000;

const hours = queryInteger(1, HOURS_MAX)
  .optional()
  .describe(`How many hours, with the present one; at most ${HOURS_MAX}. The default is 24.`);
const since = (now: number, count = 24): number => now - (count - 1) * HOUR_MS;

const at = instant.describe('The beginning of the hour.');
const AT = '2026-11-15T11:00:00.000Z';

export const accountCounts = accountAction({
  name: 'account counts',
  scope: 'messages:read',
  accountTokens: true,
  method: 'GET',
  path: '/accounts/{username}/counts',
  summary: 'Show how many messages of an account were accepted, delivered and not delivered, hour by hour.',
  description:
    'Hours in which nothing happened are left out. A message counts as delivered or failed in the hour in which this became known. Imported messages are not counted.',
  params: accountParams,
  query: z.strictObject({ hours }),
  output: z.strictObject({
    items: z.array(
      z.strictObject({
        at,
        accepted: z.int().describe('Messages that were accepted, or whose time came.'),
        delivered: z.int(),
        failed: z.int().describe('Messages that ended without being delivered, and were not cancelled.'),
      }),
    ),
  }),
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    query: { hours: '24' },
    output: { items: [{ at: AT, accepted: 40, delivered: 38, failed: 1 }] },
  },
  run: async ({ database, account, now }, { query }) => ({
    items: await hourCountsOf(database, account.id, since(now(), query.hours)),
  }),
});

export const connectorCounts = action({
  name: 'connector counts',
  scope: 'metrics',
  method: 'GET',
  path: '/connector-counts',
  summary: 'Show what became of the parts that were given to each connector, hour by hour.',
  description:
    'Hours in which nothing happened are left out. A part counts in the hour of its answer or of its receipt. Every process writes these counts about once a second.',
  query: z.strictObject({ hours, connector: z.string().max(64).optional().describe('Only this connector.') }),
  output: z.strictObject({
    items: z.array(
      z.strictObject({
        connector: z.string(),
        at,
        accepted: z.int().describe('Parts that the carrier has accepted.'),
        temporary: z.int().describe('Temporary refusals.'),
        permanent: z.int().describe('Permanent refusals.'),
        unknownOutcome: z.int().describe('Submissions without an answer.'),
        delivered: z.int().describe('Parts that a receipt reported as delivered.'),
        failed: z.int().describe('Parts that a receipt reported as not delivered.'),
      }),
    ),
  }),
  example: {
    query: { hours: '24' },
    output: {
      items: [
        {
          connector: 'loopback',
          at: AT,
          accepted: 40,
          temporary: 1,
          permanent: 0,
          unknownOutcome: 0,
          delivered: 38,
          failed: 1,
        },
      ],
    },
  },
  run: async ({ database, now }, { query }) => {
    const found = await connectorHours(database, since(now(), query.hours));
    const items = found.filter(({ connector }) => query.connector === undefined || connector === query.connector);
    return { items: items.sort((one, other) => one.at - other.at || (one.connector < other.connector ? -1 : 1)) };
  },
});

export const accountCountActions: readonly Action[] = [accountCounts];
export const connectorCountActions: readonly Action[] = [connectorCounts];
