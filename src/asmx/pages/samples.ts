import { describeParameter } from '../contract/descriptions.ts';
import { type Fields, type Operation, type ResultType, type ScalarName, string } from '../contract/types.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { envelopeTag, SOAP11, SOAP12, type SoapVersion } from '../protocols/soap-version.ts';
import { below, container, indented, lead, scalarWriter, XML_DECLARATION } from '../results/elements.ts';
import { type ResultForm, resultForm } from '../results/result-form.ts';
import { resultWriter, rootAttributes, rootName } from '../results/result-writer.ts';

/** Sample exchanges of an operation in all four protocols, with this server's URL and namespace. */
export interface Sample {
  readonly title: string;
  readonly request: string;
  readonly response: string;
}

/** Where an example call goes, and with which user_id. */
export interface CallTarget {
  /** The URL of the group, e.g. http://sms.example/api/inbox.asmx. */
  readonly address: string;
  /** The user_id to show. */
  readonly userId: string;
}

export interface SampleTarget extends CallTarget {
  readonly namespace: string;
  readonly dialect: Dialect;
}

export function samples(group: string, name: string, operation: Operation, target: SampleTarget): Sample[] {
  const form = resultForm(target.dialect, `${group}.${name}`);
  const { host, pathname } = new URL(target.address);
  const pairs = examplePairs(operation, target.userId)
    .map(([parameter, value]) => `${parameter}=${encodeURIComponent(value)}`)
    .join('&');
  const bare = http200('text/xml; charset=utf-8', bareResult(operation, target.namespace, form));
  return [
    soapSample(SOAP11, name, operation, target, form),
    soapSample(SOAP12, name, operation, target, form),
    { title: 'HTTP GET', request: `GET ${pathname}/${name}?${pairs} HTTP/1.1\nHost: ${host}\n`, response: bare },
    {
      title: 'HTTP POST',
      request: `POST ${pathname}/${name} HTTP/1.1\nHost: ${host}\nContent-Type: application/x-www-form-urlencoded\n${LENGTH}\n\n${pairs}`,
      response: bare,
    },
  ];
}

/** The word `length`, as in ASMX: a number would be wrong for another user_id. */
const LENGTH = 'Content-Length: length';

/** The example value of a parameter. */
export const exampleOf = (name: string, userId: string): string | readonly string[] =>
  name === 'user_id' ? userId : describeParameter(name).example;

/** Name and value of each parameter. A list has one pair for each item. */
export const examplePairs = ({ parameters }: Operation, userId: string): [string, string][] =>
  Object.keys(parameters).flatMap((name) =>
    [exampleOf(name, userId)].flat().map((value): [string, string] => [name, value]),
  );

function soapSample(
  version: SoapVersion,
  name: string,
  operation: Operation,
  target: SampleTarget,
  form: ResultForm,
): Sample {
  const [title, action] =
    version === SOAP11 ? ['SOAP 1.1', `SOAPAction: "${below(target.namespace, name)}"\n`] : ['SOAP 1.2', ''];
  const { host, pathname } = new URL(target.address);
  const request = envelope(version, operationElement(name, operation, target));
  const write = resultWriter(operation.result, `${name}Result`, '', indented, 3, form);
  const response = container(`${name}Response`, ` xmlns="${target.namespace}"`, indented, 2, write.whole);
  return {
    title,
    request: `POST ${pathname} HTTP/1.1\nHost: ${host}\nContent-Type: ${version.contentType}\n${LENGTH}\n${action}\n${request}`,
    response: http200(version.contentType, envelope(version, response(exampleResult(operation.result)))),
  };
}

const http200 = (contentType: string, body: string): string =>
  `HTTP/1.1 200 OK\nContent-Type: ${contentType}\n${LENGTH}\n\n${body}`;

const envelope = ({ uri }: SoapVersion, content: string): string =>
  `${XML_DECLARATION}\n${envelopeTag(uri)}\n  <soap:Body>${content}\n  </soap:Body>\n</soap:Envelope>`;

function operationElement(name: string, { parameters }: Operation, { namespace, userId }: SampleTarget): string {
  return container(name, ` xmlns="${namespace}"`, indented, 2, () =>
    Object.keys(parameters)
      .map((parameter) => {
        const example = exampleOf(parameter, userId);
        if (typeof example === 'string') return scalarWriter(string, parameter, '', indented, 3)(example);
        const item = scalarWriter(string, 'string', '', indented, 4);
        return `${lead(indented, 3)}<${parameter}>${example.map(item).join('')}${lead(indented, 3)}</${parameter}>`;
      })
      .join(''),
  )(null);
}

function bareResult({ result }: Operation, namespace: string, form: ResultForm): string {
  const write = resultWriter(result, rootName(result), rootAttributes(result, namespace), indented, 0, form);
  return XML_DECLARATION + write.whole(exampleResult(result));
}

const EXAMPLES: Record<ScalarName, unknown> = {
  string: 'string',
  int: 1,
  long: 1001n,
  boolean: true,
  dateTime: Date.UTC(2026, 9, 2, 10, 45, 30),
};

const exampleFields = (fields: Fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, EXAMPLES[type.name]]));

function exampleResult(type: ResultType): unknown {
  switch (type.kind) {
    case 'scalar':
      return EXAMPLES[type.name];
    case 'record':
      return exampleFields(type.fields);
    case 'list':
      return [exampleResult(type.item), exampleResult(type.item)];
    case 'dataSet':
      return [exampleFields(type.columns)];
  }
}
