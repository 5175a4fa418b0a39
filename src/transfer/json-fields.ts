import { parseSchemaDate } from '../asmx/contract/dates.ts';
import { parseInt32, parseLong } from '../asmx/contract/scalars.ts';
import { Problem } from '../base/problem.ts';

// Two screens of mistakes. A file of a million accounts can have a million mistakes.
const MISTAKES_MAX = 100;
const MISTAKE_LENGTH_MAX = 300;

/** Collects mistakes: the first ones as text, the others as a number. */
export class Mistakes {
  readonly told: string[] = [];
  leftOut = 0;

  constructor(told: readonly string[] = []) {
    for (const each of told) this.add(each);
  }

  /** Names of fields come from the file. They may be long and may contain terminal escapes. */
  add(mistake: string): void {
    if (this.told.length >= MISTAKES_MAX) this.leftOut += 1;
    else this.told.push(mistake.slice(0, MISTAKE_LENGTH_MAX).replace(/\p{Cc}/gu, '…'));
  }

  addAll({ told, leftOut }: Mistakes, prefix: string): void {
    for (const each of told) this.add(prefix + each);
    this.leftOut += leftOut;
  }
}

export class InvalidAccount extends Problem {
  readonly mistakes: Mistakes;

  constructor(mistakes: Mistakes) {
    super('bad-argument', mistakes.told.join('\n'));
    this.mistakes = mistakes;
  }
}

/**
 * Reads the fields of a JSON object with their types.
 * A field that is never read is a mistake, so that a misspelt name loses no data.
 * Mistakes name the field and never repeat its value, which may be a secret.
 * A wrong field reads as undefined. The caller checks for mistakes after the last field.
 */
export class Fields {
  /** Undefined if the value is no object. That is one mistake, not one for each field. */
  readonly #values: Map<string, unknown> | undefined;
  readonly #path: string;
  readonly mistakes: Mistakes;

  constructor(value: unknown, path: string, mistakes: Mistakes) {
    this.#path = path;
    this.mistakes = mistakes;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    this.#values = isObject ? new Map(Object.entries(value)) : this.refuse('', 'expected an object');
  }

  refuse<T>(name: string, reason: string): T {
    const path = [this.#path, name].filter(Boolean).join('.');
    this.mistakes.add(path ? `${path}: ${reason}` : reason);
    return undefined as T;
  }

  /** The name by which the object has a field: its name, or the former one. Both are a mistake. */
  nameOf(name: string, former: string | undefined): string {
    return former !== undefined && this.#values?.has(former) && !this.#values.has(name) ? former : name;
  }

  /** Absent and null mean the same. */
  text(name: string): string | null {
    const value = this.#take(name);
    if (value === undefined) return this.#nothing();
    if (typeof value !== 'string') return this.refuse(name, 'expected a text');
    if (!value.isWellFormed()) return this.refuse(name, 'expected a text without halves of surrogate pairs');
    return value;
  }

  requiredText(name: string): string {
    return this.#required(name, this.text(name));
  }

  /** Reads a JSON number or a text. Both are exact: see parseJson. */
  long(name: string): bigint {
    return this.#required(name, this.optionalLong(name));
  }

  optionalLong(name: string): bigint | null {
    return this.#number(name, parseLong, 'expected a whole number of 64 bits');
  }

  int(name: string, fallback: number | null = null): number {
    const value = this.#number(name, parseInt32, 'expected a whole number of 32 bits');
    return value === null && fallback !== null ? fallback : this.#required(name, value);
  }

  boolean(name: string): boolean {
    const value = this.#take(name);
    if (value === undefined) return this.#required(name, this.#nothing<boolean>());
    return typeof value === 'boolean' ? value : this.refuse(name, 'expected true or false');
  }

  instant(name: string): number {
    return this.#required(name, this.optionalInstant(name));
  }

  optionalInstant(name: string): number | null {
    const value = this.text(name);
    if (typeof value !== 'string') return value;
    const at = /^\d{4}-\d\d-\d\d/.test(value) ? parseSchemaDate(value, { now: 0, zone: 'UTC' }) : null;
    if (at === null || at < FIRST_INSTANT || at > LAST_INSTANT)
      return this.refuse(name, 'expected a date and time such as 2026-10-02T10:45:30Z');
    return at;
  }

  /** An absent list is empty. A value that is no list is a mistake and reads as empty. */
  list<T>(name: string, read: (value: unknown, path: string) => T): T[] {
    const value = this.#take(name) ?? [];
    if (!Array.isArray(value)) return this.refuse(name, 'expected a list') ?? [];
    return value.map((item, index) => read(item, [this.#path, `${name}[${index}]`].filter(Boolean).join('.')));
  }

  /** Reports fields that were never read. Call it last. */
  end(): void {
    for (const unknown of this.#values?.keys() ?? []) this.refuse(unknown, 'there is no such field');
  }

  #take(name: string): unknown {
    const value = this.#values?.get(name);
    this.#values?.delete(name);
    return value === null ? undefined : value;
  }

  #number<T>(name: string, parse: (text: string) => T | null, expected: string): T | null {
    const value = this.#take(name);
    if (value === undefined) return this.#nothing();
    const exact = typeof value === 'string' || typeof value === 'bigint' || Number.isSafeInteger(value);
    return (exact ? parse(String(value)) : null) ?? this.refuse(name, expected);
  }

  /** Reports an absent field, unless the whole object is absent. */
  #nothing<T>(): T | null {
    return this.#values ? null : (undefined as T);
  }

  #required<T>(name: string, value: T | null): T {
    return value === null ? this.refuse(name, 'missing') : value;
  }
}

// The range of instants that can be written in UTC with a year of four digits.
const FIRST_INSTANT = Date.parse('0001-01-01T00:00:00Z');
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Parses JSON with whole numbers beyond 2^53 as bigint. Throws SyntaxError. Only texts with such
 * numbers take the slower way.
 */
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

/** JSON.parse with source text access, which TypeScript does not know yet. */
type ParseWithSource = (
  text: string,
  revive: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;
