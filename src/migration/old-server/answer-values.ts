import { scalarText } from '../../asmx/contract/scalars.ts';
import type { Fields, Scalar, ScalarValue } from '../../asmx/contract/types.ts';
import {
  booleanOfWord,
  type DateForm,
  type Dialect,
  GROUP_FIELD,
  STATUS_FIELD,
  statusOfWord,
} from '../../asmx/dialect/dialect.ts';
import type { XmlElement } from '../../asmx/xml/reader.ts';
import { DELIVERY_STATUSES } from '../../domain/messages/statuses.ts';

/** Names and texts of the wire. */
export interface RawRecord {
  readonly [name: string]: string;
}
export type ValueRecord = Record<string, ScalarValue | null>;

/** The answer does not fit the contract. The message never repeats a value. */
export class Unreadable extends Error {}

// There are 10 statuses. If a server has more words than this, they are no status words.
const WORDS_MAX = 100;

/** Converts texts of an answer to values of the contract, by the words and dates of the dialect. */
export class AnswerValues {
  readonly dialect: Dialect;
  readonly #words = new Map<string, string>();
  readonly #context: { readonly now: number; readonly zone: string };

  /** `dates` is the form of dates in this result, and `zone` that of dates without a zone. */
  constructor(dialect: Dialect, dates: DateForm | undefined, zone: string) {
    this.dialect = dialect;
    this.#context = { now: 0, zone: dates?.timeZone ?? zone };
  }

  scalar(type: Scalar, name: string, text: string): ScalarValue {
    const { parseSchema, expected } = scalarText[type.name];
    const isBoolean = type.name === 'boolean';
    const value = parseSchema(text, this.#context) ?? (isBoolean ? booleanOfWord(this.dialect, text) : null);
    if (value === null) throw new Unreadable(`${name}: expected ${expected}`);
    return value;
  }

  /** A field that the answer leaves out is null, whatever its type. */
  field(type: Scalar, name: string, text: string | undefined): ScalarValue | null {
    if (text === undefined) return null;
    if (type.name !== 'string') return text.trim() === '' ? null : this.scalar(type, name, text);
    if (name === GROUP_FIELD && this.#isNoGroup(text)) return null;
    if (name === STATUS_FIELD) return this.#status(text);
    return text === '' && this.dialect.emptyStrings === 'empty' ? null : text;
  }

  /** An unknown word stays as it is, so that it can be listed. */
  #status(text: string): string {
    const found = this.#words.get(text) ?? statusOfWord(this.dialect, text, DELIVERY_STATUSES) ?? text;
    if (this.#words.size < WORDS_MAX) this.#words.set(text, found);
    return found;
  }

  #isNoGroup(text: string): boolean {
    return text === '' || (this.dialect.groupId === 'zero' && text === '0');
  }

  record(fields: Fields, element: XmlElement): { value: ValueRecord; raw: RawRecord } {
    const raw = rawRecord(element);
    const value: ValueRecord = {};
    for (const [name, type] of Object.entries(fields)) value[name] = this.field(type, name, raw[name]);
    return { value, raw };
  }
}

/** The first of equal names wins, as in the XmlSerializer. A nil element is absent. */
export function rawRecord(element: XmlElement): RawRecord {
  const raw: Record<string, string> = Object.create(null);
  for (const child of element.children) {
    if (child.local in raw || child.attributes.some(({ local, value }) => local === 'nil' && /^(true|1)$/.test(value)))
      continue;
    raw[child.local] = child.text;
  }
  return raw;
}
