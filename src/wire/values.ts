import type { Fields, RecordType, ResultType, Scalar } from '../contract/types.ts';
import type { Reply } from '../exchange.ts';
import { dataSetWriter, rowsWriter } from './dataset.ts';
import { container, fieldsWriter, type Layout, scalarWriter, type Writer } from './elements.ts';

/** The result of an operation as an element; a null record is left out. */
export interface ResultWriter {
  readonly whole: Writer;
  /** Of a list or DataSet: some of its items, of which the first is the nth of all. */
  readonly items?: ItemsWriter;
}
export type ItemsWriter = (values: readonly unknown[], from: number) => string;

export function resultWriter(
  type: ResultType,
  name: string,
  attributes: string,
  layout: Layout,
  depth: number,
): ResultWriter {
  switch (type.kind) {
    case 'scalar':
      return { whole: scalarWriter(type, name, attributes, layout, depth) };
    case 'record':
      return { whole: recordWriter(type.fields, name, attributes, layout, depth) };
    case 'list': {
      const items = listItemsWriter(type.item, layout, depth + 1);
      return { whole: container(name, attributes, layout, depth, (values) => written(values, items)), items };
    }
    case 'dataSet': {
      const items = rowsWriter(type.columns, layout, depth + 3);
      const dataSet = dataSetWriter(type.columns, layout, depth + 1, (values) => written(values, items));
      return { whole: container(name, attributes, layout, depth, dataSet), items };
    }
  }
}

function listItemsWriter(item: Scalar | RecordType, layout: Layout, depth: number): ItemsWriter {
  const write =
    item.kind === 'record'
      ? recordWriter(item.fields, item.name, '', layout, depth)
      : scalarWriter(item, item.name, '', layout, depth);
  return (values) => {
    let text = '';
    for (const value of values) text += write(value);
    return text;
  };
}

/** Items that are written elsewhere, see `framed`. */
const ELSEWHERE = Symbol('items');
// XML cannot carry it, so nothing else in a document is the same.
const PLACE = '\0';

const written = (values: readonly unknown[] | typeof ELSEWHERE, items: ItemsWriter): string =>
  values === ELSEWHERE ? PLACE : items(values, 0);

/** A whole document around a value: in one piece, or piece by piece for items that come page by page. */
export type FramedWriter = (value: unknown, before: string, after: string) => Reply['body'];

export function framed(write: Writer, items: ItemsWriter | undefined): FramedWriter {
  const [start = '', end = ''] = items ? write(ELSEWHERE).split(PLACE) : [];
  return (value, before, after) =>
    items && isPaged(value) ? pieces(before + start, value, items, end + after) : before + write(value) + after;
}

const isPaged = (value: unknown): value is AsyncIterable<unknown[]> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

async function* pieces(
  start: string,
  pages: AsyncIterable<unknown[]>,
  items: ItemsWriter,
  end: string,
): AsyncGenerator<string> {
  let text = start;
  let count = 0;
  for await (const page of pages) {
    text += items(page, count);
    count += page.length;
    page.length = 0; // ours, and not needed while the client takes what was written
    yield text;
    text = '';
  }
  yield text + end;
}

function recordWriter(fields: Fields, name: string, attributes: string, layout: Layout, depth: number): Writer {
  const write = container(name, attributes, layout, depth, fieldsWriter(fields, layout, depth + 1));
  return (value) => (value === null ? '' : write(value));
}

/** The root element of a bare result, by the contract's rules 3 to 6. */
export function rootName(type: ResultType): string {
  if (type.kind === 'dataSet') return 'DataSet';
  return type.kind === 'list' ? arrayName(type.item.name) : type.name;
}

export const SCHEMA_NAMESPACES =
  ' xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

/** A record or list declares the prefixes of XML Schema, whether it needs them or not; a scalar or DataSet does not. */
export const rootAttributes = (type: ResultType, namespace: string): string =>
  `${type.kind === 'record' || type.kind === 'list' ? SCHEMA_NAMESPACES : ''} xmlns="${namespace}"`;

export const arrayName = (item: string): string => `ArrayOf${item[0]?.toUpperCase()}${item.slice(1)}`;
