import type { ReceivedReceipt } from '../connector.ts';

/** Reads what Kannel reports about a submission: the kind (%d) and the words (%A). */

/** Bits of Kannel's receipt mask. */
const KIND = { delivered: 1, failed: 2, buffered: 4, accepted: 8, refused: 16, expired: 32 } as const;

/** All kinds of receipts, except expiry, which sendsms refuses in a mask. */
export const RECEIPT_MASK = KIND.delivered | KIND.failed | KIND.buffered | KIND.accepted | KIND.refused;

export interface ReadReceipt {
  readonly status: ReceivedReceipt['status'];
  readonly detail: string | null;
  /** Whether Kannel itself, or the carrier's answer to the submission, refused it. */
  readonly isRefusal: boolean;
  /** Whether no carrier of Kannel took the message, which says nothing about the message. */
  readonly noRoute: boolean;
}

/** The words of SMPP 3.4, appendix B. */
const WORDS: Readonly<Record<string, ReceivedReceipt['status']>> = {
  DELIVRD: 'DELIVERED',
  EXPIRED: 'EXPIRED',
  UNDELIV: 'UNDELIVERABLE',
  REJECTD: 'REJECTED',
  DELETED: 'DELETED',
  ACCEPTD: 'ACCEPTED',
  ENROUTE: 'ENROUTE',
  BUFFRED: 'ENROUTE',
};

/** Kannel's own reasons. All other reasons are refusals. */
const REASONS: Readonly<Record<string, ReceivedReceipt['status']>> = {
  'validity expired': 'EXPIRED',
  'Retries Exceeded': 'UNDELIVERABLE',
  'no SMSC': 'UNKNOWN',
};

/** Returns null if the kind is none of Kannel's. */
export function readReceipt(kind: number, words: string): ReadReceipt | null {
  const word = /\bstat:(\w{1,10})/.exec(words)?.[1] ?? null;
  const code = /\berr:(\w{1,8})/.exec(words)?.[1] ?? null;
  const carrier = (status: ReceivedReceipt['status']): ReadReceipt => ({
    status,
    detail: word === null && code === null ? null : `${word ?? ''} ${code ?? ''}`.trim(),
    isRefusal: false,
    noRoute: false,
  });
  if (kind & KIND.refused) return readRefusal(words);
  if (kind & KIND.delivered) return carrier('DELIVERED');
  if (kind & KIND.expired) return carrier('EXPIRED');
  if (kind & KIND.failed) {
    const status = WORDS[word ?? ''];
    // For Kannel an unknown word is a failure, and the last receipt that it passes on.
    return carrier(status === undefined || status === 'DELIVERED' ? 'UNKNOWN' : status);
  }
  if (kind & KIND.buffered) return carrier(word === 'ACCEPTD' ? 'ACCEPTED' : 'ENROUTE');
  // The text is the carrier's answer to the submission, not a receipt.
  if (kind & KIND.accepted) return { status: 'ENROUTE', detail: null, isRefusal: false, noRoute: false };
  return null;
}

/** `NACK/0x0000000b/Invalid Destination Address`, `NACK/no SMSC`, `NACK/`. */
function readRefusal(words: string): ReadReceipt {
  const reason = words.replace(/^NACK\//, '');
  const code = /^0x[0-9a-f]{8}\b/i.exec(reason)?.[0];
  if (code) return { status: 'REJECTED', detail: code.toLowerCase(), isRefusal: true, noRoute: false };
  // Only letters are taken as a reason, so that no number or text of a message gets into a detail.
  const detail = /^[A-Za-z][A-Za-z -]{0,59}$/.test(reason) ? reason : null;
  return { status: REASONS[reason] ?? 'REJECTED', detail, isRefusal: true, noRoute: reason === 'no SMSC' };
}

/** Kannel's unix time in milliseconds; `otherwise` if the text is no time. */
export function readUnixTime(seconds: string | number | null, otherwise: number): number {
  const value = typeof seconds === 'string' && /^\d{1,10}$/.test(seconds) ? Number(seconds) : seconds;
  return typeof value === 'number' && value > 0 ? value * 1000 : otherwise;
}
