import { parseSchemaDate } from '../contract/dates.ts';
import { parseInt32, parseLong } from '../contract/scalars.ts';
import { Problem } from '../problem.ts';

/**
 * Reads the fields of a JSON object one by one, each with its type, and refuses what nobody asked for: a misspelt name is an
 * error and not a loss. Errors say where and what, and never repeat a value, which may be a secret.
 */
export class Fields {
  readonly #values: Map<string, unknown>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    this.#path = path;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.error('', 'expected an object');
    this.#values = new Map(Object.entries(value));
  }

  error(name: string, reason: string): Problem {
    const place = [this.#path, name].filter(Boolean).join('.');
    return new Problem('bad-argument', place ? `${place}: ${reason}` : reason);
  }

  /** Absent and null are the same. */
  text(name: string): string | null {
    const value = this.#take(name);
    if (value === undefined) return null;
    if (typeof value !== 'string') throw this.error(name, 'expected a text');
    if (!value.isWellFormed()) throw this.error(name, 'expected a text without halves of surrogate pairs');
    return value;
  }

  requiredText(name: string): string {
    return this.text(name) ?? this.#missing(name);
  }

  /** A JSON number or a text; a text is exact, and so is a number here (see parseJson). */
  long(name: string): bigint {
    return this.#number(name, parseLong, 'expected a whole number of 64 bits') ?? this.#missing(name);
  }

  optionalLong(name: string): bigint | null {
    return this.#number(name, parseLong, 'expected a whole number of 64 bits');
  }

  int(name: string, fallback: number | null = null): number {
    return this.#number(name, parseInt32, 'expected a whole number of 32 bits') ?? fallback ?? this.#missing(name);
  }

  boolean(name: string): boolean {
    const value = this.#take(name) ?? this.#missing(name);
    if (typeof value !== 'boolean') throw this.error(name, 'expected true or false');
    return value;
  }

  instant(name: string): number {
    return this.optionalInstant(name) ?? this.#missing(name);
  }

  optionalInstant(name: string): number | null {
    const value = this.text(name);
    if (value === null) return null;
    const at = /^\d{4}-\d\d-\d\d/.test(value) ? parseSchemaDate(value, { now: 0, zone: 'UTC' }) : null;
    if (at === null || at < FIRST_INSTANT || at > LAST_INSTANT)
      throw this.error(name, 'expected a date and time such as 2026-10-02T10:45:30Z');
    return at;
  }

  /** An absent list is an empty one. */
  list<T>(name: string, read: (value: unknown, path: string) => T): T[] {
    const value = this.#take(name) ?? [];
    if (!Array.isArray(value)) throw this.error(name, 'expected a list');
    return value.map((item, index) => read(item, [this.#path, `${name}[${index}]`].filter(Boolean).join('.')));
  }

  /** To be called when everything has been read. */
  end(): void {
    const [unknown] = this.#values.keys();
    if (unknown !== undefined) throw this.error(unknown, 'there is no such field');
  }

  #take(name: string): unknown {
    const value = this.#values.get(name);
    this.#values.delete(name);
    return value === null ? undefined : value;
  }

  #number<T>(name: string, parse: (text: string) => T | null, expected: string): T | null {
    const value = this.#take(name);
    if (value === undefined) return null;
    const exact = typeof value === 'string' || typeof value === 'bigint' || Number.isSafeInteger(value);
    const number = exact ? parse(String(value)) : null;
    if (number === null) throw this.error(name, expected);
    return number;
  }

  #missing(name: string): never {
    throw this.error(name, 'missing');
  }
}

// What can be written again, in UTC, with a year of four digits.
const FIRST_INSTANT = Date.parse('0001-01-01T00:00:00Z');
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

/** JSON with whole numbers beyond 2^53 as bigint; throws SyntaxError. The slower way is taken only where there are such. */
export function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  try {
    return (JSON.parse as ParseWithSource)(text, (_key, value, { source }) =>
      typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '')
        ? BigInt(source as string)
        : value,
    );
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new SyntaxError('nested too deep', { cause: thrown });
    throw thrown;
  }
}

/** With the text of a number as it stood there, which TypeScript does not know of yet. */
type ParseWithSource = (
  text: string,
  revive: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;
