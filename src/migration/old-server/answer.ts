import { contract } from '../../asmx/contract/contract.ts';
import type { Contract, Operation, ResultType } from '../../asmx/contract/types.ts';
import type { Dialect } from '../../asmx/dialect/dialect.ts';
import { decodeXml } from '../../asmx/protocols/encoding.ts';
import { parseMediaType } from '../../asmx/protocols/media-type.ts';
import type { ProtocolName } from '../../asmx/protocols/protocol.ts';
import type { XmlLimits } from '../../asmx/xml/limits.ts';
import { attribute, readXml, type XmlElement } from '../../asmx/xml/reader.ts';
import { Problem } from '../../base/problem.ts';
import { type RawDataSet, readDataSet } from './answer-dataset.ts';
import { AnswerValues, type RawRecord, Unreadable } from './answer-values.ts';

/**
 * Reads an answer of any protocol into values of the contract, through the dialect. The input comes
 * from another server, so sizes are limited, and an answer that is not understood is `unreadable`.
 */
export type ReadAnswer =
  | {
      readonly kind: 'value';
      /** The value in the type of the contract, with our names and our status words. */
      readonly value: unknown;
      /** The names and texts as the answer has them. */
      readonly raw: RawValue;
      /** The namespace of the result. */
      readonly namespace: string;
    }
  | FaultAnswer
  | UnreadableAnswer;
export interface FaultAnswer {
  readonly kind: 'fault';
  /** The SOAP code, such as Server or Client, or `HTTP 500` without a SOAP fault. */
  readonly code: string;
  readonly text: string;
}
export interface UnreadableAnswer {
  readonly kind: 'unreadable';
  readonly reason: string;
}

/** A scalar is a text. A list has texts or records. An absent value is null. */
export type RawValue = string | null | RawRecord | readonly (string | null | RawRecord)[] | RawDataSet;

export interface AnswerBytes {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** A row of 8 columns takes 9 elements and 2 attributes, so these limits allow 200,000 rows. */
export const LIMITS: XmlLimits = {
  xmlDepthMax: 32,
  xmlElementsMax: 2_000_000,
  xmlAttributesMax: 64,
  xmlAttributesTotalMax: 1_000_000,
  nameLengthMax: 1_024,
  textLengthMax: 4 * 1024 * 1024,
};

export function readAnswer(
  group: string,
  operation: string,
  protocol: ProtocolName,
  answer: AnswerBytes,
  dialect: Dialect,
  /** The zone of dates without one, if the dialect names none. */
  zone = 'UTC',
): ReadAnswer {
  const declared = operationOf(group, operation);
  if (!declared) return { kind: 'unreadable', reason: `The contract has no operation ${group}.${operation}.` };
  const isSoap = protocol === 'soap11' || protocol === 'soap12';
  return understood(() => {
    if (!isSoap && answer.status !== 200) return httpFault(answer);
    if (answer.body.length === 0) return answer.status === 200 ? unreadable('The answer is empty.') : httpFault(answer);
    if (answer.status !== 200 && !isXml(answer)) return httpFault(answer);
    const root = parseAnswerXml(answer);
    const values = valuesOf(declared, dialect, zone);
    if (!isSoap) return resultOf(root, declared, `${group}.${operation}`, values);
    return readEnvelope(root, answer, operation, (result, response) =>
      result
        ? resultOf(result, declared, `${group}.${operation}`, values)
        : absentResult(declared.result, response.uri),
    );
  });
}

/** Returns what a reader returns, or why it could not read the answer. */
export function understood<T>(read: () => T): T | UnreadableAnswer {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Unreadable) return unreadable(thrown.message);
    if (thrown instanceof Problem) return unreadable(thrown.message.replace(/\b[Tt]he request\b/, 'The answer'));
    throw thrown;
  }
}

/** A DataSet may have dates in a form of its own. */
export function valuesOf({ result }: Operation, dialect: Dialect, zone: string): AnswerValues {
  const dates = (result.kind === 'dataSet' ? dialect.dataSet?.dates : undefined) ?? dialect.dates;
  return new AnswerValues(dialect, dates, zone);
}

export function operationOf(group: string, operation: string): Operation | undefined {
  const operations = Object.hasOwn(contract, group) ? (contract as Contract)[group] : undefined;
  return operations && Object.hasOwn(operations, operation) ? operations[operation] : undefined;
}

/** Throws Problem if the answer is no XML. */
export const parseAnswerXml = ({ contentType, body }: Pick<AnswerBytes, 'contentType' | 'body'>): XmlElement =>
  readXml(decodeXml(body, parseMediaType(contentType).parameters.charset), LIMITS);

const isXml = ({ contentType }: AnswerBytes): boolean => /(^|\/|\+)xml$/.test(parseMediaType(contentType).type);

const unreadable = (reason: string): UnreadableAnswer => ({ kind: 'unreadable', reason });

export const SOAP_NAMESPACES = ['http://schemas.xmlsoap.org/soap/envelope/', 'http://www.w3.org/2003/05/soap-envelope'];
const XSI = 'http://www.w3.org/2001/XMLSchema-instance';

function readEnvelope(
  root: XmlElement,
  answer: AnswerBytes,
  operation: string,
  read: (result: XmlElement | undefined, response: XmlElement) => ReadAnswer,
): ReadAnswer {
  if (root.local !== 'Envelope' || !SOAP_NAMESPACES.includes(root.uri)) {
    return answer.status === 200 ? unreadable('The answer is no SOAP envelope.') : httpFault(answer);
  }
  const body = root.children.find(({ local, uri }) => local === 'Body' && uri === root.uri);
  const content = body?.children[0];
  if (!content) return unreadable('The answer has no SOAP Body.');
  if (content.local === 'Fault' && content.uri === root.uri) return soapFault(content);
  if (content.local !== `${operation}Response`) return unreadable(`The Body has no ${operation}Response.`);
  const result = content.children.find(({ local }) => local === `${operation}Result`);
  return read(result, content);
}

// As much as a person reads; a stack trace has thousands of characters.
const FAULT_TEXT_MAX = 500;

export function soapFault(fault: XmlElement): FaultAnswer {
  const find = (...path: string[]): XmlElement | undefined =>
    path.reduce<XmlElement | undefined>((at, name) => at?.children.find(({ local }) => local === name), fault);
  const code = (find('faultcode') ?? find('Code', 'Value'))?.text.trim() ?? '';
  const text = (find('faultstring') ?? find('Reason', 'Text'))?.text.trim() ?? '';
  return { kind: 'fault', code: code.slice(code.lastIndexOf(':') + 1), text: text.slice(0, FAULT_TEXT_MAX) };
}

/** Shows only a plain text, which is meant for the caller, and no HTML page. */
function httpFault({ status, contentType, body }: AnswerBytes): ReadAnswer {
  const isPlain = parseMediaType(contentType).type === 'text/plain';
  const text = isPlain
    ? Buffer.from(body.subarray(0, 4 * FAULT_TEXT_MAX))
        .toString('utf8')
        .trim()
    : '';
  return { kind: 'fault', code: `HTTP ${status}`, text: text.slice(0, FAULT_TEXT_MAX) };
}

/** ASMX leaves out a null record, list or string, but never a number or a boolean. */
function absentResult(type: ResultType, namespace: string): ReadAnswer {
  if (type.kind === 'scalar' && type.name !== 'string') return unreadable('The answer has no result.');
  const isMany = type.kind === 'list' || type.kind === 'dataSet';
  return { kind: 'value', value: isMany ? [] : null, raw: isMany ? [] : null, namespace };
}

function resultOf(element: XmlElement, { result }: Operation, name: string, values: AnswerValues): ReadAnswer {
  const namespace = element.uri;
  if (isNil(element)) return absentResult(result, namespace);
  switch (result.kind) {
    case 'scalar': {
      const value = values.scalar(result, 'the result', element.text);
      return { kind: 'value', value, raw: element.text, namespace };
    }
    case 'record': {
      const { value, raw } = values.record(result.fields, element);
      return { kind: 'value', value, raw, namespace };
    }
    case 'list': {
      const { item } = result;
      const items = element.children.map((child) => {
        if (isNil(child)) return { value: null, raw: null };
        if (item.kind === 'record') return values.record(item.fields, child);
        return { value: values.scalar(item, 'an item', child.text), raw: child.text };
      });
      const raw = items.map((each) => each.raw);
      return { kind: 'value', value: items.map((each) => each.value), raw, namespace };
    }
    case 'dataSet': {
      const { rows, raw } = readDataSet(element, result.columns, name, values);
      return { kind: 'value', value: rows, raw, namespace };
    }
  }
}

export const isNil = (element: XmlElement): boolean =>
  ['true', '1'].includes(attribute(element, XSI, 'nil')?.trim() ?? '');
