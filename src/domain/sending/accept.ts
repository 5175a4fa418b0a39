import { createPauses } from '../../base/event-loop.ts';
import { badField, conflict } from '../../base/problem.ts';
import { e164, exponentFault, writtenKey } from '../../sms/numbers.ts';
import { charactersBeyondGsm7, type Encoding, PARTS_MAX, splitText } from '../../sms/parts.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { takeIds } from '../accounts/ids.ts';
import { balancesOf, move } from '../accounts/ledger.ts';
import { blacklistedOf } from '../contacts/blacklist.ts';
import { addScheduled } from '../messages/scheduled.ts';
import { addQueued } from '../messages/sent.ts';
import * as sql from './dispatch.sql.ts';
import { afterQuietHours } from './quiet-hours.ts';

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
}
export interface AcceptedMessage {
  /** Null in a dry run. */
  readonly id: bigint | null;
  readonly recipient: string;
  readonly parts: number;
  readonly encoding: Encoding;
}
export interface RefusedRecipient {
  /** The index of the recipient, from 0. */
  readonly index: number;
  readonly reason: 'impossible' | 'blacklisted' | 'duplicate' | 'too-long';
  readonly detail: string;
}
export interface Acceptance {
  readonly accepted: readonly AcceptedMessage[];
  readonly refused: readonly RefusedRecipient[];
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
      const planned = await planOf(database, account, settings, { ...given, read }, now());
      const { free } = await balancesOf(database, account);
      return acceptanceOf(planned, free, null);
    },

    async accept(account: AccountKey, settings: SendingAccount, given: NewMessages): Promise<Acceptance> {
      const read = await readMessages(given.recipients, settings.region); // before the transaction, which others may wait for
      return database.transaction(account, async (queries) => {
        const planned = await planOf(queries, account, settings, { ...given, read }, now());
        const balances = await balancesOf(queries, account);
        const credits = BigInt(planned.parts);
        if (planned.parts > 0 && balances.free < credits) throw notEnough(credits, balances.free);
        const first = planned.planned.length > 0 ? await hold(queries, account, given, planned, tryForMs) : null;
        return acceptanceOf(planned, balances.free, first);
      });
    },
  };
}

export type Accepting = ReturnType<typeof createAccepting>;

interface MeasuredText {
  readonly text: string;
  readonly parts: number;
  readonly encoding: Encoding;
  /** The characters that make the text UCS-2. */
  readonly beyondGsm7: readonly string[];
}
interface ReadMessage extends MeasuredText {
  readonly number: string;
  /** The number in E.164; null if the number cannot exist. */
  readonly recipient: string | null;
}
interface GivenMessages extends NewMessages {
  readonly read: readonly ReadMessage[];
}
interface PlannedMessage extends ReadMessage {
  readonly recipient: string;
}

/**
 * Other calls are served after each step: reading 1,000 numbers takes 25 ms, and a text of 10,000
 * characters takes 4 ms.
 */
const STEP_MS = 10;

async function readMessages(recipients: NewMessages['recipients'], region: string | null): Promise<ReadMessage[]> {
  const pause = createPauses(STEP_MS);
  const texts = new Map<string, MeasuredText>();
  const read: ReadMessage[] = [];
  for (const { number, text } of recipients) {
    const measured = texts.get(text) ?? measure(text);
    texts.set(text, measured);
    read.push({ ...measured, number, recipient: e164(number, region) });
    await pause();
  }
  return read;
}

function measure(text: string): MeasuredText {
  const { encoding, parts } = splitText(text);
  return { text, encoding, parts: parts.length, beyondGsm7: encoding === 'gsm7' ? [] : charactersBeyondGsm7(text) };
}
interface Plan {
  readonly at: number;
  readonly dueAt: number;
  readonly isShifted: boolean;
  readonly isPast: boolean;
  readonly planned: readonly PlannedMessage[];
  readonly refused: readonly RefusedRecipient[];
  readonly parts: number;
}

/** Works out what a request comes to, before anything is written. */
async function planOf(
  queries: Queries,
  account: AccountKey,
  settings: SendingAccount,
  given: GivenMessages,
  at: number,
): Promise<Plan> {
  if (given.sender?.trim() === '') throw badField('sender', 'expected a number or a name, not only blanks');
  checkSendAt(given.sendAt, at);
  const wanted = Math.max(given.sendAt ?? at, at);
  const dueAt = afterQuietHours(wanted, settings.quietHours, settings.timeZone);
  if (given.notAfter !== null && given.notAfter <= dueAt) {
    throw badField('notAfter', 'the messages are due later than that');
  }
  const { planned, refused } = await readRecipients(queries, account, settings.region, given);
  const parts = planned.reduce((sum, message) => sum + message.parts, 0);
  const isPast = given.sendAt !== null && given.sendAt < at;
  return { at, dueAt, planned, refused, parts, isShifted: dueAt !== wanted, isPast };
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

/** Writes the messages and holds their credits. Returns the first of their ids. */
async function hold(
  queries: TransactionQueries,
  account: AccountKey,
  given: NewMessages,
  { at, dueAt, planned }: Plan,
  tryForMs: number,
): Promise<bigint> {
  const first = await takeIds(queries, account, 'message', planned.length);
  const isScheduled = dueAt > at;
  const messages = planned.map((message, index) => ({ ...message, id: first + BigInt(index) }));
  const { reference, sender, notAfter, isAnswer = false } = given;
  if (isScheduled) {
    const rows = messages.map(({ id, recipient, text, parts }) => {
      const key = writtenKey(recipient);
      return { id, reference, recipient, text, key, heldParts: parts, scheduledAt: dueAt, createdAt: at };
    });
    await addScheduled(queries, account, rows);
  } else {
    const rows = messages.map(({ id, recipient, text }) => ({ id, reference, recipient, text }));
    await addQueued({ queries, account, at }, rows);
  }
  const expiresAt = notAfter ?? dueAt + tryForMs;
  const times = { dueAt, isScheduled: isScheduled ? 1 : 0, sender, isAnswer: isAnswer ? 1 : 0, notAfter, expiresAt };
  await queries.runAll(
    sql.add,
    messages.map(({ id, recipient, parts }) => ({ account, id, recipient, held: BigInt(parts), parts, ...times })),
  );
  await queries.run(sql.raiseWork, { account, dueAt });
  const sides = { kind: 'hold', from: 'free', to: 'held' } as const;
  await move(
    { queries, account, at },
    messages.map(({ id, parts }) => ({ ...sides, amount: BigInt(parts), messageId: id })),
  );
  return first;
}

/** Plans one message for each recipient. Recipients that cannot get a message are refused. */
async function readRecipients(
  queries: Queries,
  account: AccountKey,
  region: string | null,
  { read: messages, isAnswer = false }: GivenMessages,
) {
  const refused: RefusedRecipient[] = [];
  const possible = new Map<string, PlannedMessage & { readonly index: number }>();
  const refuse = (index: number, reason: RefusedRecipient['reason'], detail: string) =>
    refused.push({ index, reason, detail });
  for (const [index, message] of messages.entries()) {
    const { number, recipient, parts } = message;
    if (recipient === null) refuse(index, 'impossible', impossibleDetail(number));
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
  return { planned: [...possible.values()], refused: refused.sort((one, other) => one.index - other.index) };
}

const impossibleDetail = (number: string): string =>
  exponentFault(number)?.detail ?? 'this is not a possible phone number';

const notEnough = (needed: bigint, free: bigint) =>
  conflict(
    `The messages cost ${needed} credits and ${free} are free: ${needed - (free < 0n ? 0n : free)} are missing.`,
  );

function acceptanceOf(
  { planned, refused, parts, dueAt, isShifted, isPast }: Plan,
  free: bigint,
  firstId: bigint | null,
): Acceptance {
  const characters = new Set<string>();
  for (const { beyondGsm7 } of planned) {
    if (characters.size < CHARACTERS_SHOWN) for (const each of beyondGsm7) characters.add(each);
  }
  const credits = BigInt(parts);
  const available = free < 0n ? 0n : free;
  return {
    accepted: planned.map(({ recipient, encoding, parts: own }, index) => ({
      id: firstId === null ? null : firstId + BigInt(index),
      recipient,
      parts: own,
      encoding,
    })),
    refused,
    parts,
    credits,
    creditsMissing: firstId !== null || available >= credits ? 0n : credits - available,
    dueAt,
    isShifted,
    isPast,
    ucs2Characters: [...characters].slice(0, CHARACTERS_SHOWN),
  };
}
