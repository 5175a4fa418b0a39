import type { Dialect } from '../../asmx/dialect/dialect.ts';
import type { RawValue, ReadAnswer } from '../old-server/answer.ts';
import type { RawRecord } from '../old-server/answer-values.ts';

/** What was learned from recordings: entries of a dialect, how often they were seen, and doubts. */
export interface Learned {
  readonly dialect: Dialect;
  readonly findings: readonly Finding[];
  readonly uncertain: readonly Doubt[];
}

export interface Finding {
  /** The entry of the dialect, such as columns.sent.FetchSentDS. */
  readonly entry: string;
  /** How many answers, rows or values show it. */
  readonly count: number;
  /** What was seen, with an example that never has a number or a text of a message. */
  readonly text: string;
}

export interface Doubt {
  readonly entry: string;
  /** What is not known, and what to do. */
  readonly reason: string;
  /** A word of the old server whose status is not known. */
  readonly word?: string;
}

/**
 * The doubts that a file leaves open. A file answers a doubt if it differs from what the recordings
 * alone show, if it has the word, or if a person named the entry in `answered`. A guess that an
 * earlier run wrote into the file stays a guess.
 */
export const openDoubts = (doubts: readonly Doubt[], written: Dialect, learned: Dialect): Doubt[] =>
  doubts.filter(({ entry, word }) => {
    if (written.answered?.includes(entry)) return false;
    if (word !== undefined)
      return !Object.values(written.statusWords ?? {})
        .flat()
        .includes(word);
    const there = valueAt(written, entry);
    return there === undefined || JSON.stringify(there) === JSON.stringify(valueAt(learned, entry));
  });

/** The value of an entry by its path; a key may have dots itself: caps.inbox.Unread. */
function valueAt(within: object, path: string): unknown {
  const own = within as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(own, path)) return own[path];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = Object.hasOwn(own, path.slice(0, dot)) ? own[path.slice(0, dot)] : undefined;
    if (typeof inner === 'object' && inner !== null) return valueAt(inner, path.slice(dot + 1));
  }
  return undefined;
}

export const NOTHING: Learned = { dialect: {}, findings: [], uncertain: [] };

export const onlyDoubt = (entry: string, reason: string): Learned => ({ ...NOTHING, uncertain: [{ entry, reason }] });

/** Learns one thing, or a few that are seen in the same places. */
export interface Learner {
  /** `value` is the value of the answer; undefined while there is no dialect to read it. */
  see(seen: Observation, value: unknown): void;
  learned(): Learned;
}

/** Merges entries. Only the entry `dataSet` has parts from two learners. */
export function merged(parts: readonly Learned[]): Learned {
  const dialects = parts.map(({ dialect }) => dialect);
  const dataSet = Object.assign({}, ...dialects.map((each) => each.dataSet ?? {})) as NonNullable<Dialect['dataSet']>;
  const whole = Object.assign({}, ...dialects) as Dialect;
  return {
    dialect: Object.keys(dataSet).length > 0 ? { ...whole, dataSet } : whole,
    findings: parts.flatMap(({ findings }) => findings),
    uncertain: parts.flatMap(({ uncertain }) => uncertain),
  };
}

/** Takes how often each of two ways was seen. If both were seen, that is a doubt. */
export function eitherWay(entry: string, [one, other]: readonly [number, number], found: EitherWay): Learned {
  if (one + other === 0) return onlyDoubt(entry, found.none);
  const uncertain = one > 0 && other > 0 ? [{ entry, reason: found.both }] : [];
  return { dialect: found.dialect, findings: [{ entry, count: one + other, text: found.text }], uncertain };
}
type EitherWay = Pick<Learned, 'dialect'> & Readonly<Record<'text' | 'none' | 'both', string>>;

/** An answered call of a recording. */
export interface Observation {
  readonly at: number;
  readonly account: string | null;
  /** The operation with its group, such as sent.FetchSentDS. */
  readonly name: string;
  readonly group: string;
  readonly operation: string;
  readonly isSoap: boolean;
  readonly status: number;
  /** Every text of the call by its name. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
  readonly answer: ReadAnswer;
}

/** The records of an answer: of a list, or the only one. */
export function recordsOf(raw: RawValue): RawRecord[] {
  if (raw === null || typeof raw === 'string') return [];
  if (Array.isArray(raw)) return raw.filter((each) => typeof each === 'object' && each !== null) as RawRecord[];
  return 'rows' in raw && Array.isArray(raw.rows) ? [] : [raw as RawRecord];
}

const SHOWN_LENGTH_MAX = 30;

/** Shows the form of a value without its content, because it may be personal. */
export const shapeOf = (text: string): string =>
  [...text.slice(0, SHOWN_LENGTH_MAX)]
    .map((each) => (/\p{N}/u.test(each) ? '9' : /\p{Lu}/u.test(each) ? 'X' : /\p{L}/u.test(each) ? 'x' : each))
    .join('') + (text.length > SHOWN_LENGTH_MAX ? '…' : '');

// With more different values, what is counted is no small set of words or names.
const DISTINCT_MAX = 200;

/** Counts values. It takes no new values when there are too many. */
export class Counts {
  readonly #counts = new Map<string, number>();

  add(value: string, times = 1): void {
    const before = this.#counts.get(value);
    if (before === undefined && this.#counts.size >= DISTINCT_MAX) return;
    this.#counts.set(value, (before ?? 0) + times);
  }

  of(value: string): number {
    return this.#counts.get(value) ?? 0;
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, each) => sum + each, 0);
  }

  /** The values with their counts, the most frequent first. */
  get ranked(): [value: string, count: number][] {
    return [...this.#counts].sort(([, one], [, other]) => other - one);
  }
}
