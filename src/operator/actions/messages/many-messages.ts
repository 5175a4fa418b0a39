import { z } from 'zod';
import { badField } from '../../../base/problem.ts';
import { accountRecord } from '../../../domain/accounts/accounts.ts';
import { reschedule as rescheduleMessages } from '../../../domain/sending/schedule.ts';
import { type Action, accountAction } from '../../action.ts';
import type { Scope } from '../../actor.ts';
import { domainOf } from '../../domain.ts';
import { accountParams, credits, instant, rowId } from '../../schemas.ts';

/** Changes of many messages in one transaction. Messages that are gone already are left out. */
const BATCH_MAX = 500;

const ids = z.array(rowId).min(1).max(BATCH_MAX).describe(`Ids of messages, at most ${BATCH_MAX}.`);
const output = z.strictObject({ done: z.int().describe('How many of these messages existed and were changed.') });
const counted = ({ params, body }: { params: { username: string }; body: { ids: unknown[] } }) =>
  `${params.username}/${body.ids.length} messages`;

/** Marking needs the scope of reading, and deleting needs a scope of its own. */
const needsDelete = {
  says: 'With `delete` this also needs the scope messages:delete.',
  scopes: ({ body }: { readonly body: { readonly change: string } }): readonly Scope[] =>
    body.change === 'delete' ? ['messages:delete'] : [],
};

const messages = (count: number): string => (count === 1 ? '1 message' : `${count} messages`);

export const inboxChangeMany = accountAction({
  name: 'inbox change-many',
  scope: 'messages:read',
  needs: needsDelete,
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/inbox/change-many',
  summary: 'Mark or delete many received messages.',
  params: accountParams,
  body: z.strictObject({ ids, change: z.enum(['read', 'unread', 'delete']).describe('What to do with the messages.') }),
  output,
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: { ids: ['1001', '1002'], change: 'read' },
    output: { done: 2 },
  },
  target: counted,
  command: { say: ({ done }) => `Done for ${messages(done)}.` },
  run: async (services, { body }) => ({
    done: await domainOf(services).received.change(services.account.id, body.ids, body.change),
  }),
});

export const messageChangeMany = accountAction({
  name: 'message change-many',
  scope: 'messages:read',
  needs: needsDelete,
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/messages/change-many',
  summary: 'Mark the statuses of many sent messages as seen, or delete the messages.',
  params: accountParams,
  body: z.strictObject({ ids, change: z.enum(['mark', 'delete']).describe('What to do with the messages.') }),
  output,
  problems: ['not-found'],
  example: { params: { username: 'acme' }, body: { ids: ['2001'], change: 'mark' }, output: { done: 1 } },
  target: counted,
  command: { say: ({ done }) => `Done for ${messages(done)}.` },
  run: async (services, { body }) => ({
    done: await domainOf(services).sent.change(services.account.id, body.ids, body.change),
  }),
});

export const messageCancelMany = accountAction({
  name: 'message cancel-many',
  scope: 'messages:send',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/messages/cancel-many',
  summary: 'Cancel many messages that have not left yet, scheduled or due. The credits held for them are free again.',
  description: 'Messages that are being submitted, or that were sent already, are not changed.',
  params: accountParams,
  body: z.strictObject({ ids }),
  output: z.strictObject({ cancelled: z.int(), creditsReturned: credits }),
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: { ids: ['3001', '3002'] },
    output: { cancelled: 2, creditsReturned: '2' },
  },
  target: counted,
  command: {
    say: ({ cancelled, creditsReturned }) => `Cancelled ${messages(cancelled)}. Credits returned: ${creditsReturned}.`,
  },
  run: async (services, { body }) => domainOf(services).cancellation.cancelMany(services.account.id, body.ids),
});

const late = (count: number): string => `Because of notAfter, ${messages(count)} cannot be sent as late as that.`;

export const messageReschedule = accountAction({
  name: 'message reschedule',
  scope: 'messages:send',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/messages/reschedule',
  summary: 'Change the time of scheduled messages.',
  description:
    'The quiet hours of the account apply, and the new time is at least 5 seconds ahead. Messages that are being sent already, or whose notAfter is before the new time, are not changed.',
  params: accountParams,
  body: z.strictObject({ ids, sendAt: instant.describe('The new time, in the future.') }),
  output: z.strictObject({
    moved: z.int(),
    tooLate: z.int().describe('Messages that were not moved, because their notAfter is before the new time.'),
  }),
  problems: ['not-found'],
  example: {
    params: { username: 'acme' },
    body: { ids: ['3001'], sendAt: '2026-11-16T12:00:00Z' },
    output: { moved: 1, tooLate: 0 },
  },
  target: counted,
  command: {
    say: ({ moved, tooLate }) => [`Moved ${messages(moved)}.`, ...(tooLate > 0 ? [late(tooLate)] : [])].join(' '),
    refusal: ({ moved, tooLate }) => {
      if (moved > 0) return null;
      return `Nothing was moved. ${tooLate > 0 ? late(tooLate) : 'The messages are being sent already, or no longer exist.'}`;
    },
  },
  run: async (services, { body: { ids: chosen, sendAt } }) => {
    const { database, account, now, tryForMs } = services;
    const at = now();
    if (sendAt <= at) throw badField('sendAt', 'expected an instant in the future');
    const { quietHours, timeZone } = await accountRecord(database, account.username);
    const wanted = { at: sendAt, now: at, quietHours, timeZone, tryForMs };
    return { ...(await rescheduleMessages(database, account.id, chosen, wanted)) };
  },
});

export const manyMessageActions: readonly Action[] = [
  inboxChangeMany,
  messageChangeMany,
  messageCancelMany,
  messageReschedule,
];
