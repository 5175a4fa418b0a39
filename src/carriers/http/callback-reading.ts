import { fieldBytes } from '../../base/form-fields.ts';
import type { ArrivedMessage } from '../../domain/receiving/incoming.ts';
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
import type { ReceivedReceipt } from '../connector.ts';
import { TEXT_MAX } from '../submissions.ts';
import type { Callback, Charset, IncomingRead, ReceiptCallback } from './form.ts';
import { type Fields, fieldsOf, fits, jsonOf, pointed, type Readable, textOf } from './sources.ts';
import { xmlElements, xmlOf } from './xml.ts';

/** What a callback says, by the file: receipts and messages from phones. */
export interface ReadCallback {
  readonly receipts: readonly ReceivedReceipt[];
  readonly messages: readonly ArrivedMessage[];
  /** Why an entry was ignored, for the operator to complete the file. */
  readonly ignored: readonly string[];
}

export interface Received {
  readonly method: string;
  readonly header: (name: string) => string | undefined;
  /** Without its question mark. */
  readonly query: string;
  readonly body: Buffer;
}

export interface ReadContext {
  readonly connector: string;
  readonly now: number;
  readonly setting: Readable['setting'];
}

const ITEMS_MAX = 500;

/** The first callback of the path whose conditions hold is read. */
export function readCallback(
  candidates: readonly Callback[],
  received: Received,
  context: ReadContext,
): ReadCallback | null {
  for (const callback of candidates) {
    const from = readableOf(callback, received, context);
    if (from && callback.methods.includes(received.method as 'GET') && fits(callback.when, from)) {
      return readWith(callback, from, context);
    }
  }
  return null;
}

/** Undefined if the body is not of the kind that the file says. */
function readableOf({ body: kind }: Callback, received: Received, { setting }: ReadContext): Readable | undefined {
  const { header, body } = received;
  const query = fieldsOf(received.query);
  if (!query) return undefined;
  const type = header('content-type') ?? '';
  const isForm = kind === 'form' || (kind === 'any' && !/json/i.test(type));
  const form: Fields | undefined = isForm ? fieldsOf(body.toString('latin1')) : undefined;
  const json = kind === 'json' || (kind === 'any' && !isForm) ? jsonOf(body) : undefined;
  const xml = kind === 'xml' ? xmlOf(body) : undefined;
  if (kind === 'json' && json === undefined) return undefined;
  if (kind === 'xml' && !xml) return undefined;
  if (isForm && !form) return undefined;
  return {
    header,
    query,
    body,
    setting,
    ...(form && { form }),
    ...(json !== undefined && { json }),
    ...(xml && { xml: () => xml }),
  };
}

function readWith(callback: Callback, from: Readable, context: ReadContext): ReadCallback {
  const receipts: ReceivedReceipt[] = [];
  const messages: ArrivedMessage[] = [];
  const ignored: string[] = [];
  const items = itemsOf(callback, from);
  if (items.length > ITEMS_MAX) ignored.push(`only the first ${ITEMS_MAX} entries of a list are read`);
  for (const item of items.slice(0, ITEMS_MAX)) {
    if (callback.is === 'receipt') {
      const receipt = receiptOf(callback, item, context);
      if (typeof receipt === 'string') ignored.push(receipt);
      else if (receipt) receipts.push(receipt);
    } else {
      const message = messageOf(callback.read, callback.charset, item, context);
      if (typeof message === 'string') ignored.push(message);
      else messages.push(message);
    }
  }
  return { receipts, messages, ignored };
}

/** An entry of a list is read as if it were the whole body. */
function itemsOf({ each }: Callback, from: Readable): Readable[] {
  if (each === undefined) return [from];
  const document = from.xml?.();
  if (document) return xmlElements(document, each).map((element) => ({ ...from, xml: () => element }));
  const list = pointed(from.json, each);
  return (Array.isArray(list) ? list : list === undefined || list === null ? [] : [list]).map((json) => ({
    ...from,
    json,
  }));
}

/** Null for a word that says nothing; a text says why the entry cannot be read. */
function receiptOf(
  { read, map, unless = [] }: ReceiptCallback,
  from: Readable,
  { connector, now }: ReadContext,
): ReceivedReceipt | string | null {
  const word = textOf(read.status, from);
  const exception = unless.find(({ when }) => fits(when, from))?.status;
  if (exception === undefined && (word === undefined || !Object.hasOwn(map, word)))
    return `the map of receipts has no entry for the status ${(word ?? '(none)').slice(0, 40)}`;
  const status = exception ?? map[word ?? ''];
  if (!status) return null;
  const attemptId = shortText(read.attemptId, from);
  const gatewayId = shortText(read.gatewayId, from);
  if (attemptId === null && gatewayId === null) return 'a receipt names neither attemptId nor gatewayId';
  const detail =
    textOf(read.detail, from)
      ?.slice(0, DETAIL_MAX)
      .replace(/\+?\d{7,}/g, '…') ?? null;
  return { connector, attemptId, gatewayId, status, at: instantOf(textOf(read.at, from), now), detail };
}

const DETAIL_MAX = 100;

const shortText = (sources: Parameters<typeof textOf>[0], from: Readable): string | null =>
  textOf(sources, from)?.slice(0, TEXT_MAX) ?? null;

export function messageOf(
  read: IncomingRead,
  charset: Charset | undefined,
  from: Readable,
  { connector, now }: Pick<ReadContext, 'connector' | 'now'>,
): ArrivedMessage | string {
  const sender = textOf(read.sender, from);
  if (sender === undefined) return 'a message has no sender';
  // Some providers leave the destination out if an account has one number. A route may have none.
  const destination = textOf(read.destination, from) ?? '';
  return {
    connector,
    gatewayId: shortText(read.gatewayId, from),
    sender: readAddress(sender),
    destination: readAddress(destination),
    text: withoutNul(contentOf(read, charset, from)).slice(0, TEXT_LENGTH_MAX),
    receivedAt: instantOf(textOf(read.receivedAt, from), now),
    part: placeOf(read, from),
  };
}

function contentOf(read: IncomingRead, charset: Charset | undefined, from: Readable): string {
  const named = charset && (textOf(charset.from, from) ?? '');
  const coding = named !== undefined && Object.hasOwn(charset?.map ?? {}, named) ? charset?.map[named] : 'utf8';
  const isBody = read.text === 'body';
  if (coding === 'utf16be' && isBody) return utf16Units(from.body);
  if (coding === 'hex' && isBody) return binaryText(from.body);
  const text = textOf(read.text, from) ?? '';
  if (coding === 'hex-utf16be') return HEX.test(text) ? utf16Units(Buffer.from(text, 'hex')) : text;
  if (coding === 'percent-latin1') return fieldBytes(text.replaceAll('+', '%2B')).toString('latin1');
  return coding === 'percent-utf16be' ? utf16Units(percentUtf16(text)) : text;
}

const HEX = /^(?:[0-9a-f]{4})*$/i;

/** `%00m%00%ED`: an octet is written as itself or by its hexadecimal digits. */
const percentUtf16 = (text: string): Buffer => fieldBytes(text.replaceAll('+', '%2B'));

function placeOf(read: IncomingRead, from: Readable): PartPlace | null {
  const hex = textOf(read.udhHex, from);
  if (hex !== undefined && /^(?:[0-9a-f]{2})+$/i.test(hex)) return readPart(Buffer.from(hex, 'hex'));
  const number = (sources: Parameters<typeof textOf>[0]): number => Number(textOf(sources, from) ?? Number.NaN);
  const [reference, total, own] = [
    number(read['part.reference']),
    number(read['part.total']),
    number(read['part.number']),
  ];
  const isValid = Number.isInteger(reference) && reference >= 0 && reference <= 65_535 && total <= 255 && own <= 255;
  return isValid ? partOf(reference, Uint8Array.of(total, own)) : null;
}

/**
 * An instant of ISO 8601, also with an offset without its colon, or seconds or milliseconds since
 * 1970. A provider's clock that is ahead must not outdo later reports.
 */
export function instantOf(text: string | undefined, now: number): number {
  if (text === undefined) return now;
  const at = /^\d{9,11}$/.test(text)
    ? Number(text) * 1_000
    : /^\d{12,14}$/.test(text)
      ? Number(text)
      : ISO.test(text)
        ? Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2'))
        : Number.NaN;
  return Number.isNaN(at) || at < 0 ? now : Math.min(at, now);
}

/** Without an offset nobody knows which instant it is. */
const ISO = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;
