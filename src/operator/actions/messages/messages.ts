import { z } from 'zod';
import { badField, notFound, Problem } from '../../../base/problem.ts';
import type { ScheduledMessage, ScheduledRecord } from '../../../domain/messages/scheduled.ts';
import type { SentMessage, SentRecord } from '../../../domain/messages/sent.ts';
import { DELIVERY_STATUSES } from '../../../domain/messages/statuses.ts';
import { isWantedSent } from '../../../domain/search/of-kind.ts';
import { type AccountServices, type Action, accountAction, accountListAction, type Page } from '../../action.ts';
import { mayRead } from '../../actor.ts';
import { domainOf } from '../../domain.ts';
import { FILTERED, rowsOf, since, type TimedList, timedPage, until } from '../../filters.ts';
import { refused } from '../../input.ts';
import { accountParams, credits, instant, line, messageParams, rowId } from '../../schemas.ts';

/** Messages that were sent, with the history of their statuses, and messages that are scheduled. */

const TEXT_LENGTH_MAX = 10_000;
const states = ['sent', 'scheduled'] as const;

const message = z.strictObject({
  id: rowId,
  state: z.enum(states),
  reference: z.string().nullable().describe("The sender's own reference."),
  recipient: z.string().nullable(),
  text: z.string().nullable(),
  status: z.string().nullable().describe('The delivery status; null for a scheduled message.'),
  sentAt: instant.nullable(),
  updatedAt: instant.nullable().describe('When the status changed last.'),
  marked: z.boolean().nullable().describe('Whether the client has marked the status as seen.'),
  scheduledAt: instant.nullable().describe('When the message is to be sent; null for a message that was sent.'),
  createdAt: instant.nullable(),
});
type Message = z.output<typeof message>;

const shownSent = (sent: SentMessage): Message => ({
  id: sent.id,
  state: 'sent',
  reference: sent.reference,
  recipient: sent.recipient,
  text: sent.text,
  status: sent.status,
  sentAt: sent.sentAt,
  updatedAt: sent.updatedAt,
  marked: sent.marked,
  scheduledAt: null,
  createdAt: null,
});
const shownScheduled = (scheduled: ScheduledMessage): Message => ({
  id: scheduled.id,
  state: 'scheduled',
  reference: scheduled.reference,
  recipient: scheduled.recipient,
  text: scheduled.text,
  status: null,
  sentAt: null,
  updatedAt: null,
  marked: null,
  scheduledAt: scheduled.scheduledAt,
  createdAt: scheduled.createdAt,
});

const change = z.strictObject({ status: z.string(), at: instant, detail: z.string().nullable() });
const record = message.extend({
  history: z.array(change).describe('Every status that the message has had, oldest first.'),
  heldCredits: credits.nullable().describe('Credits held for a scheduled message.'),
  notAfter: instant.nullable().describe('The message is not sent after this time; null if there is no such limit.'),
});
const recordOfSent = (sent: SentRecord): z.output<typeof record> => ({
  ...shownSent(sent),
  history: sent.history.map(({ status, at, detail }) => ({ status, at, detail })),
  heldCredits: null,
  notAfter: null,
});
const recordOfScheduled = (scheduled: ScheduledRecord): z.output<typeof record> => ({
  ...shownScheduled(scheduled),
  history: [],
  heldCredits: scheduled.heldParts,
  notAfter: scheduled.notAfter,
});

const SENT = {
  id: '2001',
  state: 'sent',
  reference: 'order-17',
  recipient: '+27825550201',
  text: 'Your parcel has arrived.',
  status: 'DELIVERED',
  sentAt: '2026-11-15T12:00:00.000Z',
  updatedAt: '2026-11-15T12:00:05.000Z',
  marked: false,
  scheduledAt: null,
  createdAt: null,
};
const RECORD = {
  ...SENT,
  history: [
    { status: 'SUBMITTED', at: '2026-11-15T12:00:00.000Z', detail: null },
    { status: 'DELIVERED', at: '2026-11-15T12:00:05.000Z', detail: null },
  ],
  heldCredits: null,
  notAfter: null,
};

const stateQuery = (description: string) => z.enum(states).optional().describe(description);

const filters = z.strictObject({
  state: stateQuery('`sent` if it is not given.'),
  reference: line(200).min(1).optional().describe("Only messages with this reference of the sender's own."),
  recipient: line(200)
    .regex(/(?:\d.*){4}/, 'expected a number of at least four digits, or its last ones')
    .optional()
    .describe('Only messages to this number, in whatever notation.'),
  status: z.enum(DELIVERY_STATUSES).optional().describe('Only sent messages with this delivery status.'),
  since,
  until,
  order: z
    .enum(['newest', 'oldest'])
    .optional()
    .describe('Which come first; `newest` if it is not given, and `oldest` for scheduled messages.'),
});
type Filters = z.output<typeof filters>;

export const messageList = accountListAction({
  name: 'message list',
  scope: 'messages:read',
  accountTokens: true,
  path: '/accounts/{username}/messages',
  summary: 'List sent messages, newest first, or scheduled ones, soonest first.',
  description: `Messages can be found by \`reference\`, \`recipient\`, \`status\` and time. ${FILTERED}`,
  params: accountParams,
  query: filters,
  item: message,
  position: z.tuple([instant, rowId]),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, query: { state: 'sent' }, output: { items: [SENT], next: null } },
  run: async (services, { query, page }) =>
    query.state === 'scheduled' ? scheduledPage(services, query, page) : sentPage(services, query, page),
});

type MessagePage = Page<[number, bigint]>;

async function sentPage(services: AccountServices, query: Filters, page: MessagePage) {
  const { sent, search, region } = domainOf(services);
  const account = services.account.id;
  const { reference, recipient, status, order: by = 'newest' } = query;
  const wanted = { reference, recipient };
  const cursorOf = ({ sentAt, id }: SentMessage) => ({ at: sentAt, id });
  // The index finds a message among millions; where it is not complete yet, the list is read.
  const isIndexed = (reference ?? recipient) !== undefined && (await search.isComplete(account));
  const found = isIndexed ? await search.sentWith(account, wanted) : null;
  const fits = isWantedSent(wanted, await region(account));
  const isFiltered = (reference ?? recipient ?? status) !== undefined;
  const isWanted = isFiltered
    ? (row: SentMessage) => (status === undefined || row.status === status) && fits(row)
    : undefined;
  const read: TimedList<SentMessage>['read'] = async (from, limit) =>
    found ? found.read(by, from, limit) : rowsOf(await sent.from(account, by, from, limit), limit, cursorOf);
  return timedPage({ ...query, page, order: by, cursorOf, isWanted, read }, shownSent);
}

async function scheduledPage(services: AccountServices, query: Filters, page: MessagePage) {
  const { scheduled, region } = domainOf(services);
  const account = services.account.id;
  const { reference, recipient, status, order: by = 'oldest' } = query;
  if (status !== undefined) {
    throw refused([{ pointer: '?status', detail: 'a scheduled message has no delivery status yet; leave this out' }]);
  }
  const cursorOf = ({ scheduledAt, id }: ScheduledMessage) => ({ at: scheduledAt, id });
  const isFiltered = (reference ?? recipient) !== undefined;
  const isWanted = isFiltered ? isWantedSent({ reference, recipient }, await region(account)) : undefined;
  const read: TimedList<ScheduledMessage>['read'] = async (from, limit) =>
    rowsOf(await scheduled.from(account, by, from, limit), limit, cursorOf);
  return timedPage({ ...query, page, order: by, cursorOf, isWanted, read }, shownScheduled);
}

export const messageShow = accountAction({
  name: 'message show',
  scope: 'messages:read',
  accountTokens: true,
  method: 'GET',
  path: '/accounts/{username}/messages/{id}',
  summary: 'Show a message with the history of its statuses.',
  params: messageParams,
  query: z.strictObject({
    state: stateQuery(
      'Which message to show if a sent and a scheduled message have the same id, as imported ones may.',
    ),
  }),
  output: record,
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '2001' }, output: RECORD },
  run: async (services, { params: { id }, query: { state } }) => {
    const { sent, scheduled } = domainOf(services);
    const account = services.account.id;
    if (state === 'scheduled') return recordOfScheduled(await scheduled.show(account, id));
    if (state === 'sent') return recordOfSent(await sent.show(account, id));
    const sentOne = await orMissing(sent.show(account, id));
    if (sentOne) return recordOfSent(sentOne);
    const scheduledOne = await orMissing(scheduled.show(account, id));
    if (!scheduledOne) throw notFound('message with this id');
    return recordOfScheduled(scheduledOne);
  },
});

/** Returns null if there is no such message. */
const orMissing = <T>(found: Promise<T>): Promise<T | null> =>
  found.catch((thrown) => {
    if (thrown instanceof Problem && thrown.kind === 'not-found') return null;
    throw thrown;
  });

export const messageRecord = accountAction({
  name: 'message record',
  scope: 'gateway',
  method: 'POST',
  path: '/accounts/{username}/messages/record',
  summary: 'Record a message that was sent elsewhere.',
  description: 'Nothing is sent, and no credits move.',
  params: accountParams,
  body: z.strictObject({
    recipient: line(200)
      .regex(/\p{Nd}/u, 'expected at least one digit')
      .describe('The number to which the message was sent.'),
    text: z.string().max(TEXT_LENGTH_MAX).describe('Its text.'),
    reference: line(200).min(1).nullable().optional().describe("The sender's own reference."),
    status: z.enum(DELIVERY_STATUSES).optional().describe('`SUBMITTED` if it is not given.'),
    sentAt: instant.optional().describe('When the message was sent; now if it is not given.'),
  }),
  output: record,
  status: 201,
  location: '/accounts/{username}/messages/{id}',
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: { recipient: '+27825550201', text: 'Your parcel has arrived.', reference: 'order-17' },
    output: { ...RECORD, status: 'SUBMITTED', history: RECORD.history.slice(0, 1) },
  },
  target: ({ params }, { id }) => `${params.username}/${id}`,
  command: { say: ({ id }) => `Recorded as ${id}.` },
  run: async (services, { body }) => {
    const { recipient, text, reference = null, status = 'SUBMITTED', sentAt = services.now() } = body;
    const given = { recipient, text, reference, status, sentAt };
    return recordOfSent(await domainOf(services).sent.record(services.account.id, given));
  },
});

export const messageStatus = accountAction({
  name: 'message status',
  scope: 'gateway',
  method: 'POST',
  path: '/accounts/{username}/messages/{id}/status',
  summary: 'Record a delivery status of a sent message.',
  description:
    'The status is added to the history, and the client sees it as new. Reporting the current status again changes nothing. ' +
    'DELIVERED, EXPIRED, DELETED, UNDELIVERABLE and REJECTED are final. ' +
    'Recipient, text and reference are null for a token without the scope messages:read.',
  params: messageParams,
  body: z.strictObject({
    status: z.enum(DELIVERY_STATUSES).describe('The new status.'),
    at: instant.optional().describe('When the carrier reported it; now if it is not given.'),
    detail: line(200)
      .min(1)
      .nullable()
      .optional()
      .describe('A reason or code of the carrier, without numbers or texts of messages.'),
  }),
  output: record,
  problems: ['not-found', 'conflict'],
  example: { params: { username: 'acme', id: '2001' }, body: { status: 'DELIVERED' }, output: RECORD },
  command: { arguments: ['status'], say: ({ id, status }) => `The message ${id} has the status ${status}.` },
  run: async (services, { params, body: { status, at = services.now(), detail = null } }, actor) => {
    if (at > services.now()) throw badField('at', 'this is in the future');
    const sent = await domainOf(services).sent.recordStatus(services.account.id, params.id, { status, at, detail });
    const hidden = mayRead(actor) ? {} : { recipient: null, text: null, reference: null };
    return { ...recordOfSent(sent), ...hidden };
  },
});

export const messageCancel = accountAction({
  name: 'message cancel',
  scope: 'messages:send',
  accountTokens: true,
  method: 'DELETE',
  path: '/accounts/{username}/messages/{id}',
  summary: 'Cancel a message that has not left yet. The credits held for it are free again.',
  description:
    'A scheduled message is removed. A message that is due and waits, because its connector is paused, down or busy, ends with the status DELETED. ' +
    'Only a message that is being submitted at this moment cannot be cancelled, nor one that was sent, nor one of which nobody knows whether the carrier has it: the answer 409 says which.',
  params: messageParams,
  output: z.strictObject({ id: rowId, creditsReturned: credits }),
  problems: ['not-found', 'conflict'],
  example: { params: { username: 'acme', id: '3001' }, output: { id: '3001', creditsReturned: '1' } },
  command: { say: ({ id, creditsReturned }) => `Cancelled the message ${id}. Credits returned: ${creditsReturned}.` },
  run: async (services, { params: { id } }) => ({
    id,
    creditsReturned: await domainOf(services).cancellation.cancel(services.account.id, id),
  }),
});

export const messageActions: readonly Action[] = [
  messageList,
  messageShow,
  messageRecord,
  messageStatus,
  messageCancel,
];
