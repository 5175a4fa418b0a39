import { z } from 'zod';
import { type QueuedMessage, queuedMessages } from '../../domain/sending/queue.ts';
import { type Action, listAction, pageOf } from '../action.ts';
import { credits, id, instant, rowId } from '../schemas.ts';

/** Messages on their way out, of all accounts, without their numbers and texts. */

const item = z.strictObject({
  username: z.string(),
  id: rowId,
  state: z.enum(['waiting', 'submitting', 'unknown-outcome', 'needs-decision']),
  dueAt: instant.nullable().describe('When it is looked at next; null for one that needs a decision.'),
  attempts: z.int(),
  held: credits,
  connector: z.string().nullable(),
  reason: z.string().nullable().describe('Why the last attempt did not succeed.'),
});
/** The last instant with a year of four digits. A later one means that nothing is due. */
const LATEST = 253_402_300_799_999;
const shown = ({ account: _, dueAt, ...message }: QueuedMessage): z.output<typeof item> => ({
  ...message,
  state: message.state as z.output<typeof item>['state'],
  dueAt: dueAt > LATEST ? null : dueAt,
});

export const queueList = listAction({
  name: 'queue list',
  scope: 'gateway',
  path: '/queue',
  summary: 'List messages on their way out, by account and id.',
  query: z.strictObject({
    open: z.enum(['true']).optional().describe('Only those of which nobody knows whether the carrier has them.'),
  }),
  item,
  position: z.tuple([id, rowId]),
  example: {
    query: { open: 'true' },
    output: {
      items: [
        {
          username: 'acme',
          id: '2001',
          state: 'needs-decision',
          dueAt: null,
          attempts: 1,
          held: '1',
          connector: 'kannel',
          reason: 'no answer',
        },
      ],
      next: null,
    },
  },
  run: async ({ database }, { query, page: { limit, after } }) => {
    const rows = await queuedMessages(database, { isOpen: query.open !== undefined, after, limit: limit + 1 });
    return pageOf(rows, limit, shown, (row): [bigint, bigint] => [row.account, row.id]);
  },
});

export const queueActions: readonly Action[] = [queueList];
