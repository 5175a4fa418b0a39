import type { CarrierFields } from '../../sms/carrier-fields.ts';
import { septetsOf } from '../../sms/gsm7.ts';
import type { Submission, SubmitResult } from '../connector.ts';
import type { ConfiguredTlv, SmppConfig } from './config.ts';
import { type Address, type MessageFields, NO_MESSAGE, TLV } from './pdu.ts';

/** A part of a message as the fields and TLVs of submit_sm. */
export interface Prepared {
  readonly message: MessageFields;
  readonly tlvs: ReadonlyMap<number, Uint8Array>;
}

/** Octets of a message on the air, with its header. */
const AIR_OCTETS_MAX = 140;
/** 254 are the most that sm_length may say. */
const SHORT_MESSAGE_MAX = 254;
const HEADER_INCLUDED = 0x40;

/** A refusal where an SMSC would spoil the message, or refuse it after some of its parts. */
export function prepare(part: Submission, config: SmppConfig, now: number): Prepared | SubmitResult {
  const source = sourceOf(part.sender ?? config.defaultSender ?? null, config);
  if (source === null) return refused(`A sender that is no number has at most ${NAME_LENGTH_MAX} letters or digits.`);
  const destination = destinationOf(part.recipient, config);
  if (destination === null) return refused('The recipient is not a number in international form.');
  if (part.validUntil !== null && part.validUntil <= now) {
    return { kind: 'temporary', reason: 'The validity of the message is over.' };
  }
  const coded = codedText(part, config);
  if (coded === null) {
    return refused('The text has characters that the alphabet of the connector lacks, and is too long for UCS-2.');
  }
  const { dataCoding, body } = coded;
  const octets = part.udh === null ? body : Buffer.concat([part.udh, body]);
  const isPayload = octets.length > SHORT_MESSAGE_MAX || part.isWhole === true;
  const message: MessageFields = {
    ...NO_MESSAGE,
    serviceType: config.serviceType,
    source,
    destination,
    esmClass: config.esmMode | (part.udh === null ? 0 : HEADER_INCLUDED),
    priority: part.priority,
    validity: validityOf(part.validUntil, config.validity, now),
    registeredDelivery: RECEIPTS[config.receipts],
    dataCoding,
    message: isPayload ? NO_MESSAGE.message : octets,
  };
  return { message, tlvs: tlvsOf(part, config, isPayload ? octets : null) };
}

export const isRefusal = (prepared: Prepared | SubmitResult): prepared is SubmitResult => 'kind' in prepared;

const refused = (reason: string): SubmitResult => ({ kind: 'permanent', reason, isOurs: true });

const RECEIPTS = { none: 0x00, final: 0x01, failures: 0x02, all: 0x11 } as const;

const NAME_LENGTH_MAX = 11;
/** SMPP 3.4, 5.2.8. */
const ADDRESS_LENGTH_MAX = 20;

/** Null for a name that no carrier takes. */
export function sourceOf(sender: string | null, { sourceTon, sourceNpi }: Partial<SmppConfig>): Address | null {
  const read = senderOf(sender ?? '');
  return read && { ...read, ton: sourceTon ?? read.ton, npi: sourceNpi ?? read.npi };
}

function senderOf(sender: string): Address | null {
  if (sender === '') return { ton: 0, npi: 0, address: '' };
  if (/^\+\d+$/.test(sender) && sender.length <= ADDRESS_LENGTH_MAX + 1) {
    return { ton: 1, npi: 1, address: sender.slice(1) };
  }
  if (/^\d{3,8}$/.test(sender)) return { ton: 3, npi: 0, address: sender };
  if (/^\d+$/.test(sender) && sender.length <= ADDRESS_LENGTH_MAX) return { ton: 2, npi: 1, address: sender };
  return isName(sender) ? { ton: 5, npi: 0, address: sender } : null;
}

/** ASCII, and what Latin-1 and GSM 7-bit share. */
const isName = (sender: string): boolean =>
  sender.length <= NAME_LENGTH_MAX &&
  [...sender].every((each) => /^[\x20-\x7e]$/.test(each) || (/^[\xa1-\xff]$/.test(each) && septetsOf(each)));

function destinationOf(recipient: string, { destinationTon, destinationNpi }: SmppConfig): Address | null {
  if (!/^\+\d{1,20}$/.test(recipient)) return null;
  return { ton: destinationTon ?? 1, npi: destinationNpi ?? 1, address: recipient.slice(1) };
}

interface Coded {
  readonly dataCoding: number;
  readonly body: Uint8Array;
}
const UCS2 = 8;

/** Null where the characters fit neither the alphabet of the SMSC nor, by their number, UCS-2. */
function codedText(part: Submission, { alphabet, quirks }: SmppConfig): Coded | null {
  const ucs2 = (body: Uint8Array): Coded => ({
    dataCoding: UCS2,
    body: quirks.ucs2LittleEndian ? Buffer.from(body).swap16() : body,
  });
  // A phone joins parts of one alphabet only, so all parts stay what the whole text is.
  const isPart = (part.place ?? null) !== null;
  if (alphabet === 'gsm7') return part.encoding === 'gsm7' ? { dataCoding: 0, body: part.body } : ucs2(part.body);
  const { fits, dataCoding } = EIGHT_BIT[alphabet];
  const isShort = part.encoding === 'gsm7' || (!isPart && part.text.length <= AIR_OCTETS_MAX / 2);
  if (isShort && fits.test(part.text)) return { dataCoding, body: Buffer.from(part.text, 'latin1') };
  if (part.encoding === 'ucs2') return ucs2(part.body);
  const units = Buffer.from(part.text, 'utf16le').swap16();
  const isRoomy = part.isWhole === true || (!isPart && units.length <= AIR_OCTETS_MAX);
  return isRoomy ? ucs2(units) : null;
}

const EIGHT_BIT = {
  latin1: { dataCoding: 0, fits: /^[\n\r\x20-\x7e\xa0-\xff]*$/ },
  latin1As3: { dataCoding: 3, fits: /^[\n\r\x20-\x7e\xa0-\xff]*$/ },
  ascii: { dataCoding: 0, fits: /^[\n\r\x20-\x7e]*$/ },
} as const;

/** `261118024532000+` in UTC, `000001000000000R` from now on, or nothing. */
export function validityOf(until: number | null, form: SmppConfig['validity'], now: number): string {
  if (until === null || form === 'none') return '';
  if (form === 'absolute') return `${new Date(until).toISOString().replace(/\D/g, '').slice(2, 14)}000+`;
  const total = Math.min(Math.max(1, Math.floor((until - now) / 1000)), RELATIVE_SECONDS_MAX);
  const fields = [
    0,
    0,
    Math.floor(total / 86_400),
    Math.floor(total / 3_600) % 24,
    Math.floor(total / 60) % 60,
    total % 60,
  ];
  return `${fields.map((each) => String(each).padStart(2, '0')).join('')}000R`;
}
/** Days have two digits; months and years have no certain length. */
const RELATIVE_SECONDS_MAX = 30 * 86_400;

/** Null for a field that the message lacks and that has no default: then the TLV is left out. */
function tlvValue({ field, text, hex, nul }: ConfiguredTlv, fields: CarrierFields): Uint8Array | null {
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  const own = field !== undefined && Object.hasOwn(fields, field) ? fields[field] : undefined;
  const value = own ?? text;
  return value === undefined ? null : Buffer.from(nul ? `${value}\0` : value, 'latin1');
}

function tlvsOf(part: Submission, config: SmppConfig, payload: Uint8Array | null): Map<number, Uint8Array> {
  const tlvs = new Map<number, Uint8Array>();
  const place = part.udh === null ? (part.place ?? null) : null;
  if (place !== null) {
    tlvs.set(TLV.sarReference, Uint8Array.of(place.reference >> 8, place.reference & 0xff));
    tlvs.set(TLV.sarTotal, Uint8Array.of(place.total));
    tlvs.set(TLV.sarNumber, Uint8Array.of(place.number));
  }
  if (config.userMessageReference) {
    tlvs.set(TLV.userMessageReference, Buffer.from(part.attemptId.slice(-4).padStart(4, '0'), 'hex'));
  }
  for (const each of config.tlvs) {
    const value = tlvValue(each, part.fields ?? {});
    if (value !== null) tlvs.set(Number(each.tag), value);
  }
  if (payload !== null) tlvs.set(TLV.messagePayload, payload);
  return tlvs;
}
