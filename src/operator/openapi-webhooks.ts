import { EVENT_TYPES, type EventType } from '../domain/accounts/events.ts';
import type { Components, Json } from './openapi-schemas.ts';

/** The requests that Columba sends to webhooks, as the section `webhooks` of the document. */

const text = (description: string): Json => ({ type: 'string', description });
const orNull = (description: string): Json => ({ type: ['string', 'null'], description });

const account = orNull('The username; null if the account was removed since.');
const messageId = text('The id of the message, a decimal string.');
const ofSent = {
  recipient: orNull('Only for a webhook with `full`.'),
  text: orNull('Only for a webhook with `full`.'),
  reference: orNull('Only for a webhook with `full`.'),
};
const connector = text('The name of the connector.');

interface EventData {
  readonly summary: string;
  /** Fields that every event of this type has. */
  readonly always: Readonly<Record<string, Json>>;
  readonly full?: Readonly<Record<string, Json>>;
}

const EVENTS: Readonly<Record<EventType, EventData>> = {
  'message.received': {
    summary: 'A message has arrived in an inbox.',
    always: { account, messageId },
    full: {
      sender: orNull('Only for a webhook with `full`.'),
      text: orNull('Only for a webhook with `full`.'),
      shortCode: orNull('Only for a webhook with `full`.'),
      receivedAt: { type: 'string', format: 'date-time', description: 'Only for a webhook with `full`.' },
    },
  },
  'message.status': {
    summary: 'A sent message has a new status.',
    always: { account, messageId, status: text('The new status, such as DELIVERED.') },
    full: ofSent,
  },
  'message.needs_decision': {
    summary: 'Nobody knows whether the carrier has a message, and an operator must decide.',
    always: { account, messageId, status: text('The status of the message.') },
    full: ofSent,
  },
  'credits.low': {
    summary: 'The free credits of an account have fallen below its threshold.',
    always: { account, free: text('A decimal string.'), threshold: text('A decimal string.') },
  },
  'connector.down': {
    summary: 'A connector cannot be used.',
    always: { connector, reason: orNull('Why.') },
  },
  'connector.up': { summary: 'A connector can be used again.', always: { connector, reason: orNull('Null.') } },
  'service.restored': {
    summary: 'A backup was restored, and messages that may have been sent since are held for a decision.',
    always: {
      generation: text('The generation of the database, a decimal string.'),
      held: { type: 'integer', description: 'How many messages are held.' },
    },
  },
  'connector.failover': {
    summary: 'Messages went on from a connector to the next way of their outbound route; at most once a minute.',
    always: {
      connector,
      route: text('The name of the outbound route.'),
      messages: { type: 'integer', description: 'How many messages.' },
      reason: orNull('Why, as far as it is known.'),
    },
  },
  'guard.stopped': {
    summary: 'The spend guard of an account has stopped messages; at most once an hour for each rule.',
    always: {
      account,
      rule: text('The rule, such as credits-hour.'),
      outcome: text('held or refused.'),
      messages: { type: 'integer', description: 'How many messages of this request.' },
      detail: text('What is over which limit.'),
    },
  },
};

const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
  name,
  in: 'header',
  required: true,
  schema: { type: 'string' },
  description: 'As Standard Webhooks 1.0 describes it.',
}));

export const webhooks = (components: Components): Json =>
  Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: requestOf(type, components) }]));

function requestOf(type: EventType, components: Components): Json {
  const { summary, always, full = {} } = EVENTS[type];
  const name = type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
  const schema = components.schema(`${name}Event`, {
    type: 'object',
    properties: {
      type: { type: 'string', const: type },
      timestamp: { type: 'string', format: 'date-time', description: 'When it happened.' },
      data: { type: 'object', properties: { ...always, ...full }, required: Object.keys(always) },
    },
    required: ['type', 'timestamp', 'data'],
  });
  return {
    operationId: `on${name}`,
    tags: ['webhook'],
    summary,
    security: [],
    parameters: HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'The event was taken.' },
      '410': { description: 'No more events are wanted: the webhook is switched off.' },
      default: { description: 'The event is delivered again later.' },
    },
  };
}
