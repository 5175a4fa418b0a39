import { z } from 'zod';
import { counted } from '../../../base/counted.ts';
import { badField } from '../../../base/problem.ts';
import { accountId } from '../../../domain/accounts/accounts.ts';
import { decideMany, type QueuedMessage, type QueueKind, queuedMessages } from '../../../domain/queue/queue.ts';
import { DECISIONS } from '../../../domain/sending/decide.ts';
import { sendWhenDue } from '../../../domain/sending/hold.ts';
import { type Action, action, listAction, pageOf } from '../../action.ts';
import { credits, id, instant, rowId, username } from '../../schemas.ts';

/** Messages on their way out, of all accounts, without their numbers and texts. */

const item = z.strictObject({
  username: z.string(),
  id: rowId,
  state: z.enum(['held', 'waiting', 'submitting', 'unknown-outcome', 'needs-decision']),
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

const KINDS = ['held', 'restored', 'open'] as const satisfies readonly QueueKind[];
type Flags = { readonly [kind in QueueKind]?: string | undefined };
const kindOf = (flags: Flags): QueueKind | null => KINDS.find((kind) => flags[kind] !== undefined) ?? null;

export const queueList = listAction({
  name: 'queue list',
  scope: 'gateway',
  path: '/queue',
  summary: 'List messages on their way out, by account and id.',
  query: z.strictObject({
    held: z.enum(['true']).optional().describe('Only those that the spend guard holds.'),
    open: z.enum(['true']).optional().describe('Only those of which nobody knows whether the carrier has them.'),
    restored: z.enum(['true']).optional().describe('Only those that are held because a backup was restored.'),
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
    const rows = await queuedMessages(database, { kind: kindOf(query), after, limit: limit + 1 });
    return pageOf(rows, limit, shown, (row): [bigint, bigint] => [row.account, row.id]);
  },
});

// One request is one transaction, which must not delay the others for long.
const DECIDED_AT_ONCE = 500;
/** Of these only the mark changes: 200,000 in one statement took longer than a statement may. */
const SCHEDULED_AT_ONCE = 5_000;

export const queueDecide = action({
  name: 'queue decide',
  scope: 'gateway',
  needs: {
    says: 'With `submit-again` this also needs the scope messages:send.',
    scopes: ({ body }) => (body.decision === 'submit-again' ? ['messages:send'] : []),
  },
  method: 'POST',
  path: '/queue/decide',
  summary: 'Decide about many messages of which nobody knows whether the carrier has them.',
  description:
    `The decisions are those of a single message. At most ${DECIDED_AT_ONCE} messages are decided by one request, or ${SCHEDULED_AT_ONCE} that are due later; repeat it while \`isMoreLeft\` is true. ` +
    'After a backup was restored, messages that may have been sent since are held for this decision.',
  body: z.strictObject({
    decision: z.enum(DECISIONS).describe('What you know about the messages, or what to do with them.'),
    restored: z.boolean().optional().describe('Only messages that are held because a backup was restored.'),
    scheduled: z
      .boolean()
      .optional()
      .describe(
        'With `submit-again`: messages that are due later, and that `columba restore --hold-scheduled` has held then. They are sent then.',
      ),
    username: username.optional().describe('Only messages of this account.'),
  }),
  output: z.strictObject({ decided: z.int(), isMoreLeft: z.boolean() }),
  problems: ['not-found'],
  example: { body: { decision: 'submitted', restored: true }, output: { decided: 12, isMoreLeft: false } },
  target: ({ body }, { decided }) => `${counted(decided, 'message')}: ${body.decision}`,
  command: {
    arguments: ['decision'],
    say: ({ decided, isMoreLeft }) =>
      `Decided: ${decided}.${isMoreLeft ? ' More are left: run the command again.' : ''}`,
  },
  run: async (
    { database, now, tryForMs },
    { body: { decision, restored = false, scheduled = false, username: name } },
  ) => {
    const account = name === undefined ? null : await accountId(database, name);
    if (scheduled && decision !== 'submit-again') throw badField('scheduled', 'expected the decision submit-again');
    if (scheduled) return sendWhenDue(database, { account, limit: SCHEDULED_AT_ONCE });
    const wanted = { decision, account, isHeld: restored, limit: DECIDED_AT_ONCE };
    return decideMany(database, wanted, { at: now(), tryForMs });
  },
});

export const queueActions: readonly Action[] = [queueList, queueDecide];
