import { counted } from '../../base/counted.ts';
import { badField, conflict } from '../../base/problem.ts';
import { type CarrierFields, storedFields } from '../../sms/carrier-fields.ts';
import { impossibleDetail, writtenKey } from '../../sms/numbers.ts';
import { type Encoding, PARTS_MAX } from '../../sms/parts.ts';
import { type AccountKey, accountIdOf } from '../../store/caller.ts';
import type { Database, Queries, Transaction, TransactionQueries } from '../../store/database.ts';
import { takeIds } from '../accounts/ids.ts';
import { balancesOf, move } from '../accounts/ledger.ts';
import { blacklistedOf } from '../contacts/blacklist.ts';
import { batchOf, putBatch } from '../messages/batches.ts';
import { addScheduled } from '../messages/scheduled.ts';
import { addQueued } from '../messages/sent.ts';
import type { OutboundRoute } from '../outbound/choose.ts';
import { ceilingStops, divideByCountry, type Guard, type GuardRule, type Stop, tellStops } from '../outbound/guard.ts';
import { sendingRules } from '../outbound/routes.ts';
import { pooledSenders } from '../outbound/senders.ts';
import * as sql from './dispatch.sql.ts';
import { divided } from './end.ts';
import { afterQuietHours } from './quiet-hours.ts';
import { type ReadMessage, readMessages } from './read-messages.ts';
import { type ChosenWay, chooseWays, NEVER_TRIED, tryDownOf } from './ways.ts';

/**
 * Accepts messages: reads the numbers, counts the parts and holds the credits, all in one
 * transaction. Accepted messages are on disk before the request is answered.
 */
export interface NewMessages {
  /** The numbers as they were written, each with its text. */
  readonly recipients: readonly { readonly number: string; readonly text: string }[];
  readonly sender: string | null;
  readonly reference: string | null;
  /** When to send the messages; null for at once. */
  readonly sendAt: number | null;
  /** The messages expire at this time; null for the longest time that a message is tried. */
  readonly notAfter: number | null;
  /** The answer to a STOP or HELP word, which the blacklist does not hold back. */
  readonly isAnswer?: boolean;
  readonly carrierFields?: CarrierFields;
  /** The batch that the messages join. Without it, several messages are a new batch. */
  readonly batch?: bigint | null;
}
export interface AcceptedMessage {
  /** Null in a dry run. */
  readonly id: bigint | null;
  readonly recipient: string;
  readonly parts: number;
  readonly encoding: Encoding;
  /** The outbound route that it takes, with the connector and the credits that are held for it. */
  readonly routed?: { readonly route: string; readonly connector: string; readonly credits: bigint };
  /** The rule of the spend guard by which it is held, until an operator releases it. */
  readonly heldBy?: GuardRule;
}
export interface RefusedRecipient {
  /** The index of the recipient, from 0. */
  readonly index: number;
  readonly reason: 'impossible' | 'blacklisted' | 'duplicate' | 'too-long' | 'country' | 'missing-value';
  readonly detail: string;
}
export interface Acceptance {
  readonly accepted: readonly AcceptedMessage[];
  readonly refused: readonly RefusedRecipient[];
  /** The batch of the messages; null for a single message, and in a dry run of a new batch. */
  readonly batch: bigint | null;
  readonly parts: number;
  /** The credits held now; in a dry run those that would be held. */
  readonly credits: bigint;
  /** The credits that the account lacks, in a dry run. Otherwise the whole request is refused. */
  readonly creditsMissing: bigint;
  /** When the messages are due, after the quiet hours. */
  readonly dueAt: number;
  readonly isShifted: boolean;
  /** Whether the requested time has passed, so that the messages are due now. */
  readonly isPast: boolean;
  /** The characters that make a text UCS-2, at most 50. */
  readonly ucs2Characters: readonly string[];
}

export interface SendingAccount {
  readonly region: string | null;
  readonly timeZone: string | null;
  readonly quietHours: string | null;
  /** The number that an operator gave to the account, which outbound routes may name. */
  readonly tag?: number;
}

export interface AcceptingOptions {
  /** How long a message without `notAfter` is tried. */
  readonly tryForMs: number;
}

const DEFAULT_TRY_FOR_MS = 48 * 3_600_000;
const CHARACTERS_SHOWN = 50;

export function createAccepting(
  database: Database,
  now: () => number,
  { tryForMs }: AcceptingOptions = { tryForMs: DEFAULT_TRY_FOR_MS },
) {
  return {
    /** Tells what would happen, and changes nothing. */
    async dryRun(account: AccountKey, settings: SendingAccount, given: NewMessages): Promise<Acceptance> {
      const read = await readMessages(given.recipients, settings.region);
      const { free } = await balancesOf(database, account);
      const planned = await planOf(database, account, settings, { ...given, read }, now(), true);
      return acceptanceOf(planned, free, null, given.batch ?? null);
    },

    async accept(account: AccountKey, settings: SendingAccount, given: NewMessages): Promise<Acceptance> {
      const read = await readMessages(given.recipients, settings.region); // before the transaction, which others may wait for
      return database.transaction(account, async (queries) => {
        const balances = await balancesOf(queries, account);
        const planned = await planOf(queries, account, settings, { ...given, read }, now(), false);
        const { credits } = planned;
        if (credits > 0n && balances.free < credits) throw notEnough(credits, balances.free);
        const { planned: messages } = planned;
        if (given.batch) await batchOf(queries, account, given.batch);
        const first = messages.length > 0 ? await takeIds(queries, account, 'message', messages.length) : null;
        const batch = given.batch ?? (messages.length > 1 ? first : null);
        if (first !== null) await hold(queries, account, { ...given, batch }, planned, { first, tryForMs });
        await tellOf({ queries, account, at: planned.at }, planned);
        return acceptanceOf(planned, balances.free, first, batch);
      });
    },
  };
}

export type Accepting = ReturnType<typeof createAccepting>;

interface GivenMessages extends NewMessages {
  readonly read: readonly ReadMessage[];
}
interface PossibleMessage extends ReadMessage {
  readonly recipient: string;
}
interface PlannedMessage extends PossibleMessage, ChosenWay {
  /** Why the spend guard holds it; null if it does not. */
  readonly stop: Stop | null;
}

interface Plan {
  readonly at: number;
  readonly dueAt: number;
  readonly isShifted: boolean;
  readonly isPast: boolean;
  readonly planned: readonly PlannedMessage[];
  readonly refused: readonly RefusedRecipient[];
  readonly parts: number;
  readonly credits: bigint;
  /** Recipients that the spend guard refused. */
  readonly stopped: readonly Stop[];
}

/** Works out what a request comes to, before anything is written. */
async function planOf(
  queries: Queries,
  account: AccountKey,
  settings: SendingAccount,
  given: GivenMessages,
  at: number,
  isDryRun: boolean,
): Promise<Plan> {
  if (given.sender?.trim() === '') throw badField('sender', 'expected a number or a name, not only blanks');
  checkSendAt(given.sendAt, at);
  const wanted = Math.max(given.sendAt ?? at, at);
  const dueAt = afterQuietHours(wanted, settings.quietHours, settings.timeZone);
  if (given.notAfter !== null && given.notAfter <= dueAt) {
    throw badField('notAfter', 'the messages are due later than that');
  }
  const read = await readRecipients(queries, account, settings.region, given);
  const { routes, guard } = await sendingRules(queries, account);
  // An answer to STOP or HELP goes to somebody who wrote first, once a day.
  const limits = given.isAnswer ? null : guard;
  const { possible, refused, stopped } = withinCountries(read, limits, settings.region);
  const ways = await waysOf(queries, account, settings, possible, {
    routes,
    at,
    dueAt,
    isDryRun,
    sender: given.sender,
  });
  const routed = possible.map((message, index) => ({ ...message, ...(ways[index] as ChosenWay) }));
  const stops = limits ? await ceilingStops({ queries, account, at }, limits, routed, isDryRun) : [];
  const planned = routed.map((message, index) => ({ ...message, stop: stops[index] ?? null }));
  const parts = planned.reduce((sum, message) => sum + message.parts, 0);
  const credits = planned.reduce((sum, message) => sum + message.credits, 0n);
  const isPast = given.sendAt !== null && given.sendAt < at;
  return { at, dueAt, planned, refused, stopped, parts, credits, isShifted: dueAt !== wanted, isPast };
}

interface ReadRecipients {
  readonly possible: readonly (PossibleMessage & { readonly index: number })[];
  readonly refused: readonly RefusedRecipient[];
}

/** Refuses the recipients in countries that the guard of the account does not allow. */
function withinCountries({ possible, refused }: ReadRecipients, guard: Guard | null, region: string | null) {
  const { allowed, stopped } = divideByCountry(guard, region, possible);
  const country = 'country' as const;
  const others = stopped.map(({ message: { index }, stop: { detail } }) => ({ index, reason: country, detail }));
  return {
    possible: allowed,
    refused: [...refused, ...others].sort((one, other) => one.index - other.index),
    stopped: stopped.map(({ stop }) => stop),
  };
}

/** Tells operators and webhooks at once what the spend guard has stopped. */
async function tellOf(transaction: Transaction, { planned, stopped }: Plan): Promise<void> {
  await tellStops(transaction, 'refused', stopped);
  await tellStops(
    transaction,
    'held',
    planned.flatMap(({ stop }) => (stop ? [stop] : [])),
  );
}

/** The way of each message, by the outbound routes of the installation. */
async function waysOf(
  queries: Queries,
  account: AccountKey,
  { tag, timeZone }: SendingAccount,
  messages: readonly PossibleMessage[],
  when: {
    readonly routes: readonly OutboundRoute[];
    readonly at: number;
    readonly dueAt: number;
    readonly isDryRun: boolean;
    readonly sender: string | null;
  },
): Promise<ChosenWay[]> {
  const id = accountIdOf(account);
  if (id === undefined) throw new Error('the account of a request does not exist');
  const { routes, at, dueAt, isDryRun, sender } = when;
  const tryDown = isDryRun ? NEVER_TRIED : tryDownOf(queries, at);
  const asking = { account: id, tag: tag ?? null, sender, timeZone, dueAt };
  const ways = await chooseWays(queries, routes, asking, messages, { at, tryDown });
  if (sender !== null) return ways;
  const wanted = ways.map(({ route }, index) => ({ route, recipient: (messages[index] as PossibleMessage).recipient }));
  const senders = await pooledSenders(queries, routes, wanted, { account: id, at, keeps: !isDryRun });
  return ways.map((way, index) => ({ ...way, sender: senders[index] ?? null }));
}

/**
 * Clocks differ and requests may wait, so a time in the recent past means now. An older time is a
 * mistake, such as a wrong year.
 */
export const PAST_MAX_MS = 24 * 3_600_000;

function checkSendAt(sendAt: number | null, at: number): void {
  if (sendAt !== null && sendAt < at - PAST_MAX_MS) {
    throw badField('sendAt', 'this is more than 24 hours in the past; leave it out to send now');
  }
}

/** Writes the messages and holds their credits. */
async function hold(
  queries: TransactionQueries,
  account: AccountKey,
  given: NewMessages,
  { at, dueAt, planned, refused, parts, credits }: Plan,
  { first, tryForMs }: { readonly first: bigint; readonly tryForMs: number },
): Promise<void> {
  const isScheduled = dueAt > at;
  const { batch = null } = given;
  if (batch !== null) {
    const counts = { accepted: planned.length, refused: refused.length, parts, credits };
    await putBatch({ queries, account, at }, { batch, name: given.reference, dueAt, ...counts });
  }
  const messages = planned.map((message, index) => ({ ...message, id: first + BigInt(index) }));
  const { reference, notAfter, isAnswer = false } = given;
  const carrierFields = storedFields(given.carrierFields ?? {});
  // What the guard holds is not in the schedule, where its customer would expect it to go out.
  const [held, going] = divided(messages, ({ stop }) => stop !== null);
  const queued = isScheduled ? held : messages;
  if (isScheduled && going.length > 0) {
    const rows = going.map(({ id, recipient, text, credits }) => {
      const key = writtenKey(recipient);
      const times = { scheduledAt: dueAt, createdAt: at };
      return { id, reference, recipient, text, key, heldParts: Number(credits), batch, ...times };
    });
    await addScheduled(queries, account, rows);
  }
  if (queued.length > 0) {
    const rows = queued.map(({ id, recipient, text }) => ({ id, reference, recipient, text, batch }));
    await addQueued({ queries, account, at }, rows);
  }
  const times = { dueAt, isAnswer: isAnswer ? 1 : 0, notAfter, expiresAt: notAfter ?? dueAt + tryForMs, carrierFields };
  await queries.runAll(
    sql.add,
    messages.map(({ id, recipient, parts, credits, sender, way, route, price, stop }) => ({
      ...times,
      state: stop ? ('held' as const) : ('waiting' as const),
      reason: stop && `${stop.rule}: ${stop.detail}`,
      isScheduled: isScheduled && !stop ? 1 : 0,
      account,
      id,
      recipient,
      held: credits,
      parts,
      sender,
      way,
      route,
      price,
      batch,
    })),
  );
  for (const way of new Set(going.map((each) => each.way))) await queries.run(sql.raiseWork, { account, way, dueAt });
  const sides = { kind: 'hold', from: 'free', to: 'held' } as const;
  await move(
    { queries, account, at },
    messages.map(({ id, credits: amount }) => ({ ...sides, amount, messageId: id })),
  );
}

/** Plans one message for each recipient. Recipients that cannot get a message are refused. */
async function readRecipients(
  queries: Queries,
  account: AccountKey,
  region: string | null,
  { read: messages, isAnswer = false }: GivenMessages,
) {
  const refused: RefusedRecipient[] = [];
  const possible = new Map<string, PossibleMessage & { readonly index: number }>();
  const refuse = (index: number, reason: RefusedRecipient['reason'], detail: string) =>
    refused.push({ index, reason, detail });
  for (const [index, message] of messages.entries()) {
    const { number, recipient, parts } = message;
    if (recipient === null) refuse(index, 'impossible', impossibleDetail(number, region));
    else if (possible.has(recipient)) refuse(index, 'duplicate', 'the number is given more than once');
    else if (parts > PARTS_MAX) refuse(index, 'too-long', `the text needs more than ${PARTS_MAX} parts`);
    else possible.set(recipient, { ...message, recipient, index });
  }
  const blacklisted = await blacklistedOf(queries, account, isAnswer ? [] : [...possible.keys()], region);
  for (const number of blacklisted) {
    const message = possible.get(number);
    if (message) refuse(message.index, 'blacklisted', 'the number is on the blacklist');
    possible.delete(number);
  }
  return { possible: [...possible.values()], refused: refused.sort((one, other) => one.index - other.index) };
}

const notEnough = (needed: bigint, free: bigint) =>
  conflict(
    `The messages cost ${counted(needed, 'credit')}. Free: ${free}. Missing: ${needed - (free < 0n ? 0n : free)}.`,
  );

const routedOf = ({ route, way, credits, stop }: PlannedMessage): Pick<AcceptedMessage, 'routed' | 'heldBy'> => ({
  ...(route === null ? {} : { routed: { route, connector: way, credits } }),
  ...(stop && { heldBy: stop.rule }),
});

function acceptanceOf(
  { planned, refused, parts, credits, dueAt, isShifted, isPast }: Plan,
  free: bigint,
  firstId: bigint | null,
  batch: bigint | null,
): Acceptance {
  const characters = new Set<string>();
  for (const { beyondGsm7 } of planned) {
    if (characters.size < CHARACTERS_SHOWN) for (const each of beyondGsm7) characters.add(each);
  }
  const available = free < 0n ? 0n : free;
  return {
    accepted: planned.map((message, index) => ({
      id: firstId === null ? null : firstId + BigInt(index),
      recipient: message.recipient,
      parts: message.parts,
      encoding: message.encoding,
      ...routedOf(message),
    })),
    refused,
    batch,
    parts,
    credits,
    creditsMissing: firstId !== null || available >= credits ? 0n : credits - available,
    dueAt,
    isShifted,
    isPast,
    ucs2Characters: [...characters].slice(0, CHARACTERS_SHOWN),
  };
}
