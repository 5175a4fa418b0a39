import { z } from 'zod';
import type { Route } from '../../../domain/receiving/routes.ts';
import { type Action, action, listAction, pageOf, withStatus } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { instant, integer, line, username } from '../../schemas.ts';

/** Routes: which account gets what is sent to a number or short code. */

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'expected 1 to 64 letters, digits, full stops, hyphens or underscores');
const keyword = z
  .string()
  .max(50)
  .regex(/^[^\s\p{P}\p{Cc}]+$/u, 'expected one word, without punctuation');

const route = z.strictObject({
  name,
  destination: z.string().nullable().describe('The number or short code; null for any destination.'),
  keyword: z.string().nullable().describe('The first word of the text; null for any text.'),
  priority: z.int(),
  username,
  sharedOptOut: z.boolean().describe('Whether STOP and START apply to all accounts that share the destination.'),
  updatedAt: instant,
});
const shown = ({ account: _, ...rest }: Route): z.output<typeof route> => rest;

const EXAMPLE = {
  name: 'acme-win',
  destination: '31234',
  keyword: 'WIN',
  priority: 10,
  username: 'acme',
  sharedOptOut: false,
  updatedAt: '2026-11-15T12:00:00.000Z',
};

export const routeList = listAction({
  name: 'route list',
  scope: 'gateway',
  path: '/routes',
  summary: 'List the routes of incoming messages, by name.',
  item: route,
  position: z.tuple([name]),
  example: { output: { items: [EXAMPLE], next: null } },
  run: async (services, { page: { limit, after } }) => {
    const rows = await domainOf(services).routing.list(limit + 1, after?.[0] ?? null);
    return pageOf(rows, limit, shown, (each): [string] => [each.name]);
  },
});

export const routePut = action({
  name: 'route put',
  scope: 'gateway',
  needs: {
    says: 'This also needs the scope messages:read, because a route decides who reads the messages.',
    scopes: () => ['messages:read'],
  },
  method: 'PUT',
  path: '/routes/{name}',
  summary: 'Create a route, or replace the route of this name.',
  description:
    'If several routes match, the one with the highest priority wins, then one for exactly this destination, then one ' +
    'with a keyword, then the first by name. Messages that match no route are listed under `unrouted`.',
  params: z.strictObject({ name }),
  body: z.strictObject({
    username: username.describe('The account that gets the messages.'),
    destination: line(50)
      .min(1)
      .nullable()
      .optional()
      .describe('The number or short code; any destination if it is not given.'),
    keyword: keyword.nullable().optional().describe('The first word of the text; any text if it is not given.'),
    priority: integer(-1000, 1000).optional().describe('Higher goes first; 0 if it is not given.'),
    sharedOptOut: z
      .boolean()
      .optional()
      .describe(
        'For a number that several accounts share: a STOP or START word that arrives through this route applies to every account that has a route for the same destination, not only to its own account.',
      ),
  }),
  output: route,
  status: 200,
  otherStatuses: [201],
  problems: ['not-found', 'conflict'],
  example: {
    params: { name: 'acme-win' },
    body: { username: 'acme', destination: '31234', keyword: 'WIN', priority: 10 },
    output: EXAMPLE,
  },
  command: { say: ({ name: made, username: customer }) => `The route ${made} leads to ${customer}.` },
  run: async (services, { params, body }) => {
    const { username: customer, destination = null, keyword: word = null, priority = 0, sharedOptOut = false } = body;
    const given = { name: params.name, destination, keyword: word, priority, username: customer, sharedOptOut };
    const { route: made, isNew } = await domainOf(services).routing.put(given);
    return isNew ? withStatus(201, shown(made)) : shown(made);
  },
});

export const routeRemove = action({
  name: 'route remove',
  scope: 'gateway',
  method: 'DELETE',
  path: '/routes/{name}',
  summary: 'Remove a route.',
  params: z.strictObject({ name }),
  output: z.strictObject({ name }),
  problems: ['not-found'],
  example: { params: { name: 'acme-win' }, output: { name: 'acme-win' } },
  command: { say: ({ name: gone }) => `Removed the route ${gone}.` },
  run: async (services, { params }) => {
    await domainOf(services).routing.remove(params.name);
    return { name: params.name };
  },
});

export const routeActions: readonly Action[] = [routeList, routePut, routeRemove];
