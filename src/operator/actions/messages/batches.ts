import { z } from 'zod';
import { counted } from '../../../base/counted.ts';
import { type Batch, type BatchMember, batchOf, newestBatches, sentOfBatch } from '../../../domain/messages/batches.ts';
import { type Forecast, forecastOf } from '../../../domain/queue/forecast.ts';
import { FAILED_STATUSES, linkResent } from '../../../domain/sending/resend.ts';
import { batchCsv } from '../../../transfer/contact-csv.ts';
import { type Action, accountAction, accountListAction, downloadAction, pageOf } from '../../action.ts';
import { BATCH_STATES, batchPages, type MemberPosition, membersOf } from '../../batch-members.ts';
import { domainOf } from '../../domain.ts';
import { accountParams, credits, instant, rowId, username } from '../../schemas.ts';
import { acceptingOf, enabledAccount } from './sending.ts';

/** Messages that were accepted together. A large batch is shown as quickly as a small one. */

const count = (description: string) => z.int().describe(description);
const batch = z.strictObject({
  id: rowId.describe('The id of the batch, which is that of its first message.'),
  name: z.string().nullable().describe('The reference of its messages.'),
  createdAt: instant,
  dueAt: instant.describe('When its messages were or are due.'),
  accepted: count('Messages that were accepted.'),
  refused: count('Recipients that were refused when it was accepted.'),
  scheduled: count('Messages that wait for their time.'),
  queued: count('Messages that are due and not yet submitted.'),
  submitted: count('Messages that the carrier has, and whose receipt is awaited.'),
  delivered: count('Delivered messages.'),
  failed: count('Messages that ended undelivered, and were not sent again.'),
  resent: count('Messages that ended undelivered, and were sent again as new messages.'),
  cancelled: count('Messages that were cancelled when they were due.'),
  unknown: count('Messages of which nobody knows what became.'),
  parts: count('Parts of all messages.'),
  credits: credits.describe('Credits that were held for the batch.'),
  used: credits.describe('Credits that were used so far. What is not used is free again when a message ends.'),
});

const shown = ({ batchId, inSchedule, startedAt: _, lastAt: __, ...counts }: Batch): z.output<typeof batch> => ({
  id: batchId,
  scheduled: inSchedule,
  ...counts,
});

const forecast = z.strictObject({
  doneAt: instant.nullable().describe('When the last message will probably be submitted; null if nobody knows.'),
  perSecond: z.number().nullable().describe('Messages in a second.'),
  basis: z
    .enum(['measured', 'rate'])
    .nullable()
    .describe('`measured`: what this batch did so far. `rate`: the rate of the connector.'),
  startsAt: instant.describe('When the next message can go, after its time and the quiet hours.'),
  stopped: z
    .enum(['paused', 'down', 'disabled'])
    .nullable()
    .describe('Why nothing goes out: the connector is paused or down, or the account is disabled.'),
});
const shownForecast = (known: Forecast | null): z.output<typeof forecast> | null => (known ? { ...known } : null);

const EXAMPLE = {
  id: '4001',
  name: 'reminder-19-nov',
  createdAt: '2026-11-15T11:59:00.000Z',
  dueAt: '2026-11-15T12:00:00.000Z',
  accepted: 296,
  refused: 2,
  scheduled: 0,
  queued: 20,
  submitted: 100,
  delivered: 160,
  failed: 13,
  resent: 0,
  cancelled: 0,
  unknown: 3,
  parts: 296,
  credits: '296',
  used: '263',
};

export const batchParams = z.strictObject({ username, id: rowId });

export const batchList = accountListAction({
  name: 'batch list',
  scope: 'messages:read',
  accountTokens: true,
  path: '/accounts/{username}/batches',
  summary: 'List batches, which are messages that were accepted together, newest first.',
  params: accountParams,
  item: batch,
  position: z.tuple([instant, rowId]),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: { items: [EXAMPLE], next: null } },
  command: {
    columns: ['id', 'name', 'dueAt', 'accepted', 'scheduled', 'queued', 'submitted', 'delivered', 'failed', 'unknown'],
  },
  run: async ({ database, account }, { page: { limit, after } }) => {
    const cursor = after === null ? null : { at: after[0], id: after[1] };
    const rows = await newestBatches(database, account.id, limit + 1, cursor);
    return pageOf(rows, limit, shown, ({ dueAt, batchId }): [number, bigint] => [dueAt, batchId]);
  },
});

export const batchShow = accountAction({
  name: 'batch show',
  scope: 'messages:read',
  accountTokens: true,
  method: 'GET',
  path: '/accounts/{username}/batches/{id}',
  summary: 'Show a batch, and when it will be done.',
  params: batchParams,
  output: batch.extend({ forecast: forecast.nullable().describe('Null if nothing waits any more.') }),
  countedFields: ['scheduled', 'queued', 'submitted', 'delivered', 'failed', 'resent', 'cancelled', 'unknown', 'used'],
  problems: ['not-found'],
  example: {
    params: { username: 'acme', id: '4001' },
    output: {
      ...EXAMPLE,
      forecast: {
        doneAt: '2026-11-15T12:00:10.000Z',
        perSecond: 2,
        basis: 'measured',
        startsAt: '2026-11-15T12:00:00.000Z',
        stopped: null,
      },
    },
  },
  run: async ({ database, account, now }, { params: { id } }) => {
    const found = await batchOf(database, account.id, id);
    return { ...shown(found), forecast: shownForecast(await forecastOf(database, account.username, found, now())) };
  },
});

const member = z.strictObject({
  id: rowId,
  recipient: z.string().nullable(),
  text: z.string().nullable(),
  status: z.string().nullable().describe('Null for a scheduled message.'),
  at: instant.describe('When it was sent; for a scheduled message, when it is due.'),
  updatedAt: instant.nullable(),
  resentAs: rowId.nullable().describe('The newer message that repeats this one.'),
});
export const batchMessages = accountListAction({
  name: 'batch messages',
  scope: 'messages:read',
  accountTokens: true,
  path: '/accounts/{username}/batches/{id}/messages',
  summary: 'List the messages of a batch: those that were sent, then those that are scheduled.',
  params: batchParams,
  query: z.strictObject({
    state: z.enum(BATCH_STATES).optional().describe('Only messages that are counted as this.'),
  }),
  item: member,
  position: z.tuple([z.enum(['sent', 'scheduled']), rowId]),
  problems: ['not-found'],
  example: {
    params: { username: 'acme', id: '4001' },
    query: { state: 'failed' },
    output: {
      items: [
        {
          id: '4007',
          recipient: '+27825550201',
          text: 'Your parcel has arrived.',
          status: 'UNDELIVERABLE',
          at: '2026-11-15T12:00:00.000Z',
          updatedAt: '2026-11-15T12:00:05.000Z',
          resentAs: null,
        },
      ],
      next: null,
    },
  },
  run: async (services, { params: { id }, query: { state }, page: { limit, after } }) => {
    await batchOf(services.database, services.account.id, id);
    const rows = await membersOf(services, id, state, limit + 1, after);
    const position = (row: BatchMember): MemberPosition => [row.status === null ? 'scheduled' : 'sent', row.id];
    return pageOf(rows, limit, (row) => row, position);
  },
});

/** Set based, so that the transaction is short: about 25 µs for a message. */
const CANCELLED_AT_ONCE = 5_000;

export const batchCancel = accountAction({
  name: 'batch cancel',
  scope: 'messages:send',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/batches/{id}/cancel',
  summary: 'Cancel the messages of a batch that have not left yet. The credits held for them are free again.',
  description: `One call cancels at most ${CANCELLED_AT_ONCE} messages. Repeat it while \`cancelled\` is not 0 and \`left\` is not 0; messages that are being submitted at that moment stay.`,
  params: batchParams,
  output: z.strictObject({
    cancelled: z.int(),
    creditsReturned: credits,
    left: z.int().describe('Messages of the batch that still wait.'),
  }),
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '4001' }, output: { cancelled: 20, creditsReturned: '20', left: 0 } },
  command: {
    say: ({ cancelled, creditsReturned, left }) =>
      [
        `Cancelled ${counted(cancelled, 'message')}. Credits returned: ${creditsReturned}.`,
        ...(left > 0 && cancelled > 0
          ? [`${counted(left, 'message')} of the batch still wait: run the command again.`]
          : []),
      ].join('\n'),
    refusal: ({ cancelled }) => (cancelled > 0 ? null : 'Nothing was cancelled: no message of the batch waits.'),
  },
  run: (services, { params: { id } }) =>
    domainOf(services).cancellation.cancelBatch(services.account.id, id, CANCELLED_AT_ONCE),
});

const RESENT_AT_ONCE = 1_000;

export const batchResend = accountAction({
  name: 'batch resend',
  scope: 'messages:send',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/batches/{id}/resend',
  summary: 'Send the failed messages of a batch again, as new messages of a new batch.',
  description:
    'Only messages whose status is final, UNDELIVERABLE, EXPIRED or REJECTED, and that were not sent again before. ' +
    `One call sends at most ${RESENT_AT_ONCE}. Give \`next\` of its answer as \`after\`, and \`batch\` as \`into\`, to continue.`,
  params: batchParams,
  body: z.strictObject({
    after: rowId.optional().describe('Continue after this message, which is `next` of the answer before.'),
    into: rowId.optional().describe('The batch that the new messages join, which is `batch` of the answer before.'),
  }),
  output: z.strictObject({
    resent: z.int().describe('Messages that were accepted again.'),
    refused: z.int().describe('Failed messages that cannot be sent again, such as to numbers on the blacklist.'),
    batch: rowId.nullable().describe('The batch of the new messages; null if there is at most one.'),
    next: rowId.nullable().describe('Where to continue; null if no failed message is left.'),
  }),
  status: 202,
  problems: ['not-found', 'conflict'],
  example: {
    params: { username: 'acme', id: '4001' },
    body: {},
    output: { resent: 13, refused: 0, batch: '4301', next: null },
  },
  command: {
    say: ({ resent, refused, batch: added, next }) =>
      [
        `Sent ${counted(resent, 'message')} again${added === null ? '' : ` as the batch ${added}`}. Refused: ${refused}.`,
        ...(next === null
          ? []
          : [`More are left: run the command again with --after ${next}${added === null ? '' : ` --into ${added}`}.`]),
      ].join('\n'),
    refusal: ({ resent, refused }) =>
      resent > 0
        ? null
        : refused > 0
          ? 'None of the failed messages can be sent again.'
          : 'The batch has no failed message that was not sent again.',
  },
  run: async (services, { params: { id }, body: { after = null, into = null } }) => {
    const { database, account, now } = services;
    const { name } = await batchOf(database, account.id, id);
    const found = await sentOfBatch(database, account.id, id, FAILED_STATUSES, RESENT_AT_ONCE, after);
    const open = found.filter(({ resentAs }) => resentAs === null);
    const possible = open.flatMap(({ id: own, recipient, text, status }) =>
      recipient === null || text === null ? [] : [{ id: own, recipient, text, status }],
    );
    const next = found.length === RESENT_AT_ONCE ? (found.at(-1)?.id ?? null) : null;
    if (possible.length === 0) return { resent: 0, refused: open.length, batch: into, next };
    const recipients = possible.map(({ recipient: number, text }) => ({ number, text }));
    const given = { recipients, sender: null, reference: name, sendAt: null, notAfter: null, batch: into };
    const done = await acceptingOf(services).accept(account.id, await enabledAccount(services), given);
    const refused = new Set(done.refused.map(({ index }) => index));
    const accepted = possible.filter((_, index) => !refused.has(index));
    const pairs = accepted.map((original, index) => ({
      original,
      added: { id: done.accepted[index]?.id ?? 0n, isScheduled: done.isShifted },
    }));
    await linkResent(database, account.id, pairs, now());
    return { resent: accepted.length, refused: open.length - accepted.length, batch: done.batch, next };
  },
});

export const batchExport = downloadAction({
  name: 'batch export',
  scope: 'messages:read',
  auditsReading: true,
  accountTokens: true,
  path: '/accounts/{username}/batches/{id}/messages.csv',
  summary: 'Export the messages of a batch as CSV.',
  description:
    'UTF-8 with a byte order mark. Cells that a spreadsheet would take for a formula or a number begin with an apostrophe.',
  params: batchParams,
  query: z.strictObject({
    state: z.enum(BATCH_STATES).optional().describe('Only messages that are counted as this.'),
  }),
  download: { mediaType: 'text/csv', fileName: 'batch.csv' },
  problems: ['not-found'],
  example: { params: { username: 'acme', id: '4001' } },
  run: async (services, { params: { id }, query: { state } }) => {
    await batchOf(services.database, services.account.id, id);
    return batchCsv(batchPages(services, id, state));
  },
});

export const batchActions: readonly Action[] = [
  batchList,
  batchShow,
  batchMessages,
  batchCancel,
  batchResend,
  batchExport,
];
