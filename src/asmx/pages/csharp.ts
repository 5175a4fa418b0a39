import type { Fields, Operation, ParameterType, ResultType } from '../contract/types.ts';
import type { ColumnType } from '../dialect/dialect.ts';
import { columnsOf } from '../results/columns.ts';
import type { ResultForm } from '../results/result-form.ts';

/** C# with the proxy class that the tool `wsdl` generates, named after the group. */
export function csharpProxy(
  address: string,
  name: string,
  { parameters, result }: Operation,
  given: Given[],
  form: ResultForm,
): string {
  const group = /(\w+)\.asmx$/.exec(address)?.[1] ?? '';
  const values = given.map(([key, value]) => literal(parameters[key] as ParameterType, value));
  const isDataSet = result.kind === 'dataSet';
  return `// wsdl ${address}?WSDL
// csc Program.cs ${group}.cs -r:System.Web.Services.dll -r:System.Data.dll -r:System.Data.DataSetExtensions.dll
// (mcs in place of csc with Mono; in Visual Studio: Add Web Reference)${isDataSet ? typedRows(name) : ''}
using System;${isDataSet ? '\nusing System.Data;' : ''}

static class Program
{
    static void Main()
    {
        var service = new ${group}();
        var answer = service.${name}(${values.join(', ')});
${printed(result, form)
  .map((line) => `        ${line}\n`)
  .join('')}    }
}`;
}

/** For programs that use a typed DataSet. */
const typedRows = (name: string): string =>
  `\n// For a typed DataSet: answer.WriteXmlSchema("${name}.xsd"), then xsd ${name}.xsd /dataset`;

/** The name of a parameter and its value. */
export type Given = readonly [string, string | readonly string[]];

const quoted = (text: string): string => JSON.stringify(text);

function literal(type: ParameterType, value: string | readonly string[]): string {
  if (typeof value !== 'string') return `new[] { ${value.map(quoted).join(', ')} }`;
  if (type.kind === 'list' || type.name === 'string') return quoted(value);
  if (type.name !== 'dateTime') return value;
  const numbers = (value.match(/\d+/g) ?? []).map(Number);
  return `new DateTime(${numbers.join(', ')}, DateTimeKind.Utc)`;
}

/** The lines that print a result. */
function printed(type: ResultType, form: ResultForm): string[] {
  switch (type.kind) {
    case 'scalar':
      return ['Console.WriteLine(answer);'];
    case 'record':
      return [
        ...['if (answer == null)', '    return;'],
        ...Object.keys(type.fields).map((field) => `Console.WriteLine("${field}: {0}", answer.${field});`),
      ];
    case 'list': {
      const fields = type.item.kind === 'record' ? Object.keys(type.item.fields) : [];
      const line = fields.length > 0 ? writeLine(fields.map((field) => `item.${field}`)) : 'Console.WriteLine(item);';
      return ['foreach (var item in answer)', `    ${line}`];
    }
    case 'dataSet':
      return printedRows(type.columns, form);
  }
}

const writeLine = (values: string[]): string =>
  `Console.WriteLine("${values.map((_, index) => `{${index}}`).join(' | ')}", ${values.join(', ')});`;

const TYPES: Record<ColumnType, string> = {
  string: 'string',
  boolean: 'bool',
  unsignedByte: 'byte',
  short: 'short',
  int: 'int',
  long: 'long',
  decimal: 'decimal',
  float: 'float',
  double: 'double',
  dateTime: 'DateTime',
};

/** The DataSet contains its schema, so each column has its type. */
function printedRows(columns: Fields, form: ResultForm): string[] {
  const shown = columnsOf(columns, form);
  return [
    `foreach (DataRow row in answer.Tables["${form.names.table}"].Rows)`,
    '{',
    ...shown.map(({ name, type, source }) => {
      const isText = type === 'string';
      const mayBeNull = !isText && (source === '' || columns[source]?.name === 'string');
      const typeName = `${TYPES[type]}${mayBeNull ? '?' : ''}`;
      const comment = isText ? ' // may be null' : '';
      return `    ${typeName} ${variable(name)} = row.Field<${typeName}>("${decoded(name)}");${comment}`;
    }),
    `    ${writeLine(shown.map(({ name }) => variable(name)))}`,
    '}',
  ];
}

/** Names of XML have characters that C# does not take. */
const variable = (name: string): string => name.replace(/\W/g, '_');

/** A DataSet decodes _x0020_ to a space. */
const decoded = (name: string): string =>
  name.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code) =>
    JSON.stringify(String.fromCharCode(parseInt(code, 16))).slice(1, -1),
  );
