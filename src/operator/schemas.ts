import { z } from 'zod';

/** Schemas of values that several actions share. Outside they are JSON; inside they are bigint, number and null. */

const ID_MAX = 2n ** 63n - 1n;

/** A 64-bit number as a decimal string. Positive ids only. */
export const id = z
  .codec(z.string().regex(/^(?:0|[1-9]\d{0,18})$/), z.bigint().max(ID_MAX), {
    decode: (text) => BigInt(text),
    encode: (number) => number.toString(),
  })
  .describe('A 64-bit number as a decimal string.');

/** The id of a row of an account. An imported one may be negative. */
export const rowId = z
  .codec(
    z.string().regex(/^(?:0|-?[1-9]\d{0,18})$/),
    z
      .bigint()
      .min(-ID_MAX - 1n)
      .max(ID_MAX),
    {
      decode: (text) => BigInt(text),
      encode: (number) => number.toString(),
    },
  )
  .describe('An id as a decimal string (64 bits).');

/** Credits, or an amount of them: a signed 64-bit number as a decimal string. */
export const credits = z
  .codec(z.string().regex(/^(?:0|-?[1-9]\d{0,18})$/), z.bigint().min(-ID_MAX).max(ID_MAX), {
    decode: (text) => BigInt(text),
    encode: (number) => number.toString(),
  })
  .describe('Credits as a decimal string (64 bits, signed).');

/** RFC 3339 with Z; milliseconds since 1970 inside. */
export const instant = z
  .codec(z.iso.datetime().max(40), z.number(), {
    decode: (text) => Date.parse(text),
    encode: (ms) => new Date(ms).toISOString(),
  })
  .describe('An instant as RFC 3339 writes it, with Z.');

/** A text of at most so many characters, without control characters. */
export const line = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax)
    .regex(/^\P{Cc}*$/u, 'control characters are not allowed');

/** A whole number in a query. */
export const queryInteger = (least: number, most: number) =>
  z
    .codec(z.string().regex(/^\d{1,9}$/), z.number().int().min(least).max(most), {
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
