import { z } from 'zod';
import { accountId } from '../../../domain/accounts/accounts.ts';
import { EVENT_TYPES, FORMER_EVENT_TYPES, type FormerEventType } from '../../../domain/accounts/events.ts';
import {
  addWebhook,
  attemptsBefore,
  enableWebhook,
  eventsAfter,
  removeWebhook,
  resendEvent,
  rotateSecret,
  type StoredEvent,
  testWebhook,
  type Webhook,
  type WebhookAttempt,
  webhooksAfter,
} from '../../../domain/webhooks/webhooks.ts';
import { type Action, action, listAction, pageOf } from '../../action.ts';
import { since, until } from '../../filters.ts';
import { id, instant, integer, username } from '../../schemas.ts';

/** Webhooks: the addresses to which events are delivered, and the attempts. */

const URL_LENGTH_MAX = 2_000;
const url = z.string().max(URL_LENGTH_MAX).refine(isAddress, 'expected an address such as https://shop.example/events');

function isAddress(text: string): boolean {
  const parsed = URL.parse(text);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password && !parsed.hash;
}

/** By its name, or by a former one: then it is delivered under that one. */
const FORMER = Object.keys(FORMER_EVENT_TYPES) as FormerEventType[];
const eventType = z.enum([...EVENT_TYPES, ...FORMER]);
const FORMER_SAID = FORMER.map((name) => `\`${name}\` is the former name of \`${FORMER_EVENT_TYPES[name]}\``).join(
  ', ',
);

const webhookOutput = z.strictObject({
  id,
  url: z.string(),
  events: z.array(eventType),
  username: z.string().nullable().describe('Only events of this account; null for all accounts.'),
  full: z.boolean().describe('Whether events contain numbers and texts, not only ids.'),
  state: z.enum(['enabled', 'disabled']),
  createdAt: instant,
  disabledAt: instant.nullable(),
  disabledReason: z.string().nullable(),
});
const shown = (webhook: Webhook): z.output<typeof webhookOutput> => ({
  ...webhook,
  events: [...webhook.events],
  state: webhook.disabledAt === null ? 'enabled' : 'disabled',
});
const EXAMPLE = {
  id: '2305843009213693951',
  url: 'https://shop.example/events',
  events: ['message.received', 'message.status'],
  username: null,
  full: false,
  state: 'enabled',
  createdAt: '2026-11-15T12:00:00.000Z',
  disabledAt: null,
  disabledReason: null,
};
const SECRET_EXAMPLE = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const secret = z
  .string()
  .describe('The secret that signs every request (Standard Webhooks 1.0). It cannot be shown again.');
const params = z.strictObject({ id });

export const webhookList = listAction({
  name: 'webhook list',
  scope: 'gateway',
  path: '/webhooks',
  summary: 'List webhooks in the order in which they were created.',
  item: webhookOutput,
  position: z.tuple([instant, id]),
  example: { output: { items: [EXAMPLE], next: null } },
  command: { columns: ['id', 'url', 'events', 'username', 'full', 'state', 'disabledReason'] },
  run: async ({ database }, { page: { after, limit } }) => {
    const rows = await webhooksAfter(database, after, limit + 1);
    return pageOf(rows, limit, shown, (webhook): [number, bigint] => [webhook.createdAt, webhook.id]);
  },
});

export const webhookAdd = action({
  name: 'webhook add',
  scope: 'gateway',
  needs: {
    says: 'With `full` this also needs the scope messages:read.',
    scopes: ({ body }) => (body.full ? ['messages:read'] : []),
  },
  endless: {
    says: 'A token that expires may not use `full`, because the webhook would get texts for longer than the token is valid.',
    isMade: ({ body }) => body.full === true,
  },
  method: 'POST',
  path: '/webhooks',
  summary: 'Create a webhook, which delivers events to a URL.',
  description:
    'Each event is a POST that is signed as Standard Webhooks 1.0 describes. A 2xx answer within 15 s accepts it; otherwise it is tried ' +
    'again up to nine times within about 75 hours, and 410 switches the webhook off. An event may arrive twice and out of ' +
    'order: `webhook-id` is the same each time. With `full`, numbers and texts are sent too.',
  body: z.strictObject({
    url: url.describe('The URL of the webhook; https, unless COLUMBA_WEBHOOK_NETWORKS contains its address.'),
    events: z
      .array(eventType)
      .min(1)
      .max(EVENT_TYPES.length + FORMER.length)
      .describe(`Which events. ${FORMER_SAID}, under which it is delivered until the next version.`),
    username: username.optional().describe('Only events of this account.'),
    full: z.boolean().optional().describe('Send numbers and texts too, not only ids.'),
  }),
  output: z.strictObject({ secret, ...webhookOutput.shape }),
  status: 201,
  problems: ['not-found', 'conflict'],
  example: {
    body: { url: 'https://shop.example/events', events: ['message.received', 'message.status'] },
    output: { secret: SECRET_EXAMPLE, ...EXAMPLE },
  },
  // Without path and query, which may hold a secret.
  target: ({ body }) => new URL(body.url).host,
  command: {
    arguments: ['url'],
    say: (output) => `Added the webhook ${output.id}. Its secret, which cannot be shown again:\n${output.secret}`,
  },
  run: async ({ database, now }, { body }) => {
    const full = body.full ?? false;
    const account = body.username === undefined ? null : await accountId(database, body.username);
    const given = { account, url: body.url, events: [...new Set(body.events)], full };
    const added = await addWebhook(database, given, now());
    return { secret: added.secret, ...shown(added.webhook) };
  },
});

export const webhookRemove = action({
  name: 'webhook remove',
  scope: 'gateway',
  method: 'DELETE',
  path: '/webhooks/{id}',
  summary: 'Remove a webhook with its events and attempts.',
  params,
  output: webhookOutput,
  problems: ['not-found'],
  example: { params: { id: EXAMPLE.id }, output: EXAMPLE },
  command: { say: (output) => `Removed the webhook ${output.id}.` },
  run: async ({ database }, { params: { id: webhook } }) => shown(await removeWebhook(database, webhook)),
});

export const webhookEnable = action({
  name: 'webhook enable',
  scope: 'gateway',
  method: 'POST',
  path: '/webhooks/{id}/enable',
  summary: 'Enable a webhook that was switched off.',
  description: 'Events that happened in the meantime are not delivered.',
  params,
  output: webhookOutput,
  problems: ['not-found'],
  example: { params: { id: EXAMPLE.id }, output: EXAMPLE },
  command: { say: (output) => `Enabled the webhook ${output.id}.` },
  run: async ({ database }, { params: { id: webhook } }) => shown(await enableWebhook(database, webhook)),
});

export const webhookRotate = action({
  name: 'webhook rotate',
  scope: 'gateway',
  method: 'POST',
  path: '/webhooks/{id}/rotate',
  summary: 'Give a webhook a new secret. For 24 hours requests are signed with both secrets.',
  params,
  output: z.strictObject({ secret }),
  status: 201,
  problems: ['not-found'],
  example: { params: { id: EXAMPLE.id }, output: { secret: SECRET_EXAMPLE } },
  command: { say: (output) => `The new secret, which cannot be shown again:\n${output.secret}` },
  run: async ({ database, now }, { params: { id: webhook } }) => ({
    secret: await rotateSecret(database, webhook, now()),
  }),
});

export const webhookAttempts = listAction({
  name: 'webhook attempts',
  scope: 'gateway',
  path: '/webhooks/{id}/attempts',
  summary: 'List the attempts to deliver events to a webhook, newest first.',
  description: 'Events and attempts are kept for 30 days.',
  params,
  item: z.strictObject({
    eventId: id,
    type: z.string(),
    number: z.int(),
    at: instant,
    status: z.int().nullable().describe('Status of the answer; null if there was no answer.'),
    error: z.string().nullable().describe('Why there was no answer.'),
    durationMs: z.int(),
    nextAt: instant.nullable().describe('When the next attempt is due; null if there is none.'),
  }),
  position: z.tuple([instant, id, integer(0, 1_000_000)]),
  problems: ['not-found'],
  example: {
    params: { id: EXAMPLE.id },
    output: {
      items: [
        {
          eventId: '1152921504606846976',
          type: 'message.received',
          number: 1,
          at: '2026-11-15T12:00:00.000Z',
          status: 503,
          error: null,
          durationMs: 40,
          nextAt: '2026-11-15T12:00:05.000Z',
        },
      ],
      next: null,
    },
  },
  command: { columns: ['at', 'eventId', 'type', 'number', 'status', 'error', 'nextAt'] },
  run: async ({ database }, { params: { id: webhook }, page: { after, limit } }) => {
    const rows = await attemptsBefore(database, webhook, after, limit + 1);
    const positionOf = ({ at, eventId, number }: WebhookAttempt): [number, bigint, number] => [at, eventId, number];
    return pageOf(rows, limit, (row) => row, positionOf);
  },
});

export const eventList = listAction({
  name: 'event list',
  scope: 'gateway',
  path: '/events',
  summary: 'List the events of webhooks, oldest first.',
  description:
    'A receiver that missed deliveries reads here what happened since. Events are written when they happen, for every enabled webhook that wants ' +
    'them, and kept for 30 days; an event that two webhooks want is listed for each. They hold ids, never a number or a text.',
  query: z.strictObject({
    webhook: id.optional().describe('Only events of this webhook.'),
    since,
    until,
  }),
  item: z.strictObject({
    id: id.describe('The `webhook-id` of its deliveries.'),
    webhookId: id,
    username: z.string().nullable().describe('The account that the event is about; null if it is about none.'),
    type: z.string(),
    at: instant.describe('When it happened.'),
    data: z.record(z.string(), z.unknown()).describe('The ids and values of the event.'),
    attempts: z.int().describe('How often its delivery was tried.'),
    nextAt: instant.nullable().describe('When it is tried next; null if it was delivered or is not tried any more.'),
  }),
  position: z.tuple([instant, id, id]),
  problems: ['not-found'],
  example: {
    query: { webhook: EXAMPLE.id, since: '2026-11-15T12:00:00Z' },
    output: {
      items: [
        {
          id: '1152921504606846976',
          webhookId: EXAMPLE.id,
          username: 'acme',
          type: 'message.status',
          at: '2026-11-15T12:00:00.000Z',
          data: { messageId: '2001', status: 'DELIVERED' },
          attempts: 1,
          nextAt: null,
        },
      ],
      next: null,
    },
  },
  command: { columns: ['at', 'id', 'type', 'username', 'attempts', 'nextAt'] },
  run: async ({ database }, { query, page: { after, limit } }) => {
    const { webhook = null, since: first = -(2 ** 53 - 1), until: end = Number.POSITIVE_INFINITY } = query;
    const found = await eventsAfter(database, { webhook, since: first }, after, limit + 1);
    const rows = found.filter(({ at }) => at < end);
    const positionOf = (event: StoredEvent): [number, bigint, bigint] => [event.at, event.webhookId, event.id];
    return pageOf(rows, limit, (event) => ({ ...event, data: { ...event.data } }), positionOf);
  },
});

export const webhookResend = action({
  name: 'webhook resend',
  scope: 'gateway',
  method: 'POST',
  path: '/webhooks/{id}/resend',
  summary: 'Deliver an event once more.',
  params,
  body: z.strictObject({ eventId: id.describe('The id of the event, as the list of attempts shows it.') }),
  output: z.strictObject({ eventId: id, dueAt: instant }),
  status: 202,
  problems: ['not-found'],
  example: {
    params: { id: EXAMPLE.id },
    body: { eventId: '1152921504606846976' },
    output: { eventId: '1152921504606846976', dueAt: '2026-11-15T12:00:00.000Z' },
  },
  command: { arguments: ['eventId'], say: (output) => `The event ${output.eventId} is being delivered once more.` },
  run: async ({ database, now }, { params: { id: webhook }, body: { eventId } }) => {
    const dueAt = now();
    await resendEvent(database, webhook, eventId, dueAt);
    return { eventId, dueAt };
  },
});

export const webhookTest = action({
  name: 'webhook test',
  scope: 'gateway',
  method: 'POST',
  path: '/webhooks/{id}/test',
  summary: 'Deliver a test event of the type webhook.test, which contains no data, to a webhook.',
  description: 'The event is signed, retried and listed among the attempts like any other.',
  params,
  output: z.strictObject({ eventId: id, dueAt: instant }),
  status: 202,
  problems: ['not-found', 'conflict'],
  example: {
    params: { id: EXAMPLE.id },
    output: { eventId: '1152921504606846976', dueAt: '2026-11-15T12:00:00.000Z' },
  },
  command: {
    say: (output) => `The event ${output.eventId} is being delivered. columba webhook attempts shows the result.`,
  },
  run: async ({ database, now }, { params: { id: webhook } }) => {
    const dueAt = now();
    return { eventId: await testWebhook(database, webhook, dueAt), dueAt };
  },
});

export const webhookActions: readonly Action[] = [
  webhookList,
  webhookAdd,
  webhookRemove,
  webhookEnable,
  webhookRotate,
  webhookAttempts,
  eventList,
  webhookResend,
  webhookTest,
];
