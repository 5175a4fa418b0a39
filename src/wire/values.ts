import type { Fields, ResultType } from '../contract/types.ts';
import { dataSetWriter } from './dataset.ts';
import { container, fieldsWriter, type Layout, scalarWriter, type Writer } from './elements.ts';

/** The result of an operation as an element; a null record is left out. */
export function resultWriter(
  type: ResultType,
  name: string,
  attributes: string,
  layout: Layout,
  depth: number,
): Writer {
  switch (type.kind) {
    case 'scalar':
      return scalarWriter(type, name, attributes, layout, depth);
    case 'record':
      return recordWriter(type.fields, name, attributes, layout, depth);
    case 'list': {
      const { item } = type;
      const write =
        item.kind === 'record'
          ? recordWriter(item.fields, item.name, '', layout, depth + 1)
          : scalarWriter(item, item.name, '', layout, depth + 1);
      return container(name, attributes, layout, depth, (items: unknown[]) => {
        let text = '';
        for (const value of items) text += write(value);
        return text;
      });
    }
    case 'dataSet':
      return container(name, attributes, layout, depth, dataSetWriter(type.columns, layout, depth + 1));
  }
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
