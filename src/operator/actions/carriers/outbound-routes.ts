import { z } from 'zod';
import { counted } from '../../../base/counted.ts';
import { badField } from '../../../base/problem.ts';
import { sendingUrls } from '../../../carriers/kinds.ts';
import { accountNamed, effectiveRegion } from '../../../domain/accounts/accounts.ts';
import { misfitOf, type OutboundRoute, PREFIX_LENGTH_MAX, stopOf } from '../../../domain/outbound/choose.ts';
import { createOutboundRoutes, type RouteCounts, sendingRules } from '../../../domain/outbound/routes.ts';
import { pooledSenders } from '../../../domain/outbound/senders.ts';
import { createConnectors } from '../../../domain/sending/connectors.ts';
import { QUIET_HOURS_FORM } from '../../../domain/sending/quiet-hours.ts';
import { triedWay, wayStates } from '../../../domain/sending/ways.ts';
import { e164 } from '../../../sms/numbers.ts';
import { type Action, action, withStatus } from '../../action.ts';
import { credits, instant, integer, line, username } from '../../schemas.ts';

/** Outbound routes: which connectors carry a message, in which order, and what a part costs. */

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'expected 1 to 64 letters, digits, full stops, hyphens or underscores');
const params = z.strictObject({ name });

const PREFIXES_MAX = 200;
const prefix = z
  .string()
  .regex(/^\+?[1-9]\d{0,14}$/, 'expected the first digits of international numbers, such as +27 or 2782')
  .transform((text) => text.replace('+', '').slice(0, PREFIX_LENGTH_MAX))
  .pipe(z.string());
const sender = line(16).min(1);
const COST = /^\d{1,9}(?:\.\d{1,6})? [A-Z]{3}$/;

const way = z.strictObject({
  connector: line(64).min(1),
  weight: integer(1, 1000).optional().describe('Its share in the mode `spread`; 1 if it is not given.'),
  price: integer(0, 1_000_000).optional().describe('Credits for a part; 1 if it is not given.'),
  cost: z
    .string()
    .regex(COST, 'expected an amount with its currency, such as 0.0125 EUR')
    .nullable()
    .optional()
    .describe('What the carrier asks for a part. It is shown, and never counted.'),
  ifRefused: z
    .array(line(100).min(1))
    .max(20)
    .optional()
    .describe('A permanent refusal whose reason contains one of these texts goes on to the next way.'),
});
const shownWay = z.strictObject({
  connector: z.string(),
  weight: z.int(),
  price: z.int(),
  cost: z.string().nullable(),
  ifRefused: z.array(z.string()),
  counts: z
    .strictObject({
      accepted: z.int(),
      temporary: z.int(),
      permanent: z.int(),
      unknownOutcome: z.int(),
      failovers: z.int().describe('Messages that went on to the next way.'),
    })
    .describe('What became of the parts that the route gave to this connector.'),
});

const route = z.strictObject({
  name,
  priority: z.int(),
  username: z.string().nullable(),
  tag: z.int().nullable(),
  prefixes: z.array(z.string()),
  senders: z.array(z.string()),
  hours: z.string().nullable(),
  from: instant.nullable(),
  until: instant.nullable(),
  mode: z.enum(['order', 'spread']),
  onThrottle: z.enum(['wait', 'next']),
  senderPool: z.array(z.string()),
  ways: z.array(shownWay),
  updatedAt: instant,
});

const NO_COUNTS = { accepted: 0, temporary: 0, permanent: 0, unknownOutcome: 0, failovers: 0 };

const shown = (
  { account, ways, prefixes, senders, senderPool, ...rest }: OutboundRoute,
  counts: readonly RouteCounts[],
): z.output<typeof route> => ({
  ...rest,
  username: account?.username ?? null,
  prefixes: prefixes.map((digits) => `+${digits}`),
  senders: [...senders],
  senderPool: [...senderPool],
  ways: ways.map((each) => {
    const found = counts.find((own) => own.route === rest.name && own.connector === each.connector);
    const { route: _, connector: __, ...own } = found ?? { route: '', connector: '', ...NO_COUNTS };
    return { ...each, ifRefused: [...each.ifRefused], counts: own };
  }),
});

const WAYS = [
  { connector: 'carrier-a', weight: 1, price: 1, cost: '0.0125 EUR', ifRefused: [] },
  { connector: 'carrier-b', weight: 1, price: 2, cost: null, ifRefused: [] },
];
const ROUTE = {
  name: 'south-africa',
  priority: 0,
  username: null,
  tag: null,
  prefixes: ['+27'],
  senders: [],
  hours: null,
  from: null,
  until: null,
  mode: 'order',
  onThrottle: 'wait',
  senderPool: ['+27825550100'],
  ways: WAYS.map((each) => ({ ...each, counts: NO_COUNTS })),
  updatedAt: '2026-11-15T12:00:00.000Z',
};

export const outboundRouteList = action({
  name: 'outbound-route list',
  scope: 'gateway',
  method: 'GET',
  path: '/outbound-routes',
  summary: 'List the outbound routes by name, with the counts of each way.',
  output: z.strictObject({ items: z.array(route) }),
  example: { output: { items: [ROUTE] } },
  command: {
    say: ({ items }) =>
      items
        .map((each) =>
          [
            each.name,
            `priority ${each.priority}`,
            each.prefixes.join(',') || 'all numbers',
            each.ways.map(({ connector }) => connector).join(each.mode === 'order' ? ' > ' : ' | '),
          ].join('  '),
        )
        .join('\n') ||
      'There is no outbound route. Each message goes to the connector of its account, or to the default one.',
  },
  run: async ({ database, now }) => {
    const routes = createOutboundRoutes(database, now);
    const counts = await routes.counts();
    return { items: (await routes.list()).map((each) => shown(each, counts)) };
  },
});

export const outboundRoutePut = action({
  name: 'outbound-route put',
  scope: 'gateway',
  needs: {
    says: 'This also needs the scope credits, because a route has prices, and messages:read, because a connector sees what it carries.',
    scopes: () => ['credits', 'messages:read'],
  },
  method: 'PUT',
  path: '/outbound-routes/{name}',
  summary: 'Create an outbound route, or replace the one of this name.',
  description:
    'Of the routes that are about a message, the one with the highest priority counts; then the longest prefix, then one for its account, then one with its ' +
    'sender, then the first by name. Without a route, a message goes to the connector of its account, or to the default one. A message goes on to the next ' +
    'way only if the first one certainly does not have it: after a temporary refusal of all its parts, or while the connector is down or paused. Messages that ' +
    'wait already keep their way.',
  params,
  body: z.strictObject({
    ways: z.array(way).min(1).max(10).describe('The connectors in their order, as a JSON list of objects.'),
    priority: integer(-1000, 1000).optional().describe('Higher goes first; 0 if it is not given.'),
    username: username.nullable().optional().describe('Only messages of this account.'),
    tag: integer(-(2 ** 31), 2 ** 31 - 1)
      .nullable()
      .optional()
      .describe('Only messages of accounts with this tag.'),
    prefixes: z.array(prefix).max(PREFIXES_MAX).optional().describe('Only numbers that begin with one of these.'),
    senders: z.array(sender).max(100).optional().describe('Only messages that name one of these senders.'),
    hours: z
      .string()
      .regex(QUIET_HOURS_FORM, 'expected two times such as 08:00-18:00')
      .nullable()
      .optional()
      .describe('Only messages that are due in these hours, in the time zone of the account.'),
    from: instant.nullable().optional().describe('Only messages that are due from then on.'),
    until: instant.nullable().optional().describe('Only messages that are due before.'),
    mode: z
      .enum(['order', 'spread'])
      .optional()
      .describe('`order`: the first way that works. `spread`: by weight; a number keeps its way.'),
    onThrottle: z
      .enum(['wait', 'next'])
      .optional()
      .describe('What happens when a carrier asks to be called later: `wait` for it (the default), or the `next` way.'),
    senderPool: z
      .array(sender)
      .max(100)
      .optional()
      .describe('Senders of messages that name none. A recipient always gets the same one.'),
  }),
  output: route,
  status: 200,
  otherStatuses: [201],
  problems: ['not-found', 'conflict'],
  example: {
    params: { name: 'south-africa' },
    body: { ways: WAYS, prefixes: ['+27'], senderPool: ['+27825550100'] },
    output: ROUTE,
  },
  command: {
    say: ({ name: made, ways }) =>
      `The outbound route ${made} leads to ${ways.map(({ connector }) => connector).join(', then ')}.`,
  },
  run: async ({ database, now, webUrl }, { params: { name: own }, body }) => {
    const routes = createOutboundRoutes(database, now);
    const connectors = await createConnectors(database, now).list();
    const known = connectors.map(({ name: each, kind, config }) => ({ name: each, urls: sendingUrls(kind, config) }));
    const { route: made, isNew } = await routes.put(readRoute(own, body), known, webUrl());
    const answer = shown(made, await routes.counts());
    return isNew ? withStatus(201, answer) : answer;
  },
});

type RouteBody = z.output<NonNullable<(typeof outboundRoutePut)['body']>>;

const readRoute = (own: string, body: RouteBody) => ({
  name: own,
  priority: body.priority ?? 0,
  username: body.username ?? null,
  tag: body.tag ?? null,
  prefixes: [...new Set(body.prefixes ?? [])],
  senders: [...new Set(body.senders ?? [])],
  hours: body.hours ?? null,
  from: body.from ?? null,
  until: body.until ?? null,
  mode: body.mode ?? ('order' as const),
  onThrottle: body.onThrottle ?? ('wait' as const),
  senderPool: [...new Set(body.senderPool ?? [])],
  ways: body.ways.map(({ weight = 1, price = 1, cost = null, ifRefused = [], ...given }) => ({
    ...given,
    weight,
    price,
    cost,
    ifRefused,
  })),
});

export const outboundRouteRemove = action({
  name: 'outbound-route remove',
  scope: 'gateway',
  method: 'DELETE',
  path: '/outbound-routes/{name}',
  summary: 'Remove an outbound route. Messages that wait keep their connector.',
  params,
  output: z.strictObject({ name }),
  problems: ['not-found'],
  example: { params: { name: 'south-africa' }, output: { name: 'south-africa' } },
  command: { say: ({ name: gone }) => `Removed the outbound route ${gone}.` },
  run: async ({ database, now }, { params: { name: own } }) => {
    await createOutboundRoutes(database, now).remove(own);
    return { name: own };
  },
});

const triedOutput = z.strictObject({
  route: z.string().nullable().describe('The route that counts; null if none fits.'),
  connector: z.string().nullable().describe('Where the message would go now; null for the default connector.'),
  sender: z.string().nullable().describe('The sender that the recipient would see.'),
  creditsHeld: credits.describe('Credits that would be held for each part.'),
  ways: z.array(
    z.strictObject({
      connector: z.string(),
      price: z.int().describe('Credits for a part.'),
      cost: z.string().nullable(),
      passedOver: z.string().nullable().describe('Why it is passed over now; null if it may take the message.'),
    }),
  ),
  others: z
    .array(z.strictObject({ route: z.string(), why: z.string() }))
    .describe('Why the other routes do not count.'),
});

export const outboundRouteTry = action({
  name: 'outbound-route try',
  scope: 'gateway',
  method: 'POST',
  path: '/outbound-routes/try',
  summary: 'Show where a message would go, and why. Nothing is sent.',
  body: z.strictObject({
    username: username.describe('The account that would send.'),
    recipient: line(200).min(1).describe('The number of the recipient.'),
    sender: line(16).min(1).nullable().optional().describe('The sender that the message would name.'),
    at: instant.optional().describe('When it would be due; now if it is not given.'),
  }),
  output: triedOutput,
  problems: ['not-found'],
  readsOnly: () => true,
  example: {
    body: { username: 'acme', recipient: '+27825550201' },
    output: {
      route: 'south-africa',
      connector: 'carrier-b',
      sender: '+27825550100',
      creditsHeld: '2',
      ways: [
        { connector: 'carrier-a', price: 1, cost: '0.0125 EUR', passedOver: 'down' },
        { connector: 'carrier-b', price: 2, cost: null, passedOver: null },
      ],
      others: [{ route: 'germany', why: 'the number begins with none of its prefixes' }],
    },
  },
  command: {
    arguments: ['username', 'recipient'],
    say: ({ route: taken, connector, ways, others, creditsHeld, sender: shownSender }) =>
      [
        taken === null
          ? `No outbound route fits: it goes to ${connector ?? 'the default connector'}.`
          : `Route ${taken}: it goes to ${connector}, and ${counted(BigInt(creditsHeld), 'credit is', 'credits are')} held for a part.`,
        ...(shownSender === null ? [] : [`  sender ${shownSender}`]),
        ...ways.map((each, index) =>
          [
            `  way ${index + 1}`,
            each.connector,
            counted(each.price, 'credit'),
            each.cost ?? '',
            each.passedOver ?? (each.connector === connector ? 'takes it' : 'takes it if no way before it can'),
          ]
            .filter(Boolean)
            .join('  '),
        ),
        ...others.map(({ route: other, why }) => `  not ${other}: ${why}`),
      ].join('\n'),
  },
  run: async ({ database, now, defaultRegion }, { body }) => {
    const account = await accountNamed(database, body.username);
    const recipient = e164(body.recipient, effectiveRegion(account, defaultRegion));
    if (recipient === null) throw badField('recipient', 'this is not a possible phone number');
    const { routes } = await sendingRules(database, account.id);
    const states = await wayStates(database);
    const at = body.at ?? now();
    const asked = { sender: body.sender ?? null, recipient, at };
    const { message, route: found, ordered, chosen } = triedWay(routes, states, account, asked, now());
    const asking = { account: account.id, at, keeps: false };
    const [pooled = null] = await pooledSenders(database, routes, [{ recipient, route: chosen.route }], asking);
    return {
      route: found?.name ?? null,
      connector: found ? chosen.way : account.connector,
      sender: chosen.sender ?? pooled,
      creditsHeld: chosen.credits,
      ways: ordered.map(({ connector, price, cost }) => {
        const passedOver = stopOf(states.get(connector), now());
        return { connector, price, cost, passedOver };
      }),
      others: routes
        .filter(({ name: own }) => own !== found?.name)
        .map((each) => ({ route: each.name, why: misfitOf(each, message) ?? `${found?.name} goes first` })),
    };
  },
});

export const outboundRouteActions: readonly Action[] = [
  outboundRouteList,
  outboundRoutePut,
  outboundRouteRemove,
  outboundRouteTry,
];
