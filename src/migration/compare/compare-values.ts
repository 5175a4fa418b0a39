import { scalarText } from '../../asmx/contract/scalars.ts';
import type { Fields, ResultType, Scalar } from '../../asmx/contract/types.ts';
import { type Dialect, STATUS_FIELD, statusOfWord } from '../../asmx/dialect/dialect.ts';
import { DELIVERY_STATUSES } from '../../domain/messages/statuses.ts';
import type { RawValue, ReadAnswer } from '../old-server/answer.ts';
import type { RawDataSet } from '../old-server/answer-dataset.ts';
import type { RawRecord } from '../old-server/answer-values.ts';
import { FIELD_DIFFERENCES, type Findings, type KnownDifference } from './known-differences.ts';
import type { Pseudonym } from './pseudonyms.ts';

/** Compares results by the contract's types: names and texts of the wire, field by field. */
export interface CompareSettings {
  readonly dialect: Dialect;
  /** The zone of dates without one, if the dialect names none. */
  readonly zone: string;
  /** Known differences that are switched off. */
  readonly disabled: ReadonlySet<KnownDifference>;
  /** Replaces personal values, so that examples can be shown. */
  readonly pseudonym: Pseudonym;
  /** The most rows of our lists. */
  readonly listLimit: number;
}

type Values = Extract<ReadAnswer, { kind: 'value' }>;

interface Results {
  /** The operation with its group: `sent.FetchSentDS`. */
  readonly name: string;
  readonly result: ResultType;
  readonly theirs: Values;
  readonly own: Values;
}

type Settings = Pick<CompareSettings, 'dialect' | 'zone' | 'pseudonym' | 'listLimit'>;
type Row = RawRecord | string | null;

export function compareResults({ name, result, theirs, own }: Results, settings: Settings, findings: Findings): void {
  const fields = fieldsOf(result, name, settings);
  const compare = new FieldComparison(settings, datesZone(result, settings), findings);
  if (result.kind === 'scalar') {
    compare.texts('the result', result, textOf(theirs.raw), textOf(own.raw));
    return;
  }
  if (result.kind === 'record') {
    compare.rows(name, fields, theirs.raw as Row, own.raw as Row);
    return;
  }
  if (result.kind === 'dataSet') compareSchemas(theirs.raw, own.raw, findings);
  const item = result.kind === 'list' && result.item.kind === 'scalar' ? result.item : fields;
  compareLists({ name, item, theirs: rowsOf(theirs.raw), own: rowsOf(own.raw) }, compare, settings, findings);
}

const textOf = (raw: RawValue): string | null => (typeof raw === 'string' ? raw : null);

function rowsOf(raw: RawValue): readonly Row[] {
  if (Array.isArray(raw)) return raw as readonly Row[];
  return raw !== null && typeof raw === 'object' && 'rows' in raw ? (raw as RawDataSet).rows : [];
}

/** The types of the names on the wire. */
function fieldsOf(result: ResultType, operation: string, { dialect }: Settings): Fields {
  if (result.kind === 'record') return result.fields;
  if (result.kind === 'list') return result.item.kind === 'record' ? result.item.fields : {};
  if (result.kind === 'scalar') return {};
  const columns = dialect.columns?.[operation];
  if (!columns) return result.columns;
  const types = columns.flatMap(({ name, from }) => {
    const type = from === undefined ? undefined : result.columns[from];
    // Messages name a column by its own name, so a mark tells which one has the status.
    return type ? [[name, from === STATUS_FIELD ? STATUS : type] as const] : [];
  });
  return Object.fromEntries(types);
}

/** Marks the column of the status whatever its name is. */
const STATUS: Scalar = { kind: 'scalar', name: 'string' };

const datesZone = (result: ResultType, { dialect, zone }: Settings): string =>
  ((result.kind === 'dataSet' ? dialect.dataSet?.dates : undefined) ?? dialect.dates)?.timeZone ?? zone;

function compareSchemas(theirs: RawValue, own: RawValue, findings: Findings): void {
  const [old, ours] = [theirs, own] as [RawDataSet | null, RawDataSet | null];
  if (!old || !ours || !('columns' in old) || !('columns' in ours)) return;
  const described = ({ name, table, columns }: RawDataSet) =>
    `${name}/${table}: ${columns.map((column) => `${column.name} ${column.type}`).join(', ')}`;
  if (described(old) !== described(ours)) {
    findings.differ(`columns: old ${described(old)}; ours ${described(ours)}`);
  }
}

interface Lists {
  readonly name: string;
  readonly item: Fields | Scalar;
  readonly theirs: readonly Row[];
  readonly own: readonly Row[];
}

function compareLists(lists: Lists, compare: FieldComparison, settings: Settings, findings: Findings): void {
  const { name, item } = lists;
  const keyOf = (row: Row): string => compare.key(item, row);
  const { theirs, own } = withinCap(lists, keyOf, settings, findings);
  const isReordered = !isSameOrder(theirs, own, keyOf) && isSameOrder(sorted(theirs, keyOf), sorted(own, keyOf), keyOf);
  if (isReordered) {
    const example = `${name}: ${theirs.length} equal rows in another order`;
    if (settings.dialect.orders?.[name] === undefined) findings.known('list-order', example);
    else findings.differ(`${example}, and the dialect names one`);
    return;
  }
  if (theirs.length !== own.length) findings.differ(`${name}: old ${theirs.length} rows, ours ${own.length}`);
  const rows = Math.min(theirs.length, own.length);
  for (let at = 0; at < rows && findings.differences.length < ROWS_SHOWN_MAX; at++) {
    compare.rows(`${name}, row ${at + 1}`, item, theirs[at] as Row, own[at] as Row);
  }
}

const ROWS_SHOWN_MAX = 3;

const isSameOrder = (one: readonly Row[], other: readonly Row[], keyOf: (row: Row) => string): boolean =>
  one.length === other.length && one.every((row, at) => keyOf(row) === keyOf(other[at] as Row));

const sorted = (rows: readonly Row[], keyOf: (row: Row) => string): readonly Row[] =>
  rows
    .map((row) => ({ row, key: keyOf(row) }))
    .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
    .map(({ row }) => row);

/** If one list ends at the limit of its server, the other list is compared only so far. */
function withinCap({ name, theirs, own }: Lists, keyOf: (row: Row) => string, settings: Settings, findings: Findings) {
  const shorter = Math.min(theirs.length, own.length);
  if (theirs.length === own.length) return { theirs, own };
  const limit = theirs.length < own.length ? settings.dialect.caps?.[name] : settings.listLimit;
  const longer = theirs.length < own.length ? own : theirs;
  const isPrefix = isSameOrder(theirs.slice(0, shorter), own.slice(0, shorter), keyOf);
  if (limit !== shorter || !isPrefix) return { theirs, own };
  findings.known('rows-beyond-cap', `${name}: ${shorter} rows are the limit, the other has ${longer.length}`);
  return { theirs: theirs.slice(0, shorter), own: own.slice(0, shorter) };
}

class FieldComparison {
  readonly #settings: Settings;
  readonly #zone: string;
  readonly #findings: Findings;

  constructor(settings: Settings, zone: string, findings: Findings) {
    this.#settings = settings;
    this.#zone = zone;
    this.#findings = findings;
  }

  rows(place: string, item: Fields | Scalar, old: Row, ours: Row): void {
    if (isScalar(item) || typeof old === 'string' || typeof ours === 'string' || old === null || ours === null) {
      const type = isScalar(item) ? item : STRING;
      this.texts(
        place,
        type,
        typeof old === 'string' ? old : presence(old),
        typeof ours === 'string' ? ours : presence(ours),
      );
      return;
    }
    for (const name of new Set([...Object.keys(old), ...Object.keys(ours)])) {
      this.#field(place, name, item[name] ?? STRING, old[name], ours[name]);
    }
  }

  #field(place: string, name: string, type: Scalar, old: string | undefined, ours: string | undefined): void {
    if (old === ours) return;
    const difference = FIELD_DIFFERENCES[name];
    if (difference) this.#findings.known(difference, `${place}, ${name}`);
    else this.texts(`${place}, ${name}`, name === STATUS_FIELD ? STATUS : type, old ?? null, ours ?? null);
  }

  texts(place: string, type: Scalar, old: string | null, ours: string | null): void {
    if (old === ours) return;
    const example = `${place}: old ${this.#shown(type, old)}, ours ${this.#shown(type, ours)}`;
    if (old === null || ours === null || this.#meaning(type, old) !== this.#meaning(type, ours)) {
      this.#findings.differ(example);
    } else this.#findings.known(type === STATUS ? 'status-words' : NOTATION_DIFFERENCES[type.name], example);
  }

  /** Equal for values of equal meaning. */
  key(item: Fields | Scalar, row: Row): string {
    if (row === null || typeof row === 'string' || isScalar(item)) return JSON.stringify(row);
    const cells = Object.keys(row)
      .sort()
      .filter((name) => !FIELD_DIFFERENCES[name])
      .map((name) => [
        name,
        this.#meaning(name === STATUS_FIELD ? STATUS : (item[name] ?? STRING), row[name] as string),
      ]);
    return JSON.stringify(cells);
  }

  #meaning(type: Scalar, text: string): string {
    if (type === STATUS) return statusOfWord(this.#settings.dialect, text, DELIVERY_STATUSES) ?? text;
    if (type.name === 'string') return text;
    const value = scalarText[type.name].parseSchema(text, { now: 0, zone: this.#zone });
    return value === null ? `not a ${type.name}: ${text}` : String(value);
  }

  /** Texts and numbers of people are shown by their pseudonyms. */
  #shown(type: Scalar, text: string | null): string {
    if (text === null) return 'absent';
    const value = type === STATUS || type.name !== 'string' ? text : this.#settings.pseudonym(text);
    return JSON.stringify(value.length > SHOWN_LENGTH_MAX ? `${value.slice(0, SHOWN_LENGTH_MAX)}…` : value);
  }
}

const SHOWN_LENGTH_MAX = 60;
const STRING: Scalar = { kind: 'scalar', name: 'string' };
const isScalar = (item: Fields | Scalar): item is Scalar => item.kind === 'scalar';
const presence = (row: Row): string | null => (row === null ? null : 'a record');

const NOTATION_DIFFERENCES = {
  string: 'xml-notation',
  int: 'number-form',
  long: 'number-form',
  boolean: 'boolean-form',
  dateTime: 'dateTime-form',
} as const;
