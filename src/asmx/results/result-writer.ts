import type { Reply } from '../../base/exchange.ts';
import type { Fields, RecordType, ResultType, Scalar } from '../contract/types.ts';
import { dataSetWriter, rowWriter } from './dataset.ts';
import { container, fieldsWriter, type Layout, recordFields, scalarWriter, type Writer } from './elements.ts';
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

// The length of the longest cached response. A longer one is made piece by piece.
const WHOLE_LENGTH_MAX = 65_536;
// In characters, without the last item. V8 collects strings of 128 KB and more late.
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

/** Goes on after the `count` items in `text`. */
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
