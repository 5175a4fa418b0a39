import { createHash } from 'node:crypto';
import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min';

/** Phone numbers: one key for all the ways in which one number is written. */

/**
 * The E.164 form where the text can be read as a number, seen from `region`; else its digits; else the trimmed text, so
 * that equal texts have equal keys.
 */
export function numberKey(text: string, region: string | null): string {
  const trimmed = text.trim();
  const number = parsePhoneNumberFromString(trimmed, asCountry(region));
  const key = number?.number ?? (trimmed.replace(/\P{Nd}/gu, '') || trimmed);
  return key.length <= KEY_LENGTH_MAX ? key : createHash('sha256').update(key, 'utf8').digest('hex');
}

// Keys are indexed, and an index does not take texts of any length. No number that exists is longer.
const KEY_LENGTH_MAX = 64;

export const hasDigit = (text: string): boolean => /\p{Nd}/u.test(text);

/** The country of a number in international form. */
export const regionOf = (text: string | null): string | null =>
  (text && parsePhoneNumberFromString(text)?.country) || null;

export const isRegion = (text: string): boolean => isSupportedCountry(text);

const asCountry = (region: string | null): CountryCode | undefined =>
  region && isSupportedCountry(region) ? region : undefined;
