import type { Fields } from '../contract/types.ts';
import { columnsOf } from './columns.ts';
import { container, fieldsWriter, type Layout, lead, type Writer } from './elements.ts';
import type { ResultForm } from './result-form.ts';

/** A .NET DataSet: its schema, then its rows as a diffgram, as a data adapter writes them. */
export function dataSetWriter(columns: Fields, layout: Layout, depth: number, rows: Writer, form: ResultForm): Writer {
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
export function rowWriter(
  columns: Fields,
  layout: Layout,
  depth: number,
  form: ResultForm,
): (value: unknown, index: number) => string {
  const { table } = form.names;
  const start = `${lead(layout, depth)}<${table} diffgr:id="${table}`;
  const end = `${lead(layout, depth)}</${table}>`;
  const write = fieldsWriter(
    columnsOf(columns, form).map(({ source, writer }) => ({ source, write: writer(layout, depth + 1) })),
  );
  return (value, index) => `${start}${index + 1}" msdata:rowOrder="${index}">${write(value)}${end}`;
}
