import { formatDate } from '../../asmx/contract/dates.ts';
import { scalarText } from '../../asmx/contract/scalars.ts';
import type { ParameterType } from '../../asmx/contract/types.ts';
import type { Dialect } from '../../asmx/dialect/dialect.ts';
import type { ProtocolName } from '../../asmx/protocols/protocol.ts';
import { SOAP11, SOAP12 } from '../../asmx/protocols/soap-version.ts';
import { escapeAttribute, escapeText } from '../../asmx/xml/escape.ts';
import { operationOf } from './answer.ts';

/** A call as the clients of the old server encode it. */
export interface EncodedCall {
  /** Path and query below the base of the server. */
  readonly target: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}
interface Addressee {
  readonly namespace: string;
  readonly dialect: Dialect;
  /** The zone of dates without one, if the dialect names none. */
  readonly zone: string;
}

export function encodeCall(
  { namespace, dialect, zone }: Addressee,
  group: string,
  operation: string,
  protocol: ProtocolName,
  args: Readonly<Record<string, unknown>>,
): EncodedCall {
  const declared = operationOf(group, operation);
  if (!declared) throw new TypeError(`there is no operation ${group}.${operation}`);
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(declared.parameters, name));
  if (unknown !== undefined) throw new TypeError(`${group}.${operation} has no parameter ${unknown}`);
  const given = Object.entries(declared.parameters).flatMap(([name, type]): [string, string | readonly string[]][] => {
    const value = args[name];
    return value === undefined || value === null ? [] : [[name, textOf(type, value, dialect, zone)]];
  });
  const path = `/api/${group}.asmx`;
  if (protocol === 'soap11' || protocol === 'soap12') return soapCall(path, namespace, operation, protocol, given);
  const pairs = new URLSearchParams();
  for (const [name, text] of given) for (const each of [text].flat()) pairs.append(name, each);
  const target = `${path}/${operation}`;
  if (protocol === 'get') return { target: `${target}?${pairs}`, method: 'GET', headers: {}, body: null };
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return { target, method: 'POST', headers, body: String(pairs) };
}

function soapCall(
  target: string,
  namespace: string,
  operation: string,
  protocol: 'soap11' | 'soap12',
  given: readonly [string, string | readonly string[]][],
): EncodedCall {
  const version = protocol === 'soap11' ? SOAP11 : SOAP12;
  const parameters = given.map(([name, text]) => {
    const content =
      typeof text === 'string' ? escapeText(text) : text.map((each) => `<string>${escapeText(each)}</string>`).join('');
    return `<${name}>${content}</${name}>`;
  });
  const element = `<${operation} xmlns="${escapeAttribute(namespace)}">${parameters.join('')}</${operation}>`;
  // ASMX joins namespace and name with one slash.
  const action = `${namespace.replace(/\/$/, '')}/${operation}`;
  const headers: Record<string, string> =
    protocol === 'soap11'
      ? { 'Content-Type': version.contentType, SOAPAction: `"${action}"` }
      : { 'Content-Type': `${version.contentType}; action="${action}"` };
  return { target, method: 'POST', headers, body: version.open + element + version.close };
}

function textOf(type: ParameterType, value: unknown, dialect: Dialect, zone: string): string | readonly string[] {
  if (type.kind === 'list') return (value as readonly string[]).map(String);
  if (type.name !== 'dateTime') return scalarText[type.name].format(value as never);
  const { dates } = dialect;
  return dates?.zone === 'none' ? localTime(value as number, dates.timeZone ?? zone) : formatDate(value as number);
}

/** A server that writes local times without a zone expects arguments in the same form. */
export function localTime(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
  });
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const date = `${String(part.year).padStart(4, '0')}-${part.month}-${part.day}`;
  return `${date}T${part.hour}:${part.minute}:${part.second}.${part.fractionalSecond}`;
}
