import type { Fields, Operation, ParameterType, ResultType, ScalarName } from '../../contract/types.ts';

/** C# with the proxy class that the tool `wsdl` generates, named after the group. */
export function csharpProxy(address: string, name: string, { parameters, result }: Operation, given: Given[]): string {
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
${printed(result)
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
function printed(type: ResultType): string[] {
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
      return printedRows(type.columns);
  }
}

const writeLine = (values: string[]): string =>
  `Console.WriteLine("${values.map((_, index) => `{${index}}`).join(' | ')}", ${values.join(', ')});`;

const TYPES: Record<ScalarName, string> = {
  string: 'string',
  int: 'int',
  long: 'long',
  boolean: 'bool',
  dateTime: 'DateTime',
};

/** The DataSet contains its schema, so each column has its type. */
const printedRows = (columns: Fields): string[] => [
  'foreach (DataRow row in answer.Tables["Table"].Rows)',
  '{',
  ...Object.entries(columns).map(([column, { name }]) => {
    const type = TYPES[name];
    return `    ${type} ${column} = row.Field<${type}>("${column}");${name === 'string' ? ' // may be null' : ''}`;
  }),
  `    ${writeLine(Object.keys(columns))}`,
  '}',
];
