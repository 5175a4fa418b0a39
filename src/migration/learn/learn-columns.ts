import type { Fields } from '../../asmx/contract/types.ts';
import { COLUMN_TYPES, type ColumnType, type DataSetNames, type DialectColumn } from '../../asmx/dialect/dialect.ts';
import { columnsOfOperation } from '../../asmx/dialect/dialect-check.ts';
import { counted } from '../../base/counted.ts';
import type { RawValue } from '../old-server/answer.ts';
import type { RawColumn, RawDataSet } from '../old-server/answer-dataset.ts';
import type { RawRecord } from '../old-server/answer-values.ts';
import { assignColumns } from './learn-names.ts';
import { Counts, type Doubt, type Finding, type Learned, type Observation, recordsOf, shapeOf } from './learned.ts';

/** Learns the names of DataSets and tables, and which of our columns each column shows. */
export class ColumnsLearner {
  readonly #dataSets = new Map<string, DataSetStatistics>();
  readonly #records = new KnownRecords();

  see({ name, group, account, answer }: Observation): void {
    if (answer.kind !== 'value') return;
    if (!isDataSet(answer.raw)) {
      for (const record of recordsOf(answer.raw)) this.#records.add(group, account, record);
      return;
    }
    const seen = this.#dataSets.get(name) ?? new DataSetStatistics();
    this.#dataSets.set(name, seen);
    seen.see(answer.raw, (row) => this.#records.find(group, account, row));
  }

  learned(): Learned {
    const parts = [...this.#dataSets].map(([operation, seen]) => learnColumns(operation, seen));
    const names = learnNames(this.#dataSets);
    const columns = Object.fromEntries(parts.flatMap(({ columns: own }) => (own ? [own] : [])));
    return {
      dialect: { ...names.dialect, ...(Object.keys(columns).length > 0 && { columns }) },
      findings: [...names.findings, ...parts.flatMap(({ findings }) => findings)],
      uncertain: parts.flatMap(({ uncertain }) => uncertain),
    };
  }
}

const isDataSet = (raw: RawValue): raw is RawDataSet =>
  typeof raw === 'object' && raw !== null && 'columns' in raw && Array.isArray(raw.columns);

// A week of a busy account has fewer records. Each takes about 500 bytes.
const RECORDS_MAX = 20_000;

/** Records of lists, kept in memory, by which the columns of DataSets are recognised. */
class KnownRecords {
  readonly #records = new Map<string, RawRecord>();

  add(group: string, account: string | null, record: RawRecord): void {
    const id = record.id ?? record.user_message_id;
    if (id === undefined || id === '' || this.#records.size >= RECORDS_MAX) return;
    this.#records.set(`${group} ${account} ${id}`, record);
  }

  /** The record whose id is in the row. */
  find(group: string, account: string | null, row: RawRecord): RawRecord | undefined {
    for (const name in row) {
      const found = this.#records.get(`${group} ${account} ${row[name]}`);
      if (found) return found;
    }
    return undefined;
  }
}

interface ColumnStatistics {
  present: number;
  readonly values: Counts;
  /** In how many rows the column had the same text as a field of the record, by field. */
  readonly votes: Counts;
}

// Only the first rows of a long list are looked at, because the others show nothing new.
const ROWS_MAX = 200;

class DataSetStatistics {
  readonly names = new Counts();
  readonly shapes = new Counts();
  readonly columns = new Map<string, ColumnStatistics>();
  answers = 0;
  rows = 0;
  compared = 0;

  see({ name, table, columns, rows }: RawDataSet, recordOf: (row: RawRecord) => RawRecord | undefined): void {
    this.answers += 1;
    this.names.add(JSON.stringify([name, table]));
    this.shapes.add(JSON.stringify(columns));
    for (const row of rows.slice(0, ROWS_MAX)) this.#seeRow(row, recordOf(row));
  }

  #seeRow(row: RawRecord, record: RawRecord | undefined): void {
    this.rows += 1;
    if (record) this.compared += 1;
    for (const [name, value] of Object.entries(row)) {
      const seen = this.columns.get(name) ?? { present: 0, values: new Counts(), votes: new Counts() };
      this.columns.set(name, seen);
      seen.present += 1;
      seen.values.add(value);
      if (!record || value === '') continue;
      for (const field in record) if (record[field] === value) seen.votes.add(field);
    }
  }
}

function learnNames(seen: ReadonlyMap<string, DataSetStatistics>): Learned {
  const all = new Counts();
  for (const { names } of seen.values()) for (const [pair, count] of names.ranked) all.add(pair, count);
  const [usual] = all.ranked;
  if (!usual) return { dialect: {}, findings: [], uncertain: [] };
  const [name = '', table = ''] = JSON.parse(usual[0]) as string[];
  const dataSets: Record<string, DataSetNames> = {};
  for (const [operation, { names }] of seen) {
    const own = names.ranked[0]?.[0];
    if (own === undefined || own === usual[0]) continue;
    const [ownName = '', ownTable = ''] = JSON.parse(own) as string[];
    dataSets[operation] = { name: ownName, table: ownTable };
  }
  const isOurs = name === 'NewDataSet' && table === 'Table';
  return {
    dialect: {
      ...(!isOurs && { dataSet: { name, table } }),
      ...(Object.keys(dataSets).length > 0 && { dataSets }),
    },
    findings: [{ entry: 'dataSet', count: usual[1], text: `${name}, table ${table}` }],
    uncertain: [],
  };
}

interface LearnedColumns extends Pick<Learned, 'findings' | 'uncertain'> {
  readonly columns: readonly [operation: string, columns: readonly DialectColumn[]] | undefined;
}

function learnColumns(operation: string, seen: DataSetStatistics): LearnedColumns {
  const entry = `columns.${operation}`;
  const ours = columnsOfOperation(operation);
  const [shape, ...others] = seen.shapes.ranked;
  if (!ours || !shape) return { columns: undefined, findings: [], uncertain: [] };
  const declared = JSON.parse(shape[0]) as RawColumn[];
  const theirs = declared.map(({ name, type }) => ({ name, type: columnType(type), voted: votedFor(name, seen) }));
  const assigned = assignColumns(theirs, ours);
  const columns = theirs.map(({ name, type }) => columnOf(name, type, assigned.get(name), seen));
  const missing = Object.keys(ours).filter((field) => ![...assigned.values()].includes(field));
  const uncertain: Doubt[] = [
    ...(others.length > 0
      ? [{ entry, reason: `${counted(others.length, 'answer')} had other columns; look at the old server` }]
      : []),
    ...declared.flatMap(({ name, type }) => typeDoubt(entry, name, type)),
    ...columns.flatMap((column) => columnDoubt(entry, column, seen)),
    ...missing.map((field) => ({
      entry,
      reason: `no column shows the field ${field} of the contract; name the column, or clients will miss it`,
    })),
  ];
  const text = columns.map(columnText).join(', ');
  const findings: Finding[] = [{ entry, count: seen.answers, text }];
  return { columns: isOurs(columns, ours) ? undefined : [operation, columns], findings, uncertain };
}

/** Whether these are the columns of the contract, with their names, types and order. */
const isOurs = (columns: readonly DialectColumn[], ours: Fields): boolean =>
  JSON.stringify(columns.map(({ name, type, from }) => [name, type, from])) ===
  JSON.stringify(Object.entries(ours).map(([name, { name: type }]) => [name, type, name]));

/** The smallest of our types that holds the whole numbers of another type. */
const WIDER: Readonly<Record<string, ColumnType>> = {
  byte: 'short',
  unsignedShort: 'int',
  unsignedInt: 'long',
  unsignedLong: 'decimal',
  integer: 'decimal',
};
const columnType = (type: string): ColumnType => COLUMN_TYPES.find((each) => each === type) ?? WIDER[type] ?? 'string';

const typeDoubt = (entry: string, name: string, type: string): Doubt[] =>
  (COLUMN_TYPES as readonly string[]).includes(type)
    ? []
    : [{ entry, reason: `${name} has the type ${type}, which is written as ${columnType(type)}` }];

// Fewer rows may agree by chance.
const COMPARED_MIN = 3;
const AGREE_MIN = 0.9;

/** The field whose values the column had, if it is the only one. */
function votedFor(name: string, { columns, compared }: DataSetStatistics): string | undefined {
  if (compared < COMPARED_MIN) return undefined;
  const [first, second] = columns.get(name)?.votes.ranked ?? [];
  if (!first || first[1] < compared * AGREE_MIN || second?.[1] === first[1]) return undefined;
  return first[0];
}

// A column is a constant if at least this many rows have the same value.
const CONSTANT_ROWS_MIN = 5;

function columnOf(name: string, type: ColumnType, from: string | undefined, seen: DataSetStatistics): DialectColumn {
  if (from !== undefined) return { name, type, from };
  const values = seen.columns.get(name);
  const [first, second] = values?.values.ranked ?? [];
  const isConstant = first && !second && values?.present === seen.rows && seen.rows >= CONSTANT_ROWS_MIN;
  return isConstant ? { name, type, constant: first[0] } : { name, type };
}

function columnDoubt(entry: string, { name, from, constant }: DialectColumn, seen: DataSetStatistics): Doubt[] {
  if (from !== undefined || constant !== undefined) return [];
  const values = seen.columns.get(name)?.values.ranked ?? [];
  if (values.length === 0 && seen.rows >= CONSTANT_ROWS_MIN) return [];
  const examples = [...new Set(values.map(([value]) => shapeOf(value)))].slice(0, 3).join(', ');
  const shown = examples === '' ? 'no row was seen' : `values such as ${examples}`;
  return [
    { entry, reason: `${name} is no field of the contract (${shown}); name the field that it shows, or a constant` },
  ];
}

function columnText({ name, type, from, constant }: DialectColumn): string {
  if (from !== undefined) return `${name} ${type} ← ${from}`;
  if (constant === undefined) return `${name} ${type}, empty`;
  return `${name} ${type}, always ${HARMLESS.test(constant) ? `“${constant}”` : 'the same value'}`;
}

/** Only such values are shown: anything longer might be a person's number or name. */
const HARMLESS = /^(-?\d{1,4}|true|false)?$/i;
