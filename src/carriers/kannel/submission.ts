import type { Submission, SubmitResult } from '../connector.ts';

/** What both connectors to Kannel check and derive from a submission. */

interface Defaults {
  readonly defaultSender?: string | undefined;
  readonly validityMinutes: number;
}

export interface Prepared {
  readonly sender: string;
  /** Milliseconds since 1970. */
  readonly validUntil: number;
  /** 0 for GSM 7-bit, 2 for UCS-2. Kannel never chooses the coding by itself. */
  readonly coding: 0 | 2;
}

const MINUTE_MS = 60_000;
/** SMPP 3.4 §5.2.8. Kannel accepts a longer sender and fails afterwards. */
const SENDER_OCTETS_MAX = 20;

/** Prepares a submission. Refuses one that Kannel would accept and then spoil. */
export function prepare(part: Submission, defaults: Defaults, now: number): Prepared | SubmitResult {
  const sender = part.sender ?? defaults.defaultSender;
  if (sender === undefined || sender === '') {
    return refused('The message has no sender, and the connector has no defaultSender.');
  }
  if (!/^[\x20-\x7e]+$/.test(sender) || sender.length > SENDER_OCTETS_MAX) {
    return refused(`A sender has at most ${SENDER_OCTETS_MAX} printable ASCII characters.`);
  }
  if (!/^\+\d{1,20}$/.test(part.recipient)) {
    return refused('The recipient is not a number in international form.');
  }
  const validUntil = part.validUntil ?? now + defaults.validityMinutes * MINUTE_MS;
  if (validUntil <= now) return { kind: 'temporary', reason: 'The validity of the message is over.' };
  return { sender, validUntil, coding: part.encoding === 'gsm7' ? 0 : 2 };
}

const refused = (reason: string): SubmitResult => ({ kind: 'permanent', reason, isOurs: true });

export const isRefusal = (prepared: Prepared | SubmitResult): prepared is SubmitResult => 'kind' in prepared;

/** Whole minutes, at least 1, because Kannel refuses 0. */
export const minutesUntil = (validUntil: number, now: number): number =>
  Math.max(1, Math.floor((validUntil - now) / MINUTE_MS));
