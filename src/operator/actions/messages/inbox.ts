import { z } from 'zod';
import { notFound } from '../../../base/problem.ts';
import type { InboxMessage } from '../../../domain/messages/received.ts';
import { hasDigit, numberEnd, sameNumber } from '../../../sms/numbers.ts';
import { type Action, accountAction, accountListAction, withStatus } from '../../action.ts';
import { mayRead } from '../../actor.ts';
import { domainOf } from '../../domain.ts';
import { FILTERED, rowsOf, since, type TimedList, timedPage, until } from '../../filters.ts';
import { accountParams, instant, line, messageParams, rowId } from '../../schemas.ts';

/** Received messages. Looking at them never marks them. */

const TEXT_LENGTH_MAX = 10_000;

export const inboxMessage = z.strictObject({
  id: rowId,
  sender: z.string().nullable(),
  text: z.string().nullable(),
  shortCode: z.string().nullable(),
  receivedAt: instant,
  read: z.boolean(),
});
const shown = ({ id, sender, text, shortCode, receivedAt, read }: InboxMessage): z.output<typeof inboxMessage> => ({
  id,
  sender,
  text,
  shortCode,
  receivedAt,
  read,
});
const EXAMPLE = {
  id: '1001',
  sender: '+27825550201',
  text: 'Where is my parcel?',
  shortCode: '31234',
  receivedAt: '2026-11-15T12:00:00.000Z',
  read: false,
};

export const inboxList = accountListAction({
  name: 'inbox list',
  scope: 'messages:read',
  accountTokens: true,
  path: '/accounts/{username}/inbox',
  summary: 'List received messages, newest first.',
  description: `With \`unread\`, only unread messages are listed, oldest first unless \`order\` says otherwise. ${FILTERED}`,
  params: accountParams,
  query: z.strictObject({
    unread: z.enum(['true']).optional().describe('Only unread messages.'),
    sender: line(200).min(1).optional().describe('Only messages from this number, in whatever notation, or this name.'),
    since,
    until,
    order: z
      .enum(['newest', 'oldest'])
      .optional()
      .describe('Which come first; `newest` if it is not given, and `oldest` with `unread`.'),
  }),
  item: inboxMessage,
  position: z.tuple([instant, rowId]),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, query: { unread: 'true' }, output: { items: [EXAMPLE], next: null } },
  run: async (services, { query, page }) => {
    const { received, region } = domainOf(services);
    const account = services.account.id;
    const unread = query.unread !== undefined;
    const { sender, order: by = unread ? 'oldest' : 'newest' } = query;
    const cursorOf = ({ receivedAt, id }: InboxMessage) => ({ at: receivedAt, id });
    const from = sender === undefined ? undefined : sameSender(sender, await region(account));
    const isWanted = from && ((row: InboxMessage) => from(row.sender));
    const read: TimedList<InboxMessage>['read'] = async (start, limit) =>
      rowsOf(await received.from(account, { order: by, unread }, start, limit), limit, cursorOf);
    return timedPage({ ...query, page, order: by, cursorOf, isWanted, read }, shown);
  },
});

/** A number is the same in whatever notation; a name is the same if it is so written. */
function sameSender(sender: string, region: string | null): (other: string | null) => boolean {
  if (!hasDigit(sender)) return (other) => other === sender;
  const { ends, matches } = sameNumber(sender, region);
  return (other) => other === sender || (other !== null && ends.includes(numberEnd(other)) && matches(other));
}

const received = z.strictObject({
  id: rowId,
  message: inboxMessage
    .nullable()
    .describe('The message; null if it was deleted since, or if the token may not read messages.'),
});

export const inboxReceive = accountAction({
  name: 'inbox receive',
  scope: 'gateway',
  method: 'POST',
  path: '/accounts/{username}/inbox',
  summary: 'Receive a message for an account.',
  description:
    'A message with the same `gatewayId` is stored only once: a repeated request gets 200 and the first message, even after it was deleted.',
  params: accountParams,
  body: z.strictObject({
    gatewayId: line(200).min(1).optional().describe("The gateway's own id of the message."),
    sender: line(200).min(1).nullable().optional().describe('The sender: a number or a name.'),
    text: z.string().max(TEXT_LENGTH_MAX).describe('Its text.'),
    shortCode: line(50)
      .min(1)
      .nullable()
      .optional()
      .describe('The number or short code to which the message was sent.'),
    receivedAt: instant.optional().describe('When the message arrived; now if it is not given.'),
  }),
  output: received,
  status: 201,
  location: '/accounts/{username}/inbox/{id}',
  otherStatuses: [200],
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: {
      gatewayId: '4f1c0a52',
      sender: '+27825550201',
      text: 'Where is my parcel?',
      shortCode: '31234',
      receivedAt: '2026-11-15T12:00:00.000Z',
    },
    output: { id: '1001', message: EXAMPLE },
  },
  target: ({ params }, { id }) => `${params.username}/${id}`,
  command: { say: ({ id }) => `Received as ${id}.` },
  run: async (services, { body }, actor) => {
    const { gatewayId = null, sender = null, text, shortCode = null, receivedAt = services.now() } = body;
    const given = { gatewayId, sender, text, shortCode, receivedAt };
    const done = await domainOf(services).received.receive(services.account.id, given);
    // Otherwise a gatewayId that somebody guesses would show them the first message.
    const isShown = done.isNew || mayRead(actor);
    const output = { id: done.id, message: isShown && done.message ? shown(done.message) : null };
    return done.isNew ? output : withStatus(200, output);
  },
});

export const inboxShow = accountAction({
  name: 'inbox show',
  scope: 'messages:read',
  accountTokens: true,
  method: 'GET',
  path: '/accounts/{username}/inbox/{id}',
  summary: 'Show a received message.',
  params: messageParams,
  output: inboxMessage,
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '1001' }, output: EXAMPLE },
  run: async (services, { params }) => shown(await domainOf(services).received.show(services.account.id, params.id)),
});

export const inboxMark = accountAction({
  name: 'inbox mark',
  scope: 'messages:read',
  accountTokens: true,
  method: 'PATCH',
  path: '/accounts/{username}/inbox/{id}',
  summary: 'Mark a received message as read or unread.',
  params: messageParams,
  body: z.strictObject({ read: z.boolean().describe('Whether the message is read.') }),
  output: inboxMessage,
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '1001' }, body: { read: true }, output: { ...EXAMPLE, read: true } },
  command: { say: ({ id, read }) => `The message ${id} is ${read ? 'read' : 'unread'}.` },
  run: async (services, { params, body }) =>
    shown(await domainOf(services).received.setRead(services.account.id, params.id, body.read)),
});

export const inboxRemove = accountAction({
  name: 'inbox remove',
  scope: 'messages:delete',
  accountTokens: true,
  method: 'DELETE',
  path: '/accounts/{username}/inbox/{id}',
  summary: 'Delete a received message.',
  params: messageParams,
  output: z.strictObject({ id: rowId }),
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '1001' }, output: { id: '1001' } },
  command: { say: ({ id }) => `Deleted the message ${id}.` },
  run: async (services, { params: { id } }) => {
    if (!(await domainOf(services).received.delete(services.account.id, id)))
      throw notFound('received message with this id');
    return { id };
  },
});

export const inboxActions: readonly Action[] = [inboxList, inboxReceive, inboxShow, inboxMark, inboxRemove];
