import type { Reply } from '../../base/exchange.ts';
import type { Fields, RecordType, ResultType, Scalar } from '../contract/types.ts';
import { columnsOf } from './columns.ts';
import { container, fieldsWriter, type Layout, lead, recordFields, scalarWriter, type Writer } from './elements.ts';
import { PLAIN_FORM, type ResultForm, type ValueForm } from './result-form.ts';

/** Writes the result of an operation as an element. A null record is no element. */
export interface ResultWriter {
  readonly whole: Writer;
  /** For a list or DataSet: writes one item with its index. */
  readonly item?: ItemWriter;
}
export type ItemWriter = (value: unknown, index: number) => string;

export function resultWriter(
  type: ResultType,
  name: string,
  attributes: string,
  layout: Layout,
  depth: number,
  form: ResultForm = PLAIN_FORM,
): ResultWriter {
  switch (type.kind) {
    case 'scalar':
      return { whole: scalarWriter(type, name, attributes, layout, depth, form.record) };
    case 'record':
      return { whole: recordWriter(type.fields, name, attributes, layout, depth, form.record) };
    case 'list': {
      const item = listItemWriter(type.item, layout, depth + 1, form.record);
      return { whole: container(name, attributes, layout, depth, (values) => writeItems(values, item)), item };
    }
    case 'dataSet': {
      const item = rowWriter(type.columns, layout, depth + 3, form);
      const dataSet = dataSetWriter(type.columns, layout, depth + 1, (values) => writeItems(values, item), form);
      return { whole: container(name, attributes, layout, depth, dataSet), item };
    }
  }
}

const listItemWriter = (item: Scalar | RecordType, layout: Layout, depth: number, form: ValueForm): ItemWriter =>
  item.kind === 'record'
    ? recordWriter(item.fields, item.name, '', layout, depth, form)
    : scalarWriter(item, item.name, '', layout, depth);

/** Stands for the items when `streamable` finds the text around them. */
const ITEMS_SLOT = Symbol('items');
// XML forbids this character, so a document contains it nowhere else.
const SLOT_MARK = '\0';

function writeItems(values: readonly unknown[] | typeof ITEMS_SLOT, write: ItemWriter): string {
  if (values === ITEMS_SLOT) return SLOT_MARK;
  let text = '';
  for (let index = 0; index < values.length; index++) text += write(values[index], index);
  return text;
}

/** Writes a document around a value: whole, or in pieces for a long or paged list. */
export type DocumentWriter = (value: unknown, before: string, after: string) => Reply['body'];

// The length of the longest cached response. A longer response is written piece by piece.
const WHOLE_LENGTH_MAX = 65_536;
// In characters, not counting the last item. V8 collects strings of 128 KB and more late.
const PIECE_LENGTH = 32_768;

export function streamable(write: Writer, item: ItemWriter | undefined): DocumentWriter {
  if (!item) return (value, before, after) => before + write(value) + after;
  const [start = '', end = ''] = write(ITEMS_SLOT).split(SLOT_MARK);
  return (value, before, after) => {
    if (isPaged(value)) return pieces(before + start, 0, value, item, end + after);
    const values = value as readonly unknown[];
    let text = before + start;
    const empty = text.length;
    for (let index = 0; index < values.length; index++) {
      if (text.length > WHOLE_LENGTH_MAX) return pieces(text, index, [values.slice(index)], item, end + after);
      text += item(values[index], index);
    }
    return text.length === empty ? before + write([]) + after : text + end + after;
  };
}

const isPaged = (value: unknown): value is AsyncIterable<unknown[]> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** Continues a document whose beginning, `text`, holds the first `count` items. */
async function* pieces(
  text: string,
  count: number,
  pages: AsyncIterable<unknown[]> | Iterable<unknown[]>,
  write: ItemWriter,
  end: string,
): AsyncGenerator<string> {
  let piece = text;
  let index = count;
  for await (const page of pages) {
    // Each written item is released at once: a client may take long for a piece.
    while (page.length > 0) {
      if (piece.length >= PIECE_LENGTH) {
        yield piece;
        piece = '';
      }
      piece += write(page.shift(), index++);
    }
  }
  yield piece + end;
}

function recordWriter(
  fields: Fields,
  name: string,
  attributes: string,
  layout: Layout,
  depth: number,
  form: ValueForm,
): Writer {
  const write = container(name, attributes, layout, depth, fieldsWriter(recordFields(fields, layout, depth + 1, form)));
  return (value) => (value === null ? '' : write(value));
}

/** A .NET DataSet: its schema, then its rows as a diffgram, as a data adapter writes them. */
function dataSetWriter(columns: Fields, layout: Layout, depth: number, rows: Writer, form: ResultForm): Writer {
  const schema = dataSetSchema(columns, layout, depth, form);
  // Without rows, the diffgram is an empty element without the DataSet.
  const whole = container(form.names.name, ' xmlns=""', layout, depth + 1, rows);
  const diffgram = container('diffgr:diffgram', DIFFGRAM_NAMESPACES, layout, depth, (values) =>
    values.length === 0 ? '' : whole(values),
  );
  return (values) => schema + diffgram(values);
}

const MSDATA = 'xmlns:msdata="urn:schemas-microsoft-com:xml-msdata"';
const DIFFGRAM_NAMESPACES = ` ${MSDATA} xmlns:diffgr="urn:schemas-microsoft-com:xml-diffgram-v1"`;

const schemaNesting = ({ name, table }: ResultForm['names']): readonly (readonly [string, string])[] => [
  ['xs:schema', ` id="${name}" xmlns="" xmlns:xs="http://www.w3.org/2001/XMLSchema" ${MSDATA}`],
  ['xs:element', ` name="${name}" msdata:IsDataSet="true" msdata:UseCurrentLocale="true"`],
  ['xs:complexType', ''],
  ['xs:choice', ' minOccurs="0" maxOccurs="unbounded"'],
  ['xs:element', ` name="${table}"`],
  ['xs:complexType', ''],
  ['xs:sequence', ''],
];

function dataSetSchema(columns: Fields, layout: Layout, depth: number, form: ResultForm): string {
  const nesting = schemaNesting(form.names);
  const innermost = lead(layout, depth + nesting.length);
  const declaredMode = form.dateTimeMode ? ` msdata:DateTimeMode="${form.dateTimeMode}"` : '';
  const inner = columnsOf(columns, form).map(({ name, type }) => {
    const mode = type === 'dateTime' ? declaredMode : '';
    return `${innermost}<xs:element name="${name}"${mode} type="xs:${type}" minOccurs="0" />`;
  });
  return nesting.reduceRight(
    (content, [name, attributes], level) => container(name, attributes, layout, depth + level, () => content)(null),
    inner.join(''),
  );
}

/** Writes a row with its index. */
function rowWriter(columns: Fields, layout: Layout, depth: number, form: ResultForm): ItemWriter {
  const { table } = form.names;
  const start = `${lead(layout, depth)}<${table} diffgr:id="${table}`;
  const end = `${lead(layout, depth)}</${table}>`;
  const write = fieldsWriter(
    columnsOf(columns, form).map(({ source, writer }) => ({ source, write: writer(layout, depth + 1) })),
  );
  return (value, index) => `${start}${index + 1}" msdata:rowOrder="${index}">${write(value)}${end}`;
}

/** The name of the root element in GET and POST (docs/COMPATIBILITY.md). */
export function rootName(type: ResultType): string {
  if (type.kind === 'dataSet') return 'DataSet';
  return type.kind === 'list' ? arrayName(type.item.name) : type.name;
}

export const SCHEMA_NAMESPACES =
  ' xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

/** A record or list declares the prefixes of XML Schema, a scalar or DataSet does not. */
export const rootAttributes = (type: ResultType, namespace: string): string =>
  `${type.kind === 'record' || type.kind === 'list' ? SCHEMA_NAMESPACES : ''} xmlns="${namespace}"`;

export const arrayName = (item: string): string => `ArrayOf${item[0]?.toUpperCase()}${item.slice(1)}`;
