import { RECEIPT_STATUSES } from '../../domain/messages/statuses.ts';
import { unpackSeptets } from '../../sms/gsm7.ts';
import { utf16Units } from '../../sms/user-data.ts';
import type { ReceivedReceipt } from '../connector.ts';
import type { SmppConfig } from './config.ts';
import { idsToMatch } from './ids.ts';
import { type Pdu, TLV } from './pdu.ts';

/** What deliver_sm and data_sm report about a submission: by TLVs, and by a text of many forms. */
export interface ReadReceipt {
  /** Best first. Empty where the receipt names no message. */
  readonly ids: readonly string[];
  readonly status: ReceivedReceipt['status'];
  /** When it happened; null where the receipt does not tell it believably. */
  readonly at: number | null;
  readonly detail: string | null;
  /** The beginning of the message, which some SMSCs repeat. */
  readonly textStart: string;
  /** The TLV and the word tell different states. The word counts. */
  readonly isContradictory: boolean;
}

/** The kinds of esm_class. */
const KIND_MASK = 0x3c;
const KIND = { message: 0x00, receipt: 0x04, deliveryAck: 0x08, userAck: 0x10, intermediate: 0x20 } as const;
const UCS2 = 8;

/** Null where the PDU is a message from a phone. */
export function readReceipt(pdu: Pdu, config: SmppConfig, now: number): ReadReceipt | null {
  const { message } = pdu;
  if (!message) return null;
  const kind = message.esmClass & KIND_MASK;
  const payload = pdu.tlvs?.get(TLV.messagePayload);
  const octets = message.message.length === 0 && payload ? payload : message.message;
  const text = textOf(octets, message.dataCoding, config);
  if (kind === KIND.message && !(config.quirks.receiptsWithoutEsmClass && WHOLE_FORM.test(text))) return null;
  const read = readForm(text);
  const ofState = RECEIPT_STATUSES[(pdu.tlvs?.get(TLV.messageState)?.[0] ?? 0) - 1];
  const ofWord = read.word === null ? undefined : WORDS[read.word.slice(0, 5).toUpperCase()];
  const isAck = kind === KIND.deliveryAck || kind === KIND.userAck;
  return {
    ids: idsToMatch(idOf(pdu.tlvs?.get(TLV.receiptedMessageId)), read.id, config),
    status: isAck ? 'ENROUTE' : (ofWord ?? ofState ?? 'UNKNOWN'),
    at: timeOf(read.doneDate, config.quirks.doneDateLocal, now),
    detail: read.code ?? networkError(pdu.tlvs?.get(TLV.networkErrorCode)),
    textStart: read.textStart,
    isContradictory: ofWord !== undefined && ofState !== undefined && ofWord !== ofState,
  };
}

/** Ids may have any character, so octets stay what they are, unless they are UCS-2. */
function textOf(octets: Uint8Array, dataCoding: number, { quirks }: SmppConfig): string {
  if (dataCoding !== UCS2) {
    const own = quirks.packedSevenBit && dataCoding === 0 ? unpackSeptets(octets) : octets;
    return Buffer.from(own).toString('latin1');
  }
  return quirks.ucs2LittleEndian ? Buffer.from(octets).toString('utf16le') : utf16Units(octets);
}

/** The first five letters decide: SMSCs write DELIVRD and Delivered. */
const WORDS: Readonly<Record<string, ReceivedReceipt['status']>> = {
  DELIV: 'DELIVERED',
  EXPIR: 'EXPIRED',
  DELET: 'DELETED',
  UNDEL: 'UNDELIVERABLE',
  ACCEP: 'ACCEPTED',
  UNKNO: 'UNKNOWN',
  REJEC: 'REJECTED',
  ENROU: 'ENROUTE',
  BUFFR: 'ENROUTE',
  BUFFE: 'ENROUTE',
};

const WHOLE_FORM =
  /^id: ?\S+ sub: ?\d+ dlvrd: ?\d+ submit[ _]date: ?\d+ done[ _]date: ?\d+ stat: ?\w+ err: ?\S+(?: |$)/i;

interface ReadForm {
  readonly id: string | null;
  readonly word: string | null;
  readonly code: string | null;
  readonly doneDate: string | null;
  readonly textStart: string;
}

/** Fields in any order; the first of each counts. What follows `text:` is the user's own. */
function readForm(text: string): ReadForm {
  const end = /(?:^|\s)text:/i.exec(text);
  const fields = end ? text.slice(0, end.index) : text;
  const field = (pattern: RegExp): string | null => pattern.exec(fields)?.[1] ?? null;
  return {
    id: field(/(?:^|[^a-z])id: ?(\S{1,255})/i),
    word: field(/(?:^|[^a-z])stat: ?([a-z]{1,20})/i),
    code: field(/(?:^|[^a-z])err: ?([\w.-]{1,10})/i),
    doneDate: field(/done[ _]date: ?(\d{12}|\d{10})(?!\d)/i),
    textStart: end ? text.slice(end.index + end[0].length) : '',
  };
}

/** The NUL at the end may be absent. */
function idOf(octets: Uint8Array | undefined): string | null {
  if (octets === undefined) return null;
  return Buffer.from(octets).toString('latin1').replace(/\0.*$/s, '') || null;
}

/** The kind of network, and its code. */
function networkError(octets: Uint8Array | undefined): string | null {
  if (octets?.length !== 3) return null;
  const [network = 0, high = 0, low = 0] = octets;
  return `${network}:${high * 256 + low}`;
}

// Of a date whose zone nobody told. One of another zone is off by more, mostly by whole hours.
const BELIEVED_MS = 30 * 60_000;
const ZONED_MS = 72 * 3_600_000;

/**
 * The date is in UTC, or in a zone that the operator names. The specification leaves it open, so
 * without a zone a date is believed only where it is near now.
 */
function timeOf(date: string | null, zone: string | undefined, now: number): number | null {
  if (date === null) return null;
  const [year, month, day, hour, minute, second] = (date.match(/../g) ?? []).map(Number) as number[];
  const utc = Date.UTC(2000 + (year ?? 0), (month ?? 1) - 1, day, hour, minute, second ?? 0);
  const at = zone === undefined ? utc : utc - offsetOf(zone, utc);
  const age = now - at;
  return age >= 0 && age <= (zone === undefined ? BELIEVED_MS : ZONED_MS) ? at : null;
}

/** By how much the clocks of a zone are ahead, at about this time. */
function offsetOf(zone: string, at: number): number {
  const options = { timeZone: zone, timeZoneName: 'longOffset' } as const;
  const name = new Intl.DateTimeFormat('en', options).formatToParts(at).find(({ type }) => type === 'timeZoneName');
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(name?.value ?? '') ?? [];
  const ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return sign === '-' ? -ms : ms;
}
