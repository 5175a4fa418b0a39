import type { Fields, Scalar } from '../contract/types.ts';
import { escapeText } from '../xml/escape.ts';
import { type ConvertString, PLAIN_FORM, type ValueForm } from './result-form.ts';

/**
 * Writers of XML elements, composed once at start. An element begins with the line end and the
 * indentation of its depth, so one writer serves both layouts.
 */
export interface Layout {
  readonly newline: string;
  readonly indent: string;
}
/** SOAP: one line. */
export const compact: Layout = { newline: '', indent: '' };
/** GET, POST and WSDL: two spaces per level. */
export const indented: Layout = { newline: '\n', indent: '  ' };

export const lead = (layout: Layout, depth: number): string => layout.newline + layout.indent.repeat(depth);

export const XML_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';

/** Joins a namespace and a name with one slash, as SOAP actions do. */
export const below = (namespace: string, name: string): string =>
  namespace.endsWith('/') ? namespace + name : `${namespace}/${name}`;

/** Writes a value of its own type. The contract types both handlers and writers. */
// biome-ignore lint/suspicious/noExplicitAny: the contract chooses writers at run time
export type Writer = (value: any) => string;

/** An element with the content that `inner` writes, which may be empty. */
export function container(name: string, attributes: string, layout: Layout, depth: number, inner: Writer): Writer {
  const start = `${lead(layout, depth)}<${name}${attributes}`;
  const end = `${lead(layout, depth)}</${name}>`;
  return (value) => {
    const content = inner(value);
    return content === '' ? `${start} />` : `${start}>${content}${end}`;
  };
}

/** An element with a value. A null string is no element, an empty string an empty element. */
export function scalarWriter(
  type: Scalar,
  name: string,
  attributes: string,
  layout: Layout,
  depth: number,
  form: ValueForm = PLAIN_FORM.record,
): Writer {
  if (type.name === 'string') return stringWriter(name, attributes, layout, depth);
  return textWriter(form.format[type.name] as (value: unknown) => string, name, layout, depth, attributes);
}

/** An element whose text needs no escaping: a number, a boolean or a date. */
export function textWriter(
  format: (value: unknown) => string,
  name: string,
  layout: Layout,
  depth: number,
  attributes = '',
): Writer {
  const start = `${lead(layout, depth)}<${name}${attributes}`;
  const end = `</${name}>`;
  return (value) => `${start}>${format(value)}${end}`;
}

export function stringWriter(name: string, attributes: string, layout: Layout, depth: number): Writer {
  const start = `${lead(layout, depth)}<${name}${attributes}`;
  const end = `</${name}>`;
  return (value: string | null) => {
    if (value === null) return '';
    return value === '' ? `${start} />` : `${start}>${escapeText(value)}${end}`;
  };
}

export const converted = (convert: ConvertString | undefined, write: Writer): Writer =>
  convert ? (value) => write(convert(value)) : write;

/** Writes one field of a value: the one with the name `source`. */
export interface FieldWriter {
  readonly source: string;
  readonly write: Writer;
}

/** The elements of fields, in order. */
export function fieldsWriter(fields: readonly FieldWriter[]): Writer {
  const names = fields.map(({ source }) => source);
  const writers = fields.map(({ write }) => write);
  return (values: Record<string, unknown>) => {
    let text = '';
    for (let index = 0; index < names.length; index++) {
      text += (writers[index] as Writer)(values[names[index] as string]);
    }
    return text;
  };
}

/** The fields of a record, in the order of the contract. */
export const recordFields = (fields: Fields, layout: Layout, depth: number, form: ValueForm): FieldWriter[] =>
  Object.entries(fields).map(([name, type]) => {
    const write = scalarWriter(type, name, '', layout, depth, form);
    return { source: name, write: converted(type.name === 'string' ? form.convert(name) : undefined, write) };
  });
