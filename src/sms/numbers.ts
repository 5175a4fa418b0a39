import { createHash } from 'node:crypto';
import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/min';
import examples from 'libphonenumber-js/mobile/examples';
import { BoundedMap } from '../base/bounded-map.ts';
import { detached } from '../base/detached.ts';

/**
 * Decides which texts name the same phone number. That depends on the country in which a local
 * number is read, and an account may change its country any day. The database therefore stores the
 * digits as they were written. All notations of a number end in the same digits, so numbers are
 * found by their last digits and then compared.
 */

/**
 * Which texts name the same number as `text`, read in `region`, and how the keys of such texts may
 * end.
 */
export interface SameNumber {
  /** Usually one. */
  readonly ends: readonly string[];
  readonly matches: (other: string | null) => boolean;
}

export function sameNumber(text: string, region: string | null): SameNumber {
  const own = written(text);
  const key = numberKey(text, region);
  // A longer number has one end, so only a short one has to be read.
  const number = key.length <= SHORT_LENGTH_MAX ? readNumber(own, asCountry(region)) : undefined;
  return {
    ends: [...new Set([endOf(own.key), ...(number ? shortEnds(number) : [])])],
    matches: (other) => other !== null && (other === text || numberKey(other, region) === key),
  };
}

/**
 * The ends of many numbers in E.164. Parsing a number takes 20 times as long as taking its last
 * digits, and only a number of at most 9 digits can have several ends, because a country code has
 * at most 3.
 */
export const endsOfAll = (numbers: readonly string[], region: string | null): Set<string> =>
  new Set(
    numbers.flatMap((number) =>
      number.length > SHORT_LENGTH_MAX ? [numberEnd(number)] : sameNumber(number, region).ends,
    ),
  );

/**
 * E.164 if the text can be read as a number in `region`, else its digits, else the trimmed text.
 */
export function numberKey(text: string, region: string | null): string {
  const asked = `${region ?? ''} ${text}`;
  let key = keys.get(asked);
  if (key === undefined) {
    key = readKey(text, region);
    if (text.length <= KEY_LENGTH_MAX) keys.set(asked, key);
  }
  return key;
}

/** Reading a number takes 25 µs, and messages go to the same people again. At most 4 MB. */
const keys = new BoundedMap<string, string>(20_000);

function readKey(text: string, region: string | null): string {
  const own = written(text);
  return readNumber(own, asCountry(region))?.number ?? own.key;
}

/** E.164 of a possible number, read in `region`; null for any other text. */
export function e164(text: string, region: string | null): string | null {
  const number = readNumber(written(text), asCountry(region));
  return number?.isPossible() ? number.number : null;
}

/**
 * The groups in which people write a number in E.164, such as +27, 82, 555 and 0142. Any other text
 * is one group, because only its country tells how it is written.
 */
export function numberGroups(text: string): readonly string[] {
  if (text.length > KEY_LENGTH_MAX) return [text];
  let found = groups.get(text);
  if (found === undefined) {
    const written = /^\+\d{7,15}$/.test(text) ? parsePhoneNumberFromString(text)?.formatInternational() : undefined;
    const read = written?.split(/[^+\d]+/) ?? [text];
    found = (read.join('') === text ? read : [text]).map(detached);
    groups.set(text, found);
  }
  return found;
}
const groups = new BoundedMap<string, readonly string[]>(20_000);

/** The key that is stored to find a number: its digits, or the trimmed text if it has none. */
export const writtenKey = (text: string): string => written(text).key;

/**
 * The last characters of that key, which are the same for every notation of a number, except for
 * very short numbers.
 */
export const numberEnd = (text: string): string => endOf(written(text).key);

const endOf = (key: string): string =>
  DIGITS.test(key) ? key.slice(-END_LENGTH) : [...key].slice(-END_LENGTH).join('');

// The length that is indexed. Even a number that is dialled without its area code has at least 6
// digits.
const END_LENGTH = 6;
const CODE_LENGTH_MAX = 3;
/** The longest E.164 of a number that may have several ends: a plus sign, a code, the end. */
const SHORT_LENGTH_MAX = 1 + CODE_LENGTH_MAX + END_LENGTH;

/**
 * The ends of a number that is so short that its end contains what precedes it: nothing, a trunk
 * prefix or the country code.
 */
function shortEnds({ nationalNumber: digits, countryCallingCode }: PhoneNumber): string[] {
  if (digits.length > END_LENGTH) return [];
  // Numbers of Norfolk Island have 6 digits, of which 5 are dialled locally.
  return [digits, digits.slice(-5), `0${digits}`, `${countryCallingCode}${digits}`].map((each) =>
    each.slice(-END_LENGTH),
  );
}

interface Written {
  readonly key: string;
  readonly digits: string;
  readonly sign: '+' | ' ' | '';
  /** Whether the text has an exponent, so that its digits are not those of the original number. */
  readonly hasExponent: boolean;
}

/**
 * Reads a text without any country. Punctuation and blanks are ignored, and so is an extension,
 * because it is not part of the number.
 */
function written(text: string): Written {
  // Nearly all are digits alone, which takes a tenth of the time below.
  if (DIGITS.test(text)) {
    const digits = text.startsWith('+') ? text.slice(1) : text;
    return { key: digits, digits, sign: digits === text ? '' : '+', hasExponent: false };
  }
  const trimmed = text.trim();
  if (trimmed.length > READ_LENGTH_MAX) return { key: keyOf(trimmed), digits: '', sign: '', hasExponent: false };
  const plain = trimmed.replace(OTHER_DIGITS, (digit) => String(digit.charCodeAt(0) % 16));
  const extension = plain.search(EXTENSION);
  const own = extension > 0 && hasDigit(plain.slice(0, extension)) ? plain.slice(0, extension) : plain;
  const digits = own.replace(/\P{Nd}/gu, '');
  // In a query a plus sign that was not escaped arrives as a blank.
  const sign = PLUS.test(own.slice(0, own.search(/\d/))) ? '+' : /^ [1-9]/.test(text) ? ' ' : '';
  // The engines disagree about the end of a text with control characters.
  const key = keyOf(digits || trimmed.replace(/\p{Cc}/gu, ''));
  return { key, digits, sign, hasExponent: EXPONENT.test(plain) };
}

// Keys are indexed, and an index limits the length of a text. No existing number is longer.
const KEY_LENGTH_MAX = 64;

/** A number without punctuation, as carriers write it. */
const DIGITS = new RegExp(`^\\+?\\d{1,${KEY_LENGTH_MAX}}$`);

const keyOf = (key: string): string =>
  key.length <= KEY_LENGTH_MAX ? key : createHash('sha256').update(key, 'utf8').digest('hex');

// Arabic, Persian, full width: the digits that a phone writes.
const OTHER_DIGITS = /[\u0660-\u0669\u06f0-\u06f9\uff10-\uff19]/g;
const EXTENSION = /(?:ext(?:ension|n)?|x|#)[.:=\s]{0,3}\d{1,5}#?$/i;
const PLUS = /[+\uff0b][^\p{L}\p{N}]*$/u;
// A longer text is not a number, whatever its digits are.
const READ_LENGTH_MAX = 250;

/**
 * Reads a number with an international prefix as international. Otherwise the given country comes
 * first, because a local number must not become a number of another country. Numbering plans
 * change, so a number that they do not contain is judged by its length, then by its notation.
 */
function readNumber(own: Written, country: CountryCode | undefined): PhoneNumber | undefined {
  const { digits, sign } = own;
  if (digits === '' || digits.length > READ_DIGITS_MAX || own.hasExponent) return undefined;
  const unsigned = digits.startsWith('0') ? undefined : parse(`+${digits}`);
  if (sign === '+') return unsigned;
  const dialled = digits.startsWith('00') ? parse(`+${digits.slice(2)}`) : undefined;
  if (!country) return dialled ?? unsigned;
  if (dialled?.isValid()) return dialled;
  if (sign === ' ' && unsigned?.isValid()) return unsigned;
  const local = parse(digits, country);
  if (local?.isValid() && !(unsigned?.isValid() && isWithOwnCode(digits, unsigned, country))) return local;
  if (unsigned?.isValid()) return unsigned;
  return [dialled, local, unsigned].find((each) => each?.isPossible()) ?? dialled ?? local;
}

// E.164 allows 15 digits, and up to 5 digits for dialling abroad may precede them.
const READ_DIGITS_MAX = 20;
// Including the country code. A shorter number is a short code or an extension.
const NUMBER_DIGITS_MIN = 7;

function parse(text: string, country?: CountryCode): PhoneNumber | undefined {
  const number = parsePhoneNumberFromString(text, country);
  return number && number.number.length > NUMBER_DIGITS_MIN ? number : undefined;
}

/**
 * A local number may begin with the same digits as its country code, such as 49 in Germany. If the
 * text is longer than a mobile number, they are the country code.
 */
const isWithOwnCode = (digits: string, unsigned: PhoneNumber, country: CountryCode): boolean =>
  unsigned.country === country && digits.length > (examples[country]?.length ?? digits.length);

export const hasDigit = (text: string): boolean => /\p{Nd}/u.test(text);

/** The country of a number in international form. A page asks several times for its account. */
export function regionOf(text: string | null): string | null {
  if (text === null) return null;
  let region = regions.get(text);
  if (region === undefined) {
    region = parsePhoneNumberFromString(text)?.country ?? null;
    if (text.length <= KEY_LENGTH_MAX) regions.set(text, region);
  }
  return region;
}
const regions = new BoundedMap<string, string | null>(20_000);

export const isRegion = (text: string): boolean => isSupportedCountry(text);

/**
 * Whether a number in E.164 is of one of these countries. Where several countries share a calling
 * code and the number does not tell which one it is of, the code decides.
 */
export function isOfCountry(number: string, countries: readonly string[]): boolean {
  const read = parsePhoneNumberFromString(number);
  if (!read) return false;
  if (read.country) return countries.includes(read.country);
  return countries.some(
    (country) => isSupportedCountry(country) && getCountryCallingCode(country) === read.countryCallingCode,
  );
}

const asCountry = (region: string | null): CountryCode | undefined =>
  region && isSupportedCountry(region) ? region : undefined;

/**
 * What is wrong with a number, for example because a spreadsheet has changed it. `proposal` is what
 * it probably was.
 */
export interface NumberFault {
  readonly detail: string;
  readonly proposal: string | null;
}

const EXPONENT = /^\+?(\d)(?:[.,](\d+))?E\+?(\d{1,2})$/i;

/**
 * The fault of a number such as 2.78E+10, to which nothing may be sent because its digits are
 * another number. Null for other texts.
 */
export function exponentFault(text: string): NumberFault | null {
  const [, first, rest = '', exponent] = EXPONENT.exec(text.trim()) ?? [];
  if (first === undefined) return null;
  const isWhole = rest.length === Number(exponent);
  const detail = 'a spreadsheet has written this number with an exponent';
  return {
    detail: isWhole ? detail : `${detail}, and digits are lost`,
    proposal: isWhole ? `+${first}${rest}` : null,
  };
}

/** Why nothing can be sent to a text that is no number in `region`. */
export function impossibleDetail(text: string, region: string | null): string {
  const fault = exponentFault(text)?.detail;
  if (fault !== undefined) return fault;
  if (region !== null || !/^[\d\s().-]{5,20}$/.test(text)) return 'this is not a possible phone number';
  return 'the number has no country code, and the account has no region. Write +27…, or set the region of the account';
}

/** Null for a text that may be a phone number in `region`. */
export function numberFault(text: string, region: string | null): NumberFault | null {
  const trimmed = text.trim();
  const exponent = exponentFault(trimmed);
  if (exponent) return exponent;
  if (DATE.test(trimmed)) return { detail: 'this is a date, not a phone number', proposal: null };
  const decimal = /^(\d{5,20})[.,]0+$/.exec(trimmed);
  if (decimal) return { detail: 'a spreadsheet has written this number with decimals', proposal: decimal[1] as string };
  const zero = withLostZero(trimmed, asCountry(region));
  if (zero) return { detail: 'a spreadsheet has taken the 0 at the beginning away', proposal: zero };
  const own = written(trimmed);
  const isReadable = readNumber(own, asCountry(region))?.isPossible() === true;
  // Without a country nobody can tell whether a local number is possible.
  const isLocal = region === null && /^\d{7,15}$/.test(own.digits);
  if (!isReadable && !isLocal) return { detail: 'this is not a phone number', proposal: null };
  return null;
}

/** 2026/11/15, 2026-11-15, 15.11.2026 or 11/15/2026. */
const DATE = /^(?:(?:19|20)\d\d([/.-])[01]?\d\1[0-3]?\d|[0-3]?\d([/.-])[0-3]?\d\2(?:19|20)\d\d)$/;

/**
 * Proposes a number for digits that are not valid with the country code but are a valid local
 * number after a 0.
 */
function withLostZero(text: string, country: CountryCode | undefined): string | null {
  if (!country || !/^[1-9]\d{5,13}$/.test(text) || parse(`+${text}`)?.isValid()) return null;
  const local = parse(`0${text}`, country);
  return local?.isValid() && local.nationalNumber === text ? `0${text}` : null;
}
