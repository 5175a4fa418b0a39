import type { Fields, Scalar } from '../contract/types.ts';
import type { ColumnType, DialectColumn } from '../dialect/dialect.ts';
import { converted, type Layout, stringWriter, textWriter, type Writer } from './elements.ts';
import type { ResultForm, ValueForm } from './result-form.ts';

/** A column of a DataSet: those of the contract, or those of the dialect. */
export interface Column {
  readonly name: string;
  /** The type of XML Schema that the DataSet declares. */
  readonly type: ColumnType;
  /** The column of the contract that it shows; empty for none. */
  readonly source: string;
  readonly writer: (layout: Layout, depth: number) => Writer;
}

export function columnsOf(columns: Fields, form: ResultForm): Column[] {
  const declared =
    form.columns ??
    Object.entries(columns).map(([name, { name: type }]): DialectColumn => ({ name, type, from: name }));
  return declared.map(({ name, type, from, constant }) => {
    const ours = from === undefined ? undefined : columns[from];
    if (from === undefined || !ours) return { name, type, source: '', writer: fixedWriter(name, constant) };
    return {
      name,
      type,
      source: from,
      writer: (layout, depth) => columnWriter(name, type, from, ours, form.row, layout, depth),
    };
  });
}

/** Writes the same text in every row. Without a text, the column is only declared. */
const fixedWriter =
  (name: string, constant: string | undefined): Column['writer'] =>
  (layout, depth) => {
    const element = constant === undefined ? '' : columnString(name, layout, depth)(constant);
    return () => element;
  };

function columnWriter(
  name: string,
  theirs: ColumnType,
  from: string,
  ours: Scalar,
  form: ValueForm,
  layout: Layout,
  depth: number,
): Writer {
  if (ours.name === 'string') {
    const write = columnString(name, layout, depth);
    const writeNumber: Writer = (value: string | null) => (value !== null && NUMBER.test(value) ? write(value) : '');
    return converted(form.convert(from), theirs === 'string' ? write : writeNumber);
  }
  if (ours.name === 'boolean' && theirs !== 'string') {
    // .NET refuses a DataSet with a word in a column of another type.
    const format = theirs === 'boolean' ? String : (value: unknown) => (value ? '1' : '0');
    return textWriter(format, name, layout, depth);
  }
  const format = form.format[ours.name];
  return textWriter(format as (value: unknown) => string, name, layout, depth);
}

/** A column of numbers leaves out any other text: .NET would refuse the whole DataSet. */
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

/** The white space of .NET's Char.IsWhiteSpace. `\s` has U+FEFF and lacks U+0085. */
const WHITE_SPACE = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/;

/** A DataSet drops a value of white space alone, unless xml:space preserves it. */
function columnString(name: string, layout: Layout, depth: number): Writer {
  const plain = stringWriter(name, '', layout, depth);
  const preserved = stringWriter(name, ' xml:space="preserve"', layout, depth);
  return (value: string | null) => (value !== null && WHITE_SPACE.test(value) ? preserved(value) : plain(value));
}
