import { decodeGsm7, unpackSeptets } from '../../sms/gsm7.ts';
import {
  binaryText,
  type PartPlace,
  partOf,
  readAddress,
  readPart,
  TEXT_LENGTH_MAX,
  utf16Units,
  withoutNul,
} from '../../sms/user-data.ts';
import type { SmppConfig } from './config.ts';
import { type Address, type Pdu, TLV, type Tlvs } from './pdu.ts';

/** A message from a phone, as deliver_sm or data_sm brings it. */
export interface ReadMessage {
  readonly sender: string;
  readonly destination: string;
  readonly text: string;
  readonly part: PartPlace | null;
}

const HEADER_INCLUDED = 0x40;

export function readMessage(pdu: Pdu, config: SmppConfig): ReadMessage | null {
  const { message, tlvs } = pdu;
  if (!message) return null;
  const payload = tlvs?.get(TLV.messagePayload);
  const octets = message.message.length === 0 && payload ? payload : message.message;
  const headerOctets = (message.esmClass & HEADER_INCLUDED) !== 0 ? 1 + (octets[0] ?? 0) : 0;
  const addresses = { sender: addressOf(message.source), destination: addressOf(message.destination) };
  // A header that is longer than all of it: the octets say nothing that can be read.
  if (headerOctets > octets.length) return { ...addresses, text: binaryText(octets), part: null };
  const part = headerOctets > 0 ? readPart(octets.subarray(0, headerOctets)) : null;
  const text = textOf(octets.subarray(headerOctets), message.dataCoding, headerOctets, config);
  return { ...addresses, text: withoutNul(text).slice(0, TEXT_LENGTH_MAX), part: part ?? sarPart(tlvs) };
}

const INTERNATIONAL = 1;

function addressOf({ ton, address }: Address): string {
  const text = readAddress(address);
  return ton === INTERNATIONAL && /^\d/.test(text) ? `+${text}` : text;
}

/** The reference has 16 bits. */
function sarPart(tlvs: Tlvs | undefined): PartPlace | null {
  const reference = tlvs?.get(TLV.sarReference);
  const total = tlvs?.get(TLV.sarTotal)?.[0];
  const number = tlvs?.get(TLV.sarNumber)?.[0];
  if (reference?.length !== 2 || total === undefined || number === undefined) return null;
  return partOf((reference[0] ?? 0) * 256 + (reference[1] ?? 0), Uint8Array.of(total, number));
}

/** SMPP 3.4, 5.2.19. Binary content is given as hexadecimal digits. */
function textOf(body: Uint8Array, dataCoding: number, headerOctets: number, config: SmppConfig): string {
  const latin1 = () => Buffer.from(body).toString('latin1');
  if (dataCoding === 0 && config.quirks.packedSevenBit) return unpacked(body, headerOctets);
  if (dataCoding === 0)
    return config.alphabet === 'gsm7' || config.alphabet === 'latin1As3' ? decodeGsm7(body) : latin1();
  if (dataCoding >= 0xf0 && dataCoding <= 0xf3) return decodeGsm7(body);
  if (dataCoding === 2 || dataCoding === 4) return binaryText(body);
  if (dataCoding !== 8) return latin1();
  return config.quirks.ucs2LittleEndian ? Buffer.from(body).toString('utf16le') : utf16Units(body);
}

/** Seven free bits at the end look like an @, or are filled with a CR. */
function unpacked(body: Uint8Array, headerOctets: number): string {
  const septets = unpackSeptets(body, headerOctets);
  const last = septets.at(-1);
  const isFilled = septets.length % 8 === 0 && (last === 0x00 || last === 0x0d);
  return decodeGsm7(isFilled ? septets.subarray(0, -1) : septets);
}
