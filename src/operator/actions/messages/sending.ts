import { z } from 'zod';
import { badField, conflict } from '../../../base/problem.ts';
import { accountRecord, requireEnabled } from '../../../domain/accounts/accounts.ts';
import { GUARD_RULES } from '../../../domain/outbound/guard.ts';
import {
  type Acceptance,
  createAccepting,
  type NewMessages,
  type SendingAccount,
} from '../../../domain/sending/accept.ts';
import { DECISIONS, decide } from '../../../domain/sending/decide.ts';
import { linkResent, requireEnded } from '../../../domain/sending/resend.ts';
import { activateSchedule } from '../../../domain/sending/schedule.ts';
import type { CarrierFields } from '../../../sms/carrier-fields.ts';
import { FIELD_NAME_MAX } from '../../../sms/fields.ts';
import { type AccountServices, type Action, accountAction, withStatus } from '../../action.ts';
import { mayRead } from '../../actor.ts';
import { domainOf } from '../../domain.ts';
import { type FilledMessages, fillMessages } from '../../filled-messages.ts';
import { accountParams, credits, formerName, instant, line, messageParams, queryFlag, rowId } from '../../schemas.ts';
import { carrierFields, requireCarrierFields } from './carrier-fields.ts';

/** Messages are accepted, sent again, decided about where the outcome is unknown, and activated. */

// One request is one transaction, which must not delay the others for long.
const RECIPIENTS_MAX = 1_000;
const TEXT_LENGTH_MAX = 10_000;
const VALUE_LENGTH_MAX = 500;
// Carriers refuse a sender that has neither a letter nor a digit.
const SENDER = /^(?:\+?\d{1,15}|(?=.*[A-Za-z0-9])[A-Za-z0-9 ._&-]{1,11})$/;

const acceptance = z.strictObject({
  accepted: z
    .array(
      z.strictObject({
        id: rowId.nullable().describe('Null in a dry run.'),
        recipient: z
          .string()
          .nullable()
          .describe('The number in international form; null if the token may not read the message that is sent again.'),
        parts: z
          .int()
          .describe(
            'Number of SMS that the text needs. Each costs one credit, unless an outbound route has another price.',
          ),
        encoding: z.enum(['gsm7', 'ucs2']),
        text: z
          .string()
          .optional()
          .describe('In a dry run with `template`: the text with the values of this recipient.'),
        routed: z
          .strictObject({ route: z.string(), connector: z.string(), credits })
          .optional()
          .describe('The outbound route that it takes, with its connector now and the credits that are held.'),
        heldBy: z
          .enum(GUARD_RULES)
          .optional()
          .describe('The rule of the spend guard by which it is held, until an operator releases or refuses it.'),
      }),
    )
    .describe('In the order of the recipients.'),
  refused: z.array(
    z.strictObject({
      index: z.int().describe('Index of the recipient, from 0.'),
      reason: z.enum(['impossible', 'blacklisted', 'duplicate', 'too-long', 'country', 'missing-value']),
      detail: z.string(),
    }),
  ),
  batch: rowId
    .nullable()
    .describe('The batch of the messages; null for a single message, and in a dry run of a new batch.'),
  parts: z.int(),
  credits: credits.describe('Credits held for the accepted messages; in a dry run, those that would be held.'),
  creditsMissing: credits.describe('In a dry run: credits that the account lacks.'),
  dueAt: instant.describe('When the messages are due, with the quiet hours of the account taken into account.'),
  isShifted: z.boolean().describe('Whether quiet hours have delayed the messages.'),
  isPast: z.boolean().describe('Whether `sendAt` has passed already, so that the messages are due now.'),
  ucs2Characters: z.array(z.string()).describe('The characters that force the encoding UCS-2.'),
});
const shown = (result: Acceptance): z.output<typeof acceptance> => ({
  ...result,
  accepted: result.accepted.map((each) => ({ ...each })),
  refused: result.refused.map((each) => ({ ...each })),
  ucs2Characters: [...result.ucs2Characters],
});

/** Leaves out what reveals the number or a part of the text. */
const withoutContent = (result: z.output<typeof acceptance>): z.output<typeof acceptance> => ({
  ...result,
  accepted: result.accepted.map((each) => ({ ...each, recipient: null })),
  ucs2Characters: [],
});

const ACCEPTED = {
  accepted: [{ id: '4001', recipient: '+27825550201', parts: 1, encoding: 'gsm7' }],
  refused: [],
  batch: null,
  parts: 1,
  credits: '1',
  creditsMissing: '0',
  dueAt: '2026-11-15T12:00:00.000Z',
  isShifted: false,
  isPast: false,
  ucs2Characters: [],
};

const text = z.string().min(1).max(TEXT_LENGTH_MAX);
const sendBody = z.strictObject({
  recipients: z
    .array(line(200).min(1))
    .min(1)
    .max(RECIPIENTS_MAX)
    .describe('Phone numbers, in any notation that the region of the account allows.'),
  text: text.optional().describe('The text for all recipients.'),
  texts: z.array(text).max(RECIPIENTS_MAX).optional().describe('Instead of `text`: one text for each recipient.'),
  template: text
    .optional()
    .describe('Instead of `text`: a text with fields such as `((first name))`, which is filled for each recipient.'),
  values: z
    .array(z.record(z.string().max(FIELD_NAME_MAX), z.string().max(VALUE_LENGTH_MAX)))
    .max(RECIPIENTS_MAX)
    .optional()
    .describe('For `template`: an object for each recipient with the values of its fields.'),
  fromContacts: z
    .boolean()
    .optional()
    .describe(
      'For `template`: values that are not given come from the contact with this number: first name, last name, full name, mobile.',
    ),
  sendAt: instant
    .optional()
    .describe(
      'When to send the messages; at once if it is not given. A time that has passed means now, but more than 24 hours in the past is refused.',
    ),
  notAfter: instant.optional().describe('The messages are not sent after this time, and become EXPIRED.'),
  reference: line(200).min(1).nullable().optional().describe('Your own reference, which need not be unique.'),
  sender: line(16)
    .regex(SENDER, 'expected a number, or at most 11 letters and digits')
    .nullable()
    .optional()
    .describe('Number or name that the recipient sees; the default of the connector if it is not given.'),
  batch: rowId
    .optional()
    .describe(
      'The batch that the messages join, which an earlier answer named. Without it, several messages are a new batch.',
    ),
  carrierFields: carrierFields
    .optional()
    .describe("Fields that a carrier demands, such as India's `templateId`, besides those of the account."),
});

/** What sending needs to know about an account. */
async function sendingAccount(services: AccountServices): Promise<SendingAccount & { disabledAt: number | null }> {
  const { timeZone, quietHours, disabledAt, tag } = await accountRecord(services.database, services.account.username);
  return { timeZone, quietHours, disabledAt, tag, region: await domainOf(services).region(services.account.id) };
}

export async function enabledAccount(services: AccountServices): Promise<SendingAccount> {
  const account = await sendingAccount(services);
  requireEnabled(account);
  return account;
}

export const acceptingOf = ({ database, now, tryForMs }: AccountServices) =>
  createAccepting(database, now, { tryForMs });

type SendBody = z.output<typeof sendBody>;

const common = (body: SendBody) => ({
  sendAt: body.sendAt ?? null,
  notAfter: body.notAfter ?? null,
  reference: body.reference ?? null,
  sender: body.sender ?? null,
  batch: body.batch ?? null,
  carrierFields: body.carrierFields ?? {},
});

/** What is accepted, and the recipients of a template that lack a value. */
interface GivenMessages {
  readonly messages: NewMessages & { readonly carrierFields: CarrierFields };
  readonly filled: FilledMessages | null;
}

async function readGiven(services: AccountServices, body: SendBody): Promise<GivenMessages> {
  const { template, values, fromContacts, recipients } = body;
  if (template === undefined) {
    if (values || fromContacts) throw badField('template', 'expected a text with fields for the values');
    return { messages: readMessages(body), filled: null };
  }
  if (body.text !== undefined || body.texts) throw badField('template', 'expected one of text, texts and template');
  const filled = await fillMessages(services, { recipients, template, values, fromContacts });
  return { messages: { ...common(body), recipients: filled.recipients }, filled };
}

/** The result for the recipients of the request, with those that lack a value. */
function withRefused(
  result: Acceptance,
  filled: FilledMessages | null,
  isDryRun: boolean,
): z.output<typeof acceptance> {
  if (!filled) return shown(result);
  const others = result.refused.map((each) => ({ ...each, index: filled.indexes[each.index] ?? each.index }));
  const refused = [...filled.refused, ...others].sort((one, other) => one.index - other.index);
  const isRefused = new Set(result.refused.map(({ index }) => index));
  const texts = filled.recipients.filter((_, index) => !isRefused.has(index)).map(({ text: own }) => own);
  const { accepted, ...rest } = shown(result);
  const told = isDryRun ? accepted.map((each, index) => ({ ...each, text: texts[index] ?? '' })) : accepted;
  return { ...rest, accepted: told, refused };
}

function readMessages(body: SendBody): GivenMessages['messages'] {
  const { recipients, texts } = body;
  if ((body.text === undefined) === (texts === undefined))
    throw badField('text', 'expected either text or texts, or template');
  if (texts && texts.length !== recipients.length) throw badField('texts', 'expected one text for each recipient');
  const given = recipients.map((number, index) => ({ number, text: texts?.[index] ?? body.text ?? '' }));
  return { ...common(body), recipients: given };
}

/** The command that helps if local numbers were refused because there is no region. */
const regionHint = (refused: readonly { readonly detail: string }[]): string[] =>
  refused.some(({ detail }) => detail.includes('set the region'))
    ? ['Set the region with: columba account change USERNAME --region ZA']
    : [];

const refusedLine = ({ index, detail }: Acceptance['refused'][number]): string => `recipient ${index + 1}: ${detail}`;

export const messageSend = accountAction({
  name: 'message send',
  scope: 'messages:send',
  needs: {
    says: 'With `fromContacts` this also needs the scope contacts.',
    scopes: ({ body }) => (body.fromContacts ? ['contacts'] : []),
  },
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/messages',
  summary: 'Send messages, now or later.',
  description:
    'When the answer arrives, the messages are on disk and their credits are held. Recipients that cannot get a message are refused one by one, ' +
    'and the others are sent. A `template` is filled for each recipient, and a recipient that lacks a value is refused with its name. If the credits do not suffice, the whole request is refused. A dry run reports parts, cost and refusals, and changes nothing.',
  params: accountParams,
  query: z.strictObject({ dry_run: queryFlag.describe('Only report what would happen.') }),
  body: sendBody,
  output: acceptance,
  status: 202,
  otherStatuses: [200],
  problems: ['not-found', 'conflict'],
  example: {
    params: { username: 'acme' },
    body: { recipients: ['+27825550201'], text: 'Your parcel has arrived.', reference: 'order-17' },
    output: ACCEPTED,
  },
  readsOnly: ({ query }) => query.dry_run,
  target: ({ params }, { accepted }) => `${params.username}/${accepted[0]?.id ?? '-'}+${accepted.length}`,
  command: {
    texts: ['texts'],
    arguments: ['recipients'],
    refusal: ({ accepted, refused }) =>
      accepted.length > 0
        ? null
        : ['No recipient can get the message.', ...refused.map(refusedLine), ...regionHint(refused)].join('\n'),
    say: ({ accepted, refused, parts, creditsMissing, isPast }, { query }) =>
      [
        `${query.dry_run ? 'Would be accepted' : 'Accepted'}: ${accepted.length}. Parts: ${parts}. Refused: ${refused.length}.`,
        ...accepted
          .filter(({ id, heldBy }) => id !== null || heldBy)
          .map(({ id, recipient, heldBy }) =>
            [`  ${id ?? ''}`, recipient, ...(heldBy ? [`held by the spend guard: ${heldBy}`] : [])].join('  '),
          ),
        ...refused.map((each) => `  ${refusedLine(each)}`),
        ...(isPast ? ['  sendAt has passed already, so the messages are due now'] : []),
        ...(creditsMissing > 0n ? [`  credits are missing: ${creditsMissing}`] : []),
      ].join('\n'),
  },
  run: async (services, { query, body }) => {
    const { messages: given, filled } = await readGiven(services, body);
    await requireCarrierFields(services, given.carrierFields);
    const settings = await enabledAccount(services);
    const accepting = acceptingOf(services);
    if (query.dry_run) {
      return withStatus(200, withRefused(await accepting.dryRun(services.account.id, settings, given), filled, true));
    }
    return withRefused(await accepting.accept(services.account.id, settings, given), filled, false);
  },
});

export const messageResend = accountAction({
  name: 'message resend',
  scope: 'messages:send',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/messages/{id}/resend',
  summary: 'Send a message again, as a new message.',
  description:
    'The histories of both messages name each other. A message that is still on its way is refused, because the recipient would get it twice.',
  params: messageParams,
  output: acceptance,
  status: 202,
  problems: ['not-found', 'conflict'],
  example: { params: { username: 'acme', id: '2001' }, output: ACCEPTED },
  command: { say: ({ accepted }) => `Accepted as ${accepted[0]?.id}.` },
  run: async (services, { params: { id } }, actor) => {
    const { recipient, text, reference, status } = await domainOf(services).sent.show(services.account.id, id);
    if (recipient === null || text === null) throw conflict('The message has no recipient or no text.');
    await requireEnded(services.database, services.account.id, { id, status });
    const given = { recipients: [{ number: recipient, text }], sender: null, reference, sendAt: null, notAfter: null };
    const result = await acceptingOf(services).accept(services.account.id, await enabledAccount(services), given);
    const [refused] = result.refused;
    if (refused) throw conflict(`The message cannot be sent again: ${refused.detail}.`);
    const added = { id: result.accepted[0]?.id ?? 0n, isScheduled: result.isShifted };
    await linkResent(services.database, services.account.id, [{ original: { id, status }, added }], services.now());
    return mayRead(actor) ? shown(result) : withoutContent(shown(result));
  },
});

export const messageDecide = accountAction({
  name: 'message decide',
  scope: 'gateway',
  needs: {
    says: 'With `submit-again` this also needs the scope messages:send.',
    scopes: ({ body }) => (body.decision === 'submit-again' ? ['messages:send'] : []),
  },
  method: 'POST',
  path: '/accounts/{username}/messages/{id}/decide',
  summary: 'Decide about a message of which nobody knows whether the carrier has it.',
  description:
    '`submitted`: the carrier has what it did not answer; a part that it refused still goes out. ' +
    '`not-submitted`: it has not, and those credits are free again. ' +
    '`submit-again`: it goes out once more, which may be the second time.',
  params: messageParams,
  body: z.strictObject({
    decision: z.enum(DECISIONS).describe('What you know about the message, or what to do with it.'),
  }),
  output: z.strictObject({ id: rowId, decision: z.enum(DECISIONS) }),
  problems: ['not-found', 'conflict'],
  example: {
    params: { username: 'acme', id: '2001' },
    body: { decision: 'submitted' },
    output: { id: '2001', decision: 'submitted' },
  },
  command: { arguments: ['decision'], say: ({ id, decision }) => `The message ${id} is decided: ${decision}.` },
  run: async ({ database, now, tryForMs, account }, { params: { id }, body: { decision } }) => {
    await decide(database, account.id, id, decision, { at: now(), tryForMs });
    return { id, decision };
  },
});

export const messageActivate = accountAction({
  name: 'message activate',
  scope: 'gateway',
  needs: { says: 'This also needs the scope messages:send.', scopes: () => ['messages:send'] },
  method: 'POST',
  path: '/accounts/{username}/messages/activate',
  formerly: { name: 'message arm', path: '/accounts/{username}/messages/arm' },
  summary: 'Activate scheduled messages that were imported: from now on they are sent when they are due.',
  description:
    'An imported schedule is not sent by itself, because the server that it came from may still send it. ' +
    'Activate it when that server does not have it any more. Activation again changes nothing.',
  params: accountParams,
  body: z.strictObject({
    ids: z.array(rowId).min(1).max(RECIPIENTS_MAX).optional().describe('Only these messages; all if it is not given.'),
  }),
  output: z.strictObject({
    activated: z.int().describe('Messages that are active now and were not before.'),
    armed: formerName(z.int(), 'activated'),
    refused: z.array(z.strictObject({ id: rowId, reason: z.enum(['impossible', 'empty', 'sent']) })),
  }),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, body: {}, output: { activated: 2, armed: 2, refused: [] } },
  command: { say: ({ activated, refused }) => `Activated: ${activated}. Not activated: ${refused.length}.` },
  run: async (services, { body: { ids } }) => {
    const settings = await sendingAccount(services);
    const wanted = ids ? new Set(ids) : null;
    const { database, account, tryForMs } = services;
    const { activated, refused } = await activateSchedule(database, account.id, settings, tryForMs, wanted);
    return { activated, armed: activated, refused: refused.map((each) => ({ ...each })) };
  },
});

export const sendingActions: readonly Action[] = [messageSend, messageResend, messageDecide, messageActivate];
