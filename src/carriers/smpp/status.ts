import type { SubmitResult } from '../connector.ts';

/** What a command_status of an SMSC means for a submission. */

/**
 * permanent: the message will never be taken. settings: neither, because of a field that our
 * configuration chooses. temporary: it may be taken later. doubtful: SMSCs use it for a full window
 * and for a blocked number alike, so the third one is permanent. throttle: we are too fast.
 * connector, credentials: it says nothing about the message.
 */
export const STATUS_MEANINGS = [
  'permanent',
  'settings',
  'temporary',
  'doubtful',
  'throttle',
  'connector',
  'credentials',
] as const;
export type StatusMeaning = (typeof STATUS_MEANINGS)[number];

export const STATUS = {
  ok: 0x00,
  invalidCommandLength: 0x02,
  invalidCommand: 0x03,
  invalidBindStatus: 0x04,
  alreadyBound: 0x05,
  temporaryError: 0x64,
} as const;

/** SMPP 3.4, 5.1.3, and the codes of SMPP 5.0 that SMSCs of 3.4 send. */
const MEANINGS: readonly (readonly [status: number, meaning: StatusMeaning, words: string])[] = [
  [0x01, 'permanent', 'the text is too long or empty'],
  [0x02, 'settings', 'the length of the PDU is wrong'],
  [0x03, 'connector', 'submit_sm is not known here: a receiver bind, or a wrong port'],
  [0x04, 'connector', 'not bound for this'],
  [0x05, 'connector', 'already bound: an old connection of ours still lives there, or there are too many binds'],
  [0x06, 'settings', 'the priority is not allowed'],
  [0x07, 'settings', 'receipts of this kind are not allowed'],
  [0x08, 'temporary', 'system error'],
  [0x0a, 'settings', 'the sender is not allowed'],
  [0x0b, 'permanent', 'the recipient is not valid'],
  [0x0c, 'permanent', 'the message id is not valid'],
  [0x0d, 'connector', 'the bind failed: an address that is not allowed, too many binds, or maintenance'],
  [0x0e, 'credentials', 'the password is wrong'],
  [0x0f, 'credentials', 'the system id is wrong'],
  [0x11, 'permanent', 'cancelling failed'],
  [0x13, 'permanent', 'replacing failed'],
  [0x14, 'temporary', 'the queue is full'],
  [0x15, 'settings', 'the service type is not valid'],
  [0x33, 'permanent', 'the number of destinations is not valid'],
  [0x34, 'permanent', 'the name of the list is not valid'],
  [0x40, 'permanent', 'the destination flag is not valid'],
  [0x42, 'permanent', 'submitting with replacement is not possible'],
  [0x43, 'settings', 'the esm_class is not valid'],
  [0x44, 'permanent', 'submitting to a list is not possible'],
  [0x45, 'doubtful', 'submitting failed'],
  [0x48, 'settings', 'the TON of the sender is not valid'],
  [0x49, 'settings', 'the NPI of the sender is not valid'],
  [0x50, 'settings', 'the TON of the recipient is not valid'],
  [0x51, 'settings', 'the NPI of the recipient is not valid'],
  [0x53, 'credentials', 'the system type is wrong'],
  [0x54, 'settings', 'the replacement flag is not valid'],
  [0x55, 'permanent', 'the number of messages is not valid'],
  [0x58, 'throttle', 'we submit too fast'],
  [0x61, 'settings', 'the scheduled time is not valid'],
  [0x62, 'settings', 'the validity is not valid'],
  [0x63, 'settings', 'the predefined message is not valid'],
  [0x64, 'temporary', 'the receiving application has a temporary error'],
  [0x65, 'permanent', 'the receiving application has a permanent error'],
  [0x66, 'permanent', 'the receiving application rejects the message'],
  [0x67, 'doubtful', 'the query failed'],
  [0xc0, 'settings', 'the TLVs are not valid'],
  [0xc1, 'settings', 'a TLV is not allowed'],
  [0xc2, 'settings', 'the length of a TLV is not valid'],
  [0xc3, 'settings', 'a TLV is missing'],
  [0xc4, 'settings', 'the value of a TLV is not valid'],
  [0xfe, 'permanent', 'the delivery failed'],
  [0xff, 'doubtful', 'unknown error'],
  [0x100, 'settings', 'the service type is not authorised'],
  [0x101, 'permanent', 'prohibited'],
  [0x102, 'temporary', 'the service type is not available'],
  [0x103, 'settings', 'the service type is denied'],
  [0x104, 'settings', 'the data coding is not valid'],
];
/** SMPP 5.0: subunits and broadcasts. */
const LATER_FIELDS = { first: 0x105, last: 0x112 };

const known = new Map(MEANINGS.map(([status, meaning, words]) => [status, { meaning, words }]));

/** Codes that nobody knows, and 0x400 to 0x4ff, which are the vendor's, are doubtful. */
export function meaningOf(status: number, own: Readonly<Record<string, StatusMeaning>> = {}): StatusMeaning {
  for (const [code, meaning] of Object.entries(own)) if (Number(code) === status) return meaning;
  if (status >= LATER_FIELDS.first && status <= LATER_FIELDS.last) return 'settings';
  return known.get(status)?.meaning ?? 'doubtful';
}

/** `SMPP 0x0000000b: the recipient is not valid`. */
export function statusWords(status: number): string {
  const code = `SMPP 0x${status.toString(16).padStart(8, '0')}`;
  const words = known.get(status)?.words;
  return words === undefined ? code : `${code}: ${words}`;
}

export interface Judged {
  readonly result: SubmitResult;
  readonly meaning: StatusMeaning;
}

const THROTTLED_RETRY_MS = 1_000;

/** The result of a submission that was refused with this status. */
export function refusalOf(status: number, meaning: StatusMeaning, doubtfulBefore: number): SubmitResult {
  const reason = statusWords(status);
  switch (meaning) {
    case 'permanent':
    case 'settings':
      return { kind: 'permanent', reason };
    case 'temporary':
      return { kind: 'temporary', reason };
    case 'doubtful':
      return { kind: doubtfulBefore + 1 >= DOUBTFUL_MAX ? 'permanent' : 'temporary', reason };
    case 'throttle':
      return { kind: 'temporary', reason, retryAfterMs: THROTTLED_RETRY_MS };
    case 'connector':
    case 'credentials':
      return { kind: 'temporary', reason, connectorDown: true };
  }
}

/** So many refusals without a clear meaning end a message. */
const DOUBTFUL_MAX = 3;
