import type { Fields, Scalar } from '../../contract/types.ts';
import { container, fieldsWriter, type Layout, lead, scalarWriter, type Writer } from './elements.ts';

/** A .NET DataSet: its schema, then its rows as a diffgram, as a data adapter writes them. */
export function dataSetWriter(columns: Fields, layout: Layout, depth: number, rows: Writer): Writer {
  const schema = dataSetSchema(columns, layout, depth);
  // Without rows, the diffgram is an empty element without NewDataSet.
  const whole = container('NewDataSet', ' xmlns=""', layout, depth + 1, rows);
  const diffgram = container('diffgr:diffgram', DIFFGRAM_NAMESPACES, layout, depth, (values) =>
    values.length === 0 ? '' : whole(values),
  );
  return (values) => schema + diffgram(values);
}

const MSDATA = 'xmlns:msdata="urn:schemas-microsoft-com:xml-msdata"';
const DIFFGRAM_NAMESPACES = ` ${MSDATA} xmlns:diffgr="urn:schemas-microsoft-com:xml-diffgram-v1"`;

const SCHEMA_NESTING = [
  ['xs:schema', ` id="NewDataSet" xmlns="" xmlns:xs="http://www.w3.org/2001/XMLSchema" ${MSDATA}`],
  ['xs:element', ' name="NewDataSet" msdata:IsDataSet="true" msdata:UseCurrentLocale="true"'],
  ['xs:complexType', ''],
  ['xs:choice', ' minOccurs="0" maxOccurs="unbounded"'],
  ['xs:element', ' name="Table"'],
  ['xs:complexType', ''],
  ['xs:sequence', ''],
] as const;

function dataSetSchema(columns: Fields, layout: Layout, depth: number): string {
  const innermost = lead(layout, depth + SCHEMA_NESTING.length);
  const inner = Object.entries(columns).map(([name, type]) => {
    const mode = type.name === 'dateTime' ? ' msdata:DateTimeMode="Utc"' : '';
    return `${innermost}<xs:element name="${name}"${mode} type="xs:${type.name}" minOccurs="0" />`;
  });
  return SCHEMA_NESTING.reduceRight(
    (content, [name, attributes], level) => container(name, attributes, layout, depth + level, () => content)(null),
    inner.join(''),
  );
}

/** Writes a row with its index. */
export function rowWriter(columns: Fields, layout: Layout, depth: number): (value: unknown, index: number) => string {
  const start = `${lead(layout, depth)}<Table`;
  const end = `${lead(layout, depth)}</Table>`;
  const write = fieldsWriter(columns, layout, depth + 1, columnWriter);
  return (value, index) => `${start} diffgr:id="Table${index + 1}" msdata:rowOrder="${index}">${write(value)}${end}`;
}

/** The white space of .NET's Char.IsWhiteSpace. `\s` has U+FEFF and lacks U+0085. */
const WHITE_SPACE = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/;

/** A DataSet drops a value of white space alone, unless xml:space preserves it. */
function columnWriter(type: Scalar, name: string, attributes: string, layout: Layout, depth: number): Writer {
  const plain = scalarWriter(type, name, attributes, layout, depth);
  if (type.name !== 'string') return plain;
  const preserved = scalarWriter(type, name, `${attributes} xml:space="preserve"`, layout, depth);
  return (value: string | null) => (value !== null && WHITE_SPACE.test(value) ? preserved(value) : plain(value));
}
