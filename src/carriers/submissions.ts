import { createHash } from 'node:crypto';
import { backOffMs, spread } from '../base/back-off.ts';
import type { Refusal } from '../domain/outbound/choose.ts';
import { WHOLE } from '../domain/sending/attempts.ts';
import type { ClaimedMessage } from '../domain/sending/claim.ts';
import type { Outcome, PartResult } from '../domain/sending/settle.ts';
import { encodePart, partHeader, splitText, WIDE_REFERENCE_SIZE, widePartHeader } from '../sms/parts.ts';
import { NOT_TOLD, type PartsAs, type Submission, type SubmitResult, WITHHELD } from './connector.ts';

/** Turns a claimed message into submissions of its parts, and their results into its outcome. */

export const isAttemptId = (id: string): boolean => /^[0-9a-f]{32}$/.test(id);

const PRIORITY_MAX = 3;

export function submissionsOf(message: ClaimedMessage, partsAs: PartsAs = 'udh8'): Submission[] {
  const { sender, recipient, text, notAfter, partsTotal, fields = {}, attempt: attemptNumber } = message;
  const { encoding, parts, header } = layoutOf(text, partsTotal, partsAs);
  const reference = partsTotal > 1 ? referenceOf(message, partsAs === 'udh8' ? 8 : 16) : 0;
  const priority = Math.min(Math.max(message.priority, 0), PRIORITY_MAX);
  return message.parts.map(({ number, attemptId }) => {
    const isWhole = number === WHOLE;
    const part = isWhole ? text : (parts[number - 1] ?? '');
    const place = partsTotal > 1 && !isWhole ? { reference, total: partsTotal, number } : null;
    const udh = place && header(place.reference, place.total, place.number);
    const partKey = `${message.account}/${message.id}/${number}`;
    const content = { body: encodePart(part, encoding), text: part, encoding, udh, place, isWhole };
    const about = { attemptId, attemptNumber, partKey, fields };
    return { ...about, sender, recipient, ...content, priority, validUntil: notAfter };
  });
}

/** The parts as the connector marks them. */
function layoutOf(text: string, partsTotal: number, partsAs: PartsAs) {
  if (partsAs === 'udh16' && partsTotal > 1) {
    const wide = splitText(text, WIDE_REFERENCE_SIZE);
    // A wider header leaves room for less text. Where that takes another part, which nobody has
    // paid for, the usual header is used.
    if (wide.parts.length === partsTotal) return { ...wide, header: widePartHeader };
  }
  return { ...splitText(text), header: partsAs === 'bare' ? () => null : partHeader };
}

/**
 * The reference by which a phone joins the parts of a message, so it is the same in every attempt.
 * Accounts may share a sender and number their messages alike, so each account starts at a hash of
 * its id. Within an account 256 messages in a row have different references, which a hash of the
 * message id would not ensure.
 */
function referenceOf({ account, id }: Pick<ClaimedMessage, 'account' | 'id'>, bits: 8 | 16): number {
  const begin = createHash('sha256')
    .update(String(account))
    .digest()
    .readUIntBE(0, bits / 8);
  return Number(BigInt.asUintN(bits, BigInt(begin) + id));
}

export interface RetryTimes {
  readonly now: number;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly unknownOutcomeMs: number;
}

const FIRST_RETRY_MS = 5_000;
const LAST_RETRY_MS = 15 * 60_000;

/**
 * The delay doubles with every attempt, up to 15 minutes. Half of it is random, to spread peaks.
 */
export function retryDelayMs(attempt: number, random: () => number): number {
  return Math.round(spread(backOffMs(attempt, FIRST_RETRY_MS, LAST_RETRY_MS), random));
}

/**
 * Combines the results of parts into one outcome. An unknown outcome counts before all others,
 * because such a part must not be submitted again. Then a permanent refusal counts, then a
 * temporary one.
 */
export function outcomeOf(
  { attempt, expiresAt }: Pick<ClaimedMessage, 'attempt' | 'expiresAt'>,
  results: readonly SubmitResult[],
  { now, random, unknownOutcomeMs }: RetryTimes,
): Outcome {
  for (const result of results) {
    if (result.kind === 'unknown-outcome')
      return { kind: 'unknown-outcome', dueAt: now + unknownOutcomeMs, reason: reasonOf(result) };
  }
  for (const result of results) {
    if (result.kind === 'permanent') return { kind: 'rejected', reason: reasonOf(result) };
  }
  for (const result of results) {
    if (result.kind !== 'temporary') continue;
    const wanted = Math.round(result.retryAfterMs ?? 0); // the carrier's value may be no number
    const delay = Math.max(retryDelayMs(attempt, random), Number.isNaN(wanted) ? 0 : wanted);
    return { kind: 'waiting', dueAt: Math.min(now + delay, expiresAt), reason: reasonOf(result) };
  }
  return { kind: 'submitted' };
}

/**
 * How the carrier refused the parts that were submitted. Undefined if it has one or may have one,
 * or if we withheld one ourselves: then another carrier must not get them. A refusal that names a
 * time to come back is a throttled one.
 */
export function refusalOf(results: readonly SubmitResult[]): Refusal | undefined {
  let refusal: Refusal | undefined;
  for (const result of results) {
    if (result.kind === 'accepted' || result.kind === 'unknown-outcome') return undefined;
    if (result.reason === WITHHELD.reason || result.reason === NOT_TOLD.reason) return undefined;
    if (result.kind === 'permanent') refusal = 'permanent';
    else if (refusal !== 'permanent') {
      const isThrottled = result.retryAfterMs !== undefined && !result.connectorDown;
      refusal = isThrottled ? 'throttled' : (refusal ?? 'temporary');
    }
  }
  return refusal;
}

const STATES = {
  accepted: 'accepted',
  temporary: 'refused',
  permanent: 'refused',
  'unknown-outcome': 'unknown-outcome',
} as const;

export const partResults = (message: ClaimedMessage, results: readonly SubmitResult[]): PartResult[] =>
  message.parts.map(({ number }, index) => {
    const result = results[index] ?? NO_ANSWER;
    const gatewayId = result.kind === 'accepted' && result.gatewayId !== null ? carrierText(result.gatewayId) : null;
    return { part: number, state: STATES[result.kind], gatewayId };
  });

/** The result of a part for which a connector returned none. */
export const NO_ANSWER: SubmitResult = { kind: 'unknown-outcome', reason: 'no answer' };

export const TEXT_MAX = 200;
/** Texts of a carrier are stored, so they are shortened and lose control characters. */
export const carrierText = (text: string): string => text.slice(0, TEXT_MAX).replace(/[\p{Cc}\p{Cs}]/gu, '');
const reasonOf = ({ reason }: { readonly reason: string }): string => carrierText(reason);
