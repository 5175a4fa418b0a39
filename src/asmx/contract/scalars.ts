import { type DateContext, formatDate, parseGeneralDate, parseSchemaDate } from './dates.ts';
import type { ScalarName, ScalarValue } from './types.ts';

/** Parses and formats the five scalars. A parser returns null for invalid text. */
export interface ScalarText {
  parseSchema(text: string, context: DateContext): ScalarValue | null;
  parseGeneral(text: string, context: DateContext): ScalarValue | null;
  format(value: never): string;
  /** The end of an error message: `expected …`. */
  readonly expected: string;
}

// .NET trims U+0009 to U+000D and the space, nothing else.
const INTEGER = /^[\t-\r ]*([+-]?)0*([0-9]{1,19})[\t-\r ]*$/;
const LONG_MIN = -(2n ** 63n);
const LONG_MAX = 2n ** 63n - 1n;

export function parseLong(text: string): bigint | null {
  const match = INTEGER.exec(text);
  if (!match) return null;
  const value = BigInt(match[2] as string) * (match[1] === '-' ? -1n : 1n);
  return value < LONG_MIN || value > LONG_MAX ? null : value;
}

export function parseInt32(text: string): number | null {
  const value = parseLong(text);
  return value === null || value !== BigInt.asIntN(32, value) ? null : Number(value);
}

const BOOLEANS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);
const parseBoolean = (text: string): boolean | null => BOOLEANS.get(text.trim().toLowerCase()) ?? null;

export const scalarText: Record<ScalarName, ScalarText> = {
  string: {
    parseSchema: (text) => text,
    parseGeneral: (text) => text,
    format: (value: string) => value,
    expected: 'text',
  },
  int: {
    parseSchema: parseInt32,
    parseGeneral: parseInt32,
    format: (value: number) => String(value),
    expected: 'a whole number from -2147483648 to 2147483647',
  },
  long: {
    parseSchema: parseLong,
    parseGeneral: parseLong,
    format: (value: bigint) => String(value),
    expected: 'a whole number from -9223372036854775808 to 9223372036854775807',
  },
  boolean: {
    parseSchema: parseBoolean,
    parseGeneral: parseBoolean,
    format: (value: boolean) => (value ? 'true' : 'false'),
    expected: 'true or false',
  },
  dateTime: {
    parseSchema: parseSchemaDate,
    parseGeneral: parseGeneralDate,
    format: formatDate,
    expected: 'a date and time such as 2026-10-02T10:45:30Z',
  },
};
