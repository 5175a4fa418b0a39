import type { Fields, Operation } from '../../asmx/contract/types.ts';
import type { DialectColumn } from '../../asmx/dialect/dialect.ts';
import { attribute, type XmlElement } from '../../asmx/xml/reader.ts';
import { type AnswerValues, type RawRecord, rawRecord, Unreadable, type ValueRecord } from './answer-values.ts';

/** A DataSet as on the wire. */
export interface RawDataSet {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly RawColumn[];
  readonly rows: readonly RawRecord[];
}
export interface RawColumn {
  readonly name: string;
  /** The type of XML Schema, without its prefix: `long`, `dateTime`, … */
  readonly type: string;
}

const SCHEMA = 'http://www.w3.org/2001/XMLSchema';
export const DIFFGRAM = 'urn:schemas-microsoft-com:xml-diffgram-v1';

export const isSchema = ({ local, uri }: XmlElement): boolean => local === 'schema' && uri === SCHEMA;
export const isDiffgram = ({ local, uri }: XmlElement): boolean => local === 'diffgram' && uri === DIFFGRAM;
/** The name of the rows of the first table. */
export const tableOf = (schema: XmlElement): string => readSchema(schema).table;

/** Reads one row of a DataSet, or one record of a list. */
export function rowValues(
  { result }: Operation,
  operation: string,
  values: AnswerValues,
): (row: XmlElement) => ValueRecord {
  if (result.kind === 'dataSet') {
    const wireNames = namesOnWire(result.columns, values.dialect.columns?.[operation]);
    return (row) => toValues(rawRecord(row), result.columns, wireNames, values);
  }
  if (result.kind === 'list' && result.item.kind === 'record') {
    const { fields } = result.item;
    return (row) => values.record(fields, row).value;
  }
  throw new TypeError(`${operation} has no rows`);
}

/** Reads the first table from schema and diffgram. `operation` is such as `sent.FetchSentDS`. */
export function readDataSet(
  element: XmlElement,
  declared: Fields,
  operation: string,
  values: AnswerValues,
): { rows: ValueRecord[]; raw: RawDataSet } {
  const schema = element.children.find(isSchema);
  const { name, table, columns } = schema ? readSchema(schema) : { name: '', table: '', columns: [] };
  const diffgram = element.children.find(isDiffgram);
  // Rows that were deleted or changed are beside the data, in diffgr:before and diffgr:errors.
  const data = diffgram?.children.find(({ uri }) => uri !== DIFFGRAM);
  const tableName = table || (data?.children[0]?.local ?? '');
  const elements = data?.children.filter(({ local }) => local === tableName) ?? [];
  if (!schema && !diffgram && element.children.length > 0) throw new Unreadable('The answer has no DataSet.');
  const raw = { name: name || (data?.local ?? ''), table: tableName, columns, rows: elements.map(rawRecord) };
  const wireNames = namesOnWire(declared, values.dialect.columns?.[operation]);
  const rows = raw.rows.map((row) => toValues(row, declared, wireNames, values));
  return { rows, raw };
}

/** Maps our column names to theirs. */
function namesOnWire(declared: Fields, columns: readonly DialectColumn[] | undefined): ReadonlyMap<string, string> {
  if (!columns) return new Map(Object.keys(declared).map((name) => [name, name]));
  return new Map(columns.flatMap(({ name, from }) => (from === undefined ? [] : [[from, name]])));
}

function toValues(
  row: RawRecord,
  declared: Fields,
  wireNames: ReadonlyMap<string, string>,
  values: AnswerValues,
): ValueRecord {
  const value: ValueRecord = {};
  for (const [name, type] of Object.entries(declared)) {
    const wireName = wireNames.get(name);
    value[name] = wireName === undefined ? null : values.field(type, name, row[wireName]);
  }
  return value;
}

function readSchema(schema: XmlElement): { name: string; table: string; columns: RawColumn[] } {
  const dataSet = schema.children.find(({ local, uri }) => local === 'element' && uri === SCHEMA);
  const table = dataSet && descend(dataSet, ['complexType'], ['choice', 'sequence'], ['element']);
  const sequence = table && descend(table, ['complexType'], ['sequence', 'all', 'choice']);
  const columns = (sequence?.children ?? []).filter(({ local }) => local === 'element');
  return {
    name: (dataSet && attribute(dataSet, '', 'name')) ?? '',
    table: (table && attribute(table, '', 'name')) ?? '',
    columns: columns.map((column) => ({ name: attribute(column, '', 'name') ?? '', type: typeOf(column) })),
  };
}

/** A restricted type, such as a text of limited length, is named by its base type. */
function typeOf(column: XmlElement): string {
  const restriction = descend(column, ['simpleType'], ['restriction']);
  const name = attribute(column, '', 'type') ?? (restriction && attribute(restriction, '', 'base')) ?? 'string';
  return name.slice(name.indexOf(':') + 1);
}

/** Each step takes the first child with one of these names. */
function descend(from: XmlElement, ...path: (readonly string[])[]): XmlElement | undefined {
  let at: XmlElement | undefined = from;
  for (const names of path) at = at?.children.find(({ local }) => names.includes(local));
  return at;
}
