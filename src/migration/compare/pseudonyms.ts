import { createHmac } from 'node:crypto';
import type { RecordedExchange, RecordedMessage, RecordedRequest } from './recording.ts';

/**
 * Replaces numbers and texts of a recording by others of the same length and alphabet. Equal values
 * get equal pseudonyms, even in other files of the same key. Ids, counts, dates and words of the
 * contract stay, so that a case can be shared and still be replayed.
 */
export type Pseudonym = (value: string) => string;

export function createPseudonyms(key: Uint8Array): Pseudonym {
  return (value) => {
    if (isOpenValue(value)) return value;
    return PHONE_NUMBER.test(value) ? phonePseudonym(key, value) : textPseudonym(key, value);
  };
}

const PHONE_NUMBER = /^[+(]?[\d\s().+-]*\d[\d\s().+-]*$/;
const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/;
const isOpenValue = (value: string): boolean =>
  value.trim() === '' || DATE.test(value) || /^(?:true|false)$/i.test(value) || /^account-[0-9a-f]{16}$/.test(value);

/** Digits that differ from a number's other notations: +27 82… and 082… share the last eight. */
const SHARED_DIGITS = 8;

function phonePseudonym(key: Uint8Array, value: string): string {
  const digits = value.replaceAll(/\D/g, '');
  const shared = digits.slice(-SHARED_DIGITS);
  const stream = byteStream(key, `number ${shared}`);
  const replaced = [...shared].map((_, index) => String((stream[index] as number) % 10)).join('');
  const whole = digits.slice(0, -SHARED_DIGITS) + replaced;
  let at = 0;
  return value.replaceAll(/\d/g, () => whole[at++] as string);
}

function textPseudonym(key: Uint8Array, value: string): string {
  const characters = [...value];
  let stream = byteStream(key, `text ${value}`);
  return characters
    .map((character, index) => {
      if (index > 0 && index % stream.length === 0) stream = byteStream(key, `text ${index} ${value}`);
      return replaced(character, stream[index % stream.length] as number);
    })
    .join('');
}

const byteStream = (key: Uint8Array, value: string): Buffer => createHmac('sha512', key).update(value).digest();

/** All are in the GSM 7-bit alphabet, so that a message keeps its number of parts. */
const ALPHABETS = [
  '0123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  'èéùìòøåæßäöñüà',
  'ÇØÅÆÉÄÖÑÜ',
  'ΔΦΓΛΩΠΨΣΘΞ',
].map((letters) => [...letters]);

function replaced(character: string, byte: number): string {
  const alphabet = ALPHABETS.find((letters) => letters.includes(character));
  if (alphabet) return alphabet[byte % alphabet.length] as string;
  if (!/\p{L}|\p{N}/u.test(character)) return character;
  // Another letter of the same row of Unicode, with the same case and as many bytes.
  const code = character.codePointAt(0) as number;
  const row = Array.from({ length: 16 }, (_, index) => String.fromCodePoint((code & ~15) + index));
  const alike = row.filter((each) => kindOf(each) === kindOf(character));
  return alike[byte % alike.length] ?? character;
}

function kindOf(character: string): string {
  if (/\p{Lu}/u.test(character)) return 'upper';
  if (/\p{Ll}/u.test(character)) return 'lower';
  if (/\p{N}/u.test(character)) return 'number';
  return /\p{L}/u.test(character) ? 'letter' : 'other';
}

/** The names of values that are not personal: ids, counts and words. Other values are replaced. */
const OPEN_NAMES =
  /^(?:(?:\w+_)?id|userid|user_?id|contact_id|group_?id|message_?id|user_message_id|\w*status\w*|total|credits|usedcredits|transmissionpriority|tag|max|max_count|from|to|boolean|long|int|code|faultcode|value|read|marked|short_code|\w*timestamp\w*|datetime\w+)$/i;

export function pseudonymize(exchange: RecordedExchange, pseudonym: Pseudonym): RecordedExchange {
  const { client: _address, ...open } = exchange;
  const { request, old, ours } = open;
  return {
    ...open,
    pseudonyms: true,
    request: { ...inMessage(request, pseudonym), ...inTarget(request, pseudonym) } as RecordedRequest,
    old: old && { ...old, ...inMessage(old, pseudonym) },
    ours: ours && { ...ours, ...inMessage(ours, pseudonym) },
  };
}

const inTarget = ({ method, target }: RecordedRequest, pseudonym: Pseudonym) => {
  const [path, query] = target.split(/\?(.*)/s, 2) as [string, string | undefined];
  return { method, target: query === undefined ? target : `${path}?${inPairs(query, pseudonym)}` };
};

function inMessage<M extends RecordedMessage>(message: M, pseudonym: Pseudonym): M {
  const { body } = message;
  if (body === '') return message;
  // An error page may repeat what was sent in any place, so its body is withheld.
  if (HTML.test(body)) return { ...message, body: '', withheld: 'not readable' };
  return { ...message, body: body.trimStart().startsWith('<') ? inXml(body, pseudonym) : inText(body, pseudonym) };
}

/** A form, or a line of text about an error, which may repeat what was sent. */
const inText = (body: string, pseudonym: Pseudonym): string =>
  /^[\w%.-]+=/.test(body) ? inPairs(body, pseudonym) : body.replaceAll(/\d{6,}/g, (digits) => pseudonym(digits));

const inPairs = (text: string, pseudonym: Pseudonym): string =>
  text
    .split('&')
    .map((pair) => {
      const [name = '', value] = pair.split(/=(.*)/s, 2) as [string, string | undefined];
      if (value === undefined || OPEN_NAMES.test(name)) return pair;
      return `${name}=${encodeURIComponent(pseudonym(decoded(value)))}`;
    })
    .join('&');

function decoded(value: string): string {
  const text = value.replaceAll('+', ' ');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const HTML = /<(?:!doctype\s+)?html[\s>]/i;
const COMMENT = /<!--[\s\S]*?(?:-->|$)/g;
const CDATA = /<!\[CDATA\[([\s\S]*?)(?:\]\]>|$)/g;
/** A text, and the tag before it. The name of a start tag tells what the text is. */
const TEXT = /(<(?:[\w.-]+:)?([\w.-]+)(?:\s[^<>]*)?>|>)([^<>]+)/g;

const inXml = (text: string, pseudonym: Pseudonym): string =>
  text
    .replaceAll(COMMENT, '')
    .replaceAll(CDATA, (_, content: string) => escaped(content))
    .replaceAll(TEXT, (whole: string, tag: string, name: string | undefined, content: string) => {
      const isOpen = name !== undefined && !tag.endsWith('/>') && OPEN_NAMES.test(name);
      return isOpen || content.trim() === '' ? whole : tag + inEscaped(content, pseudonym);
    });

const escaped = (text: string): string => text.replaceAll(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);

const REFERENCES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function inEscaped(content: string, pseudonym: Pseudonym): string {
  const text = content.replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return REFERENCES[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
  return escaped(pseudonym(text));
}
