import assert from 'node:assert/strict';
import { type XmlElement, XmlXPath } from 'libxml2-wasm';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Fields, Operation, ResultType, Scalar } from '../../src/asmx/contract/types.ts';
import { type Arguments, ENVELOPES, NAMESPACE, type Protocol } from '../support/protocols.ts';
import { parse } from '../support/schema-validator.ts';
import type { Service } from '../support/service.ts';

/** Replies as typed values, read by another XML parser than the service's own. A string that is absent is null. */
export type Value = string | number | bigint | boolean | null | readonly Value[] | { readonly [name: string]: Value };

const OPERATIONS = new Map(
  Object.entries(contract).flatMap(([group, operations]) =>
    Object.entries<Operation>(operations).map(([name, row]) => [`${group}.${name}`, row] as const),
  ),
);

export async function ask(
  service: Service,
  protocol: Protocol,
  group: string,
  operation: string,
  args: Arguments,
): Promise<Value> {
  const { status, text } = await service.call(protocol, group, operation, args);
  assert.equal(status, 200, text);
  return readReply(protocol, group, operation, text);
}

function readReply(protocol: Protocol, group: string, operation: string, text: string): Value {
  const { result } = OPERATIONS.get(`${group}.${operation}`) ?? assert.fail(`no operation ${operation}`);
  const document = parse(text);
  try {
    if (protocol === 'get' || protocol === 'post') return read(result, document.root);
    const [response] = document.find(`/s:Envelope/s:Body/t:${operation}Response`, {
      s: ENVELOPES[protocol],
      t: NAMESPACE,
    });
    return read(result, childrenOf(response as XmlElement)[0]);
  } finally {
    document.dispose();
  }
}

function read(type: ResultType, element: XmlElement | undefined): Value {
  switch (type.kind) {
    case 'scalar':
      return scalar(type, contentOf(element as XmlElement));
    case 'record':
      return !element || element.attrs.some(({ name }) => name === 'nil') ? null : fields(type.fields, element);
    case 'list':
      return childrenOf(element as XmlElement).map((item) =>
        type.item.kind === 'record' ? fields(type.item.fields, item) : scalar(type.item, contentOf(item)),
      );
    case 'dataSet': {
      const [, diffgram] = childrenOf(element as XmlElement);
      const [rows] = childrenOf(diffgram as XmlElement);
      return rows ? childrenOf(rows).map((row) => fields(type.columns, row)) : [];
    }
  }
}

const CHILDREN = XmlXPath.compile('*');
const childrenOf = (element: XmlElement): XmlElement[] => element.find(CHILDREN) as XmlElement[];

// `content` loses a U+FEFF at the start, which libxml2-wasm's way from UTF-8 takes for a byte order mark.
const CONTENT = XmlXPath.compile('concat("x", .)');
const contentOf = (element: XmlElement): string => (element.eval(CONTENT) as string).slice(1);

function fields(types: Fields, element: XmlElement): Record<string, Value> {
  const values: Record<string, Value> = Object.fromEntries(Object.keys(types).map((name) => [name, null]));
  for (const child of childrenOf(element)) {
    const { name } = child;
    assert.equal(values[name], null, `${name} is no field, or is there twice`);
    values[name] = scalar(types[name] as Scalar, contentOf(child));
  }
  return values;
}

function scalar({ name }: Scalar, text: string): Value {
  switch (name) {
    case 'string':
      return text;
    case 'int':
      return Number(text);
    case 'long':
      return BigInt(text);
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : assert.fail(`${text} is no boolean`));
    case 'dateTime':
      return Date.parse(text);
  }
}
