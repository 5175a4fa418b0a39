import type { Fields, RecordType, ResultType, Scalar } from '../../contract/types.ts';
import type { Reply } from '../../exchange.ts';
import { dataSetWriter, rowWriter } from './dataset.ts';
import { container, fieldsWriter, type Layout, scalarWriter, type Writer } from './elements.ts';

/** The result of an operation as an element; a null record is left out. */
export interface ResultWriter {
  readonly whole: Writer;
  /** Of a list or DataSet: one of its items, the nth. */
  readonly item?: ItemWriter;
}
export type ItemWriter = (value: unknown, index: number) => string;

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
      const item = listItemWriter(type.item, layout, depth + 1);
      return { whole: container(name, attributes, layout, depth, (values) => written(values, item)), item };
    }
    case 'dataSet': {
      const item = rowWriter(type.columns, layout, depth + 3);
      const dataSet = dataSetWriter(type.columns, layout, depth + 1, (values) => written(values, item));
      return { whole: container(name, attributes, layout, depth, dataSet), item };
    }
  }
}

const listItemWriter = (item: Scalar | RecordType, layout: Layout, depth: number): ItemWriter =>
  item.kind === 'record'
    ? recordWriter(item.fields, item.name, '', layout, depth)
    : scalarWriter(item, item.name, '', layout, depth);

/** Items that are written elsewhere, see `framed`. */
const ELSEWHERE = Symbol('items');
// XML cannot carry it, so nothing else in a document is the same.
const PLACE = '\0';

function written(values: readonly unknown[] | typeof ELSEWHERE, write: ItemWriter): string {
  if (values === ELSEWHERE) return PLACE;
  let text = '';
  for (let index = 0; index < values.length; index++) text += write(values[index], index);
  return text;
}

/** A whole document around a value: in one piece, or piece by piece for a list that is long or comes page by page. */
export type FramedWriter = (value: unknown, before: string, after: string) => Reply['body'];

// As long as the longest answer that is kept: of a longer one, no more than this is made at once.
const WHOLE_LENGTH_MAX = 65_536;
// In characters, before the item with which it gets there. Below 128 KB, from where on V8 counts it as large and collects it late.
const PIECE_LENGTH = 32_768;

export function framed(write: Writer, item: ItemWriter | undefined): FramedWriter {
  if (!item) return (value, before, after) => before + write(value) + after;
  const [start = '', end = ''] = write(ELSEWHERE).split(PLACE);
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

/** Behind the `count` items that `text` holds already. */
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
    // Taken out: the page is ours, and what was written is not needed while the client takes it.
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
