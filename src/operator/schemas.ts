import { z } from 'zod';
import { readSomeNetworks } from '../base/networks.ts';

/**
 * Schemas of values that several actions share. Outside they are JSON; inside they are bigint,
 * number and null.
 */

/** Errors of schemas without a sentence of their own. They name types and limits, not values. */
z.config({
  customError: (issue) => {
    if (issue.code === 'invalid_type') return `expected ${TYPES[issue.expected] ?? issue.expected}`;
    if (issue.code === 'too_big') return `expected at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
    if (issue.code === 'too_small') return `expected at least ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
    if (issue.code === 'invalid_value') return `expected one of ${issue.values.map(String).filter(Boolean).join(', ')}`;
    if (issue.code === 'invalid_union') return 'expected one of the documented formats';
    return undefined;
  },
});
const TYPES: Readonly<Record<string, string>> = { string: 'a text', array: 'a list', object: 'an object' };
const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' items' };

/** A whole number, with one sentence for every mistake. */
export function integer(least: number, most: number) {
  const sentence = `expected a whole number from ${least} to ${most}`;
  return z.int(sentence).min(least, sentence).max(most, sentence);
}

const ID_MAX = 2n ** 63n - 1n;
const A_NUMBER = `expected a whole number from 0 to ${ID_MAX}`;
const A_SIGNED_NUMBER = `expected a whole number from -${ID_MAX} to ${ID_MAX}`;
const AN_ID = 'expected an id: a whole number of 64 bits';

/** A 64-bit number as a decimal string. Another JSON type is told that a text is expected. */
const decimal = (form: RegExp, least: bigint, most: bigint, sentence: string) =>
  z.codec(
    z.string(`${sentence}, as a text`).regex(form, sentence),
    z.bigint().min(least, sentence).max(most, sentence),
    { decode: (text) => BigInt(text), encode: (number) => number.toString() },
  );
const UNSIGNED = /^(?:0|[1-9]\d{0,18})$/;
const SIGNED = /^(?:0|-?[1-9]\d{0,18})$/;

/** A 64-bit number as a decimal string. Positive ids only. */
export const id = decimal(UNSIGNED, 0n, ID_MAX, A_NUMBER).describe('A 64-bit number as a decimal string.');

/** The id of a row of an account. An imported id may be negative. */
export const rowId = decimal(SIGNED, -ID_MAX - 1n, ID_MAX, AN_ID).describe('An id as a decimal string (64 bits).');

/** Credits, or an amount of them: a signed 64-bit number as a decimal string. */
export const credits = decimal(SIGNED, -ID_MAX, ID_MAX, A_SIGNED_NUMBER).describe(
  'Credits as a decimal string (64 bits, signed).',
);

/** Credits that are not below 0. */
export const amount = decimal(UNSIGNED, 0n, ID_MAX, A_NUMBER).describe('Credits as a decimal string (64 bits).');

const AN_INSTANT = 'expected an instant such as 2026-11-15T12:00:00Z or 2026-11-15T14:00:00+02:00';
/** RFC 3339 with Z or an offset; milliseconds since 1970 inside. Answers have Z. */
export const instant = z
  .codec(z.iso.datetime({ offset: true, error: AN_INSTANT }).max(40, AN_INSTANT), z.number(), {
    decode: (text) => Date.parse(text),
    encode: (ms) => new Date(ms).toISOString(),
  })
  .describe('An instant in the format of RFC 3339, with Z or with an offset such as +02:00. Answers have Z.');

/** A text of at most `lengthMax` characters, without control characters. */
export const line = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax)
    .regex(/^\P{Cc}*$/u, 'control characters are not allowed');

/**
 * A field under its former name, beside the new one. This version still takes or gives it, and the
 * next one does not.
 */
export const formerName = <T extends z.ZodType>(schema: T, name: string): T =>
  schema.meta({
    description: `The former name of \`${name}\`. The next version will not have it.`,
    deprecated: true,
    'x-replaced-by': name,
  });

/** A whole number in a query. */
export const queryInteger = (least: number, most: number) =>
  z
    .codec(z.string().regex(/^\d{1,9}$/, `expected a whole number from ${least} to ${most}`), integer(least, most), {
      decode: Number,
      encode: String,
    })
    .meta({ type: 'integer', minimum: least, maximum: most, pattern: undefined });

/** A truth value in a query: `?dry_run`, `?dry_run=true` or `?dry_run=false`. */
export const queryFlag = z
  .codec(z.enum(['', 'true', 'false']), z.boolean(), {
    decode: (text) => text !== 'false',
    encode: (value) => (value ? 'true' : 'false'),
  })
  .default(false);

export const username = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, 'control characters are not allowed');

/** The parameters of a path below an account. */
export const accountParams = z.strictObject({ username });
export const messageParams = z.strictObject({ username, id: rowId });

const network = z.string().max(50).refine(isNetwork, 'expected an address or a network such as 10.0.0.0/8');

/** A list in JSON, and a text with commas in the account. */
export const allowedNetworks = z
  .codec(z.array(network).max(100), z.string().nullable(), {
    decode: (networks) => networks.join() || null,
    encode: (networks) => networks?.split(',') ?? [],
  })
  .describe('Addresses and networks from which the account may be used; none means everywhere.');

function isNetwork(value: string): boolean {
  try {
    return readSomeNetworks(value).length === 1 && !value.includes(',');
  } catch {
    return false;
  }
}
