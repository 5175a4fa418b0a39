import type { Fields, Group, Operation, ParameterType, RecordType, ResultType } from '../contract/types.ts';
import { below, container, indented, XML_DECLARATION } from '../results/elements.ts';
import { arrayName, rootName } from '../results/result-writer.ts';
import { escapeAttribute } from '../xml/escape.ts';

/** The WSDL of a group, as ASMX writes it: same names, order and prefixes. */
export function wsdl(groupName: string, group: Group, namespace: string): (address: string) => string {
  const operations = Object.entries(group);
  const hasLists = operations.some(([, row]) => Object.values(row.parameters).some(({ kind }) => kind === 'list'));
  const fixed = [
    element('wsdl:types', '', [
      serviceSchema(operations, namespace),
      ...(hasLists ? [abstractTypesSchema(namespace)] : []),
    ]),
    ...PORTS.flatMap((port) => operations.flatMap(([name, row]) => messages(name, row, port))),
    ...PORTS.map((port) => portType(groupName, operations, port)),
    ...BINDINGS.map((binding) => bindingElement(groupName, operations, namespace, binding)),
  ].map((node) => node(1));
  const rendered = fixed.join('');
  const attributes = ` xmlns:soapenc="${SOAPENC}" xmlns:soap12="http://schemas.xmlsoap.org/wsdl/soap12/"${
    hasLists ? ` xmlns:s1="${below(namespace, 'AbstractTypes')}"` : ''
  } xmlns:http="http://schemas.xmlsoap.org/wsdl/http/" xmlns:tns="${namespace}" xmlns:mime="http://schemas.xmlsoap.org/wsdl/mime/" xmlns:tm="http://microsoft.com/wsdl/mime/textMatching/" xmlns:s="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" targetNamespace="${namespace}" xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/"`;

  return (address) =>
    XML_DECLARATION + element('wsdl:definitions', attributes, [() => rendered, service(groupName, address)])(0);
}

/** The discovery document: the URL of the WSDL, and the bindings. */
export function disco(groupName: string, namespace: string): (address: string) => string {
  return (address) => {
    const at = escapeAttribute(address);
    const soap = (number: number, binding: string) =>
      ` address="${at}" xmlns:q${number}="${namespace}" binding="q${number}:${groupName}${binding}" xmlns="http://schemas.xmlsoap.org/disco/soap/"`;
    const attributes =
      ' xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="http://schemas.xmlsoap.org/disco/"';
    return (
      XML_DECLARATION +
      element('discovery', attributes, [
        element('contractRef', ` ref="${at}?wsdl" docRef="${at}" xmlns="http://schemas.xmlsoap.org/disco/scl/"`),
        element('soap', soap(1, 'Soap')),
        element('soap', soap(2, 'Soap12')),
      ])(0)
    );
  };
}

type Rows = readonly (readonly [string, Operation])[];
type Node = (depth: number) => string;

const element =
  (name: string, attributes: string, children: readonly Node[] = []): Node =>
  (depth) =>
    container(name, attributes, indented, depth, () => children.map((child) => child(depth + 1)).join(''))(null);

const SOAPENC = 'http://schemas.xmlsoap.org/soap/encoding/';
const PORTS = ['Soap', 'HttpGet', 'HttpPost'] as const;
type PortName = (typeof PORTS)[number];

// Types

function serviceSchema(operations: Rows, namespace: string): Node {
  const named = new Set<string>();
  /** Writes each named type once, directly after its first use. */
  const once = (name: string, node: () => Node[]): Node[] => {
    if (named.has(name)) return [];
    named.add(name);
    return node();
  };
  const recordType = ({ name, fields }: RecordType) =>
    once(name, () => [element('s:complexType', ` name="${name}"`, [sequence(fieldElements(fields))])]);
  const typesOf = (type: ResultType | ParameterType): Node[] => {
    if (type.kind === 'record') return recordType(type);
    if (type.kind !== 'list') return [];
    const { item } = type;
    const array = once(arrayName(item.name), () => [
      element('s:complexType', ` name="${arrayName(item.name)}"`, [
        sequence([
          element(
            's:element',
            ` minOccurs="0" maxOccurs="unbounded" name="${item.name}" nillable="true" type="${typeName(item)}"`,
          ),
        ]),
      ]),
    ]);
    return item.kind === 'record' ? [...array, ...recordType(item)] : array;
  };

  const nodes = operations.flatMap(([name, { parameters, result }]) => [
    wrapper(
      name,
      Object.entries(parameters).map(([parameter, type]) => occurrence(parameter, type)),
    ),
    ...Object.values(parameters).flatMap(typesOf),
    wrapper(`${name}Response`, [occurrence(`${name}Result`, result)]),
    ...typesOf(result),
  ]);
  const roots = new Map(operations.map(([, { result }]) => [rootName(result), rootElement(result)]));
  return element('s:schema', ` elementFormDefault="qualified" targetNamespace="${namespace}"`, [
    ...nodes,
    ...roots.values(),
  ]);
}

const sequence = (children: readonly Node[]) => element('s:sequence', '', children);
const wrapper = (name: string, children: Node[]) =>
  element('s:element', ` name="${name}"`, [element('s:complexType', '', [sequence(children)])]);
const fieldElements = (fields: Fields) => Object.entries(fields).map(([name, type]) => occurrence(name, type));

/** .NET declares a DataSet as a schema, followed by any element. */
const dataSetType = () =>
  element('s:complexType', '', [sequence([element('s:element', ' ref="s:schema"'), element('s:any', '')])]);

/** Numbers, booleans and dateTimes are never absent. All other types may be. */
function occurrence(name: string, type: ResultType | ParameterType): Node {
  const required = type.kind === 'scalar' && type.name !== 'string';
  const start = ` minOccurs="${required ? 1 : 0}" maxOccurs="1" name="${name}"`;
  if (type.kind === 'dataSet') return element('s:element', start, [dataSetType()]);
  return element('s:element', `${start} type="${typeName(type)}"`);
}

function typeName(type: Exclude<ResultType | ParameterType, { kind: 'dataSet' }>): string {
  if (type.kind === 'scalar') return `s:${type.name}`;
  return `tns:${type.kind === 'list' ? arrayName(type.item.name) : type.name}`;
}

function rootElement(type: ResultType): Node {
  const name = rootName(type);
  if (type.kind === 'dataSet') return element('s:element', ` name="${name}" nillable="true"`, [dataSetType()]);
  const nillable = type.kind === 'scalar' ? '' : ' nillable="true"';
  return element('s:element', ` name="${name}"${nillable} type="${typeName(type)}"`);
}

/** The type of a list in the messages of GET and POST. */
const abstractTypesSchema = (namespace: string): Node =>
  element('s:schema', ` targetNamespace="${below(namespace, 'AbstractTypes')}"`, [
    element('s:import', ` namespace="${SOAPENC}"`),
    element('s:complexType', ' name="StringArray"', [
      element('s:complexContent', ' mixed="false"', [
        element('s:restriction', ' base="soapenc:Array"', [
          sequence([element('s:element', ' minOccurs="0" maxOccurs="unbounded" name="String" type="s:string"')]),
        ]),
      ]),
    ]),
  ]);

// Messages, port types, bindings

function messages(name: string, { parameters, result }: Operation, port: PortName): Node[] {
  const message = (suffix: string, parts: string[]) =>
    element(
      'wsdl:message',
      ` name="${name}${port}${suffix}"`,
      parts.map((part) => element('wsdl:part', part)),
    );
  if (port === 'Soap') {
    return [
      message('In', [` name="parameters" element="tns:${name}"`]),
      message('Out', [` name="parameters" element="tns:${name}Response"`]),
    ];
  }
  const parts = Object.entries(parameters).map(
    ([parameter, { kind }]) => ` name="${parameter}" type="${kind === 'list' ? 's1:StringArray' : 's:string'}"`,
  );
  return [message('In', parts), message('Out', [` name="Body" element="tns:${rootName(result)}"`])];
}

const portType = (groupName: string, operations: Rows, port: PortName): Node =>
  element(
    'wsdl:portType',
    ` name="${groupName}${port}"`,
    operations.map(([name]) =>
      element('wsdl:operation', ` name="${name}"`, [
        element('wsdl:input', ` message="tns:${name}${port}In"`),
        element('wsdl:output', ` message="tns:${name}${port}Out"`),
      ]),
    ),
  );

interface Binding {
  readonly suffix: string;
  readonly prefix: string;
  readonly port: PortName;
  readonly attributes: string;
  operation(namespace: string, name: string): string;
  readonly input: Node;
  readonly output: Node;
}

const soapBinding = (suffix: string, prefix: string): Binding => ({
  suffix,
  prefix,
  port: 'Soap',
  attributes: ' transport="http://schemas.xmlsoap.org/soap/http"',
  operation: (namespace, name) => ` soapAction="${below(namespace, name)}" style="document"`,
  input: element(`${prefix}:body`, ' use="literal"'),
  output: element(`${prefix}:body`, ' use="literal"'),
});
const httpBinding = (verb: string, port: PortName, input: Node): Binding => ({
  suffix: port,
  prefix: 'http',
  port,
  attributes: ` verb="${verb}"`,
  input,
  operation: (_, name) => ` location="/${name}"`,
  output: element('mime:mimeXml', ' part="Body"'),
});
const BINDINGS: readonly Binding[] = [
  soapBinding('Soap', 'soap'),
  soapBinding('Soap12', 'soap12'),
  httpBinding('GET', 'HttpGet', element('http:urlEncoded', '')),
  httpBinding('POST', 'HttpPost', element('mime:content', ' type="application/x-www-form-urlencoded"')),
];

function bindingElement(groupName: string, operations: Rows, namespace: string, binding: Binding): Node {
  const { suffix, prefix, port } = binding;
  return element('wsdl:binding', ` name="${groupName}${suffix}" type="tns:${groupName}${port}"`, [
    element(`${prefix}:binding`, binding.attributes),
    ...operations.map(([name]) =>
      element('wsdl:operation', ` name="${name}"`, [
        element(`${prefix}:operation`, binding.operation(namespace, name)),
        element('wsdl:input', '', [binding.input]),
        element('wsdl:output', '', [binding.output]),
      ]),
    ),
  ]);
}

function service(groupName: string, address: string): Node {
  const ports = BINDINGS.map(({ suffix, prefix }) =>
    element('wsdl:port', ` name="${groupName}${suffix}" binding="tns:${groupName}${suffix}"`, [
      element(`${prefix}:address`, ` location="${escapeAttribute(address)}"`),
    ]),
  );
  return element('wsdl:service', ` name="${groupName}"`, ports);
}
