import assert from 'node:assert/strict';
import type { XmlDocument, XmlElement } from 'libxml2-wasm';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { DataSetType, Fields, Operation, Scalar } from '../../src/asmx/contract/types.ts';
import { NAMESPACE, parse } from '../../test/support/schema-validator.ts';
import type { Neutral } from './expectations.ts';

/**
 * What clients make of a reply, as neutral answers. Each value must be of the type that the contract gives it, and say what
 * stands in the XML; a client may differ from that only where its quirks are listed.
 */
export interface Reading {
  readonly quirks: readonly Quirk[];
  /** The rows in what the client makes of a DataSet. */
  rowsOf(dataSet: unknown): readonly Row[];
}
export type Quirk =
  /** It cuts off the white space around a text. */
  | 'trims text'
  /** An element without content, a list or a text, is null, undefined or not there. */
  | 'empty is null'
  /** An element that is not there has a name in its record all the same. */
  | 'absent is null'
  | 'long is a double'
  | 'dateTime is text'
  /** It does not make use of the schema that a DataSet brings: all columns are texts. */
  | 'columns are texts'
  /** It does not send a call without a parameter that the WSDL requires. */
  | 'refuses incomplete calls';

export type Row = Readonly<Record<string, unknown>>;

export interface ClientReply {
  /** The Response element as the client understood it; null or undefined where it found nothing in it. */
  readonly response: Row | null | undefined;
  readonly xml: string;
}

export const operationOf = (group: string, name: string): Operation =>
  (contract as Record<string, Record<string, Operation>>)[group]?.[name] ?? assert.fail(`no operation ${name}`);

export function answerOf(client: Reading, group: string, name: string, { response, xml }: ClientReply): Neutral {
  const { result } = operationOf(group, name);
  const given = response?.[`${name}Result`];
  return readXml(xml, (document) => {
    const [element] = find(document, `//t:${name}Response/t:${name}Result`);
    if (!element) {
      assert.equal(result.kind, 'record', 'only a record may be missing');
      assertAbsent(client, given);
      return null;
    }
    switch (result.kind) {
      case 'scalar':
        return scalar(client, result, given, element.content);
      case 'record':
        return record(client, result.fields, given as Row, element);
      case 'list': {
        assert.ok(response && `${name}Result` in response, 'an empty list is there, and empty');
        const { item } = result;
        const items = (given as Row | null | undefined)?.[item.name] ?? [];
        assert.ok(Array.isArray(items), 'the client does not know that this is a list');
        const elements = find(element, `t:${item.name}`);
        assert.equal(items.length, elements.length);
        return elements.map((each, index) =>
          item.kind === 'record'
            ? record(client, item.fields, items[index], each)
            : scalar(client, item, items[index], each.content),
        );
      }
      case 'dataSet': {
        const rows = client.rowsOf(given);
        const elements = rowElements(document, result);
        assert.equal(rows.length, elements.length);
        const reader = client.quirks.includes('columns are texts') ? cell : scalar;
        return elements.map((each, index) => record(client, result.columns, rows[index] as Row, each, reader));
      }
    }
  });
}

type ScalarReader = (client: Reading, type: Scalar, value: unknown, text: string) => Neutral;

function record(client: Reading, fields: Fields, given: Row, element: XmlElement, read: ScalarReader = scalar) {
  const unknown = Object.keys(given).filter((name) => !(name in fields));
  assert.deepEqual(unknown, [], 'fields that the contract does not have');
  const texts = new Map(find(element, '*').map(({ name, content }) => [name, content]));
  const values: Record<string, Neutral> = {};
  for (const [name, type] of Object.entries(fields)) {
    const text = texts.get(name);
    if (text === undefined) assertAbsent(client, given[name]);
    else values[name] = read(client, type, given[name], text);
  }
  return values;
}

function assertAbsent({ quirks }: Reading, value: unknown): void {
  assert.equal(value, value === null && quirks.includes('absent is null') ? null : undefined);
}

function scalar({ quirks }: Reading, type: Scalar, value: unknown, text: string): Neutral {
  const has = (quirk: Quirk) => quirks.includes(quirk);
  switch (type.name) {
    case 'string': {
      const expected = has('trims text') ? text.trim() : text;
      assert.equal(has('empty is null') ? (value ?? '') : value, expected);
      break;
    }
    case 'int':
      assert.equal(typeof value === 'bigint' ? Number(value) : value, Number(text));
      break;
    case 'long':
      assert.equal(value, has('long is a double') ? Number(text) : BigInt(text));
      break;
    case 'boolean':
      assert.equal(value, text === 'true');
      break;
    case 'dateTime':
      if (has('dateTime is text')) assert.equal(value, text);
      else assert.deepEqual(value, new Date(text));
  }
  return neutral(type, text);
}

/** A column's value where all of them are texts. */
const cell: ScalarReader = (client, type, value, text) => {
  scalar(client, { kind: 'scalar', name: 'string' }, value, text);
  return neutral(type, text);
};

function neutral({ name }: Scalar, text: string): Neutral {
  switch (name) {
    case 'string':
      return text;
    case 'int':
      return Number(text);
    case 'boolean':
      return { true: true, false: false }[text] ?? assert.fail(`${text} is no boolean`);
    case 'long':
      assert.match(text, /^-?\d+$/);
      return text;
    case 'dateTime':
      assert.match(text, /Z$/);
      return new Date(text).toISOString();
  }
}

const PREFIXES = {
  t: NAMESPACE,
  xs: 'http://www.w3.org/2001/XMLSchema',
  diffgr: 'urn:schemas-microsoft-com:xml-diffgram-v1',
  msdata: 'urn:schemas-microsoft-com:xml-msdata',
};

/** Elements, or attributes, of a reply. */
export const find = (from: XmlDocument | XmlElement, path: string): XmlElement[] =>
  from.find(path, PREFIXES) as XmlElement[];

export function readXml<T>(xml: string, read: (document: XmlDocument) => T): T {
  const document = parse(xml);
  try {
    return read(document);
  } finally {
    document.dispose();
  }
}

/** The rows of a DataSet, once its schema has shown the columns of the contract and its rows are numbered. */
function rowElements(document: XmlDocument, { columns }: DataSetType): XmlElement[] {
  const texts = (path: string) => find(document, path).map(({ content }) => content);
  const types = texts('//xs:sequence/xs:element/@type');
  const declared = texts('//xs:sequence/xs:element/@name').map((name, index) => [name, types[index]]);
  assert.deepEqual(
    declared,
    Object.entries(columns).map(([name, type]) => [name, `xs:${type.name}`]),
  );
  const rows = find(document, '//diffgr:diffgram/NewDataSet/Table');
  const ids = rows.map((_, index) => `Table${index + 1}`);
  assert.deepEqual(texts('//Table/@diffgr:id'), ids);
  const order = rows.map((_, index) => `${index}`);
  assert.deepEqual(texts('//Table/@msdata:rowOrder'), order);
  return rows;
}

/** The rows of a diffgram as texts by column, for a client that leaves reading it to its program. */
export const rowsOfDiffgram = (xml: string): Row[] =>
  readXml(xml, (document) =>
    find(document, '/diffgr:diffgram/NewDataSet/Table').map((row) =>
      Object.fromEntries(find(row, '*').map(({ name, content }) => [name, content])),
    ),
  );
