import type { Request } from '../../src/base/exchange.ts';

/** Requests as clients phrase them, written without the service's own code. */
export type Protocol = 'soap11' | 'soap12' | 'get' | 'post';
export const PROTOCOLS: readonly Protocol[] = ['soap11', 'soap12', 'get', 'post'];

type Scalar = string | number | bigint | null;
/** null: the parameter is left out. */
export type Arguments = Readonly<Record<string, Scalar | readonly Scalar[]>>;
export type Phrased = Pick<Request, 'method' | 'path' | 'query' | 'headers'> & { bytes: string };

export const NAMESPACE = 'http://sms.example/api';
export const ENVELOPES = {
  soap11: 'http://schemas.xmlsoap.org/soap/envelope/',
  soap12: 'http://www.w3.org/2003/05/soap-envelope',
} as const;

export function requestOf(protocol: Protocol, group: string, operation: string, args: Arguments): Phrased {
  const path = `/api/${group}.asmx`;
  if (protocol === 'get')
    return { method: 'GET', path: `${path}/${operation}`, query: pairs(args), headers: {}, bytes: '' };
  if (protocol === 'post') {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return { method: 'POST', path: `${path}/${operation}`, query: '', headers, bytes: pairs(args) };
  }
  return soapRequest(protocol, group, envelope(protocol, operationElement(operation, args)), operation);
}

export function soapRequest(protocol: 'soap11' | 'soap12', group: string, bytes: string, operation?: string): Phrased {
  const headers: Record<string, string> =
    protocol === 'soap11'
      ? { 'content-type': 'text/xml; charset=utf-8', ...(operation && { soapaction: `"${NAMESPACE}/${operation}"` }) }
      : { 'content-type': 'application/soap+xml; charset=utf-8' };
  return { method: 'POST', path: `/api/${group}.asmx`, query: '', headers, bytes };
}

export const envelope = (protocol: 'soap11' | 'soap12', body: string, header = ''): string =>
  `<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="${ENVELOPES[protocol]}">${header}<s:Body>${body}</s:Body></s:Envelope>`;

export const operationElement = (operation: string, args: Arguments): string =>
  `<${operation} xmlns="${NAMESPACE}">${Object.entries(args)
    .map(([name, value]) => parameter(name, value))
    .join('')}</${operation}>`;

function parameter(name: string, value: Arguments[string]): string {
  if (value === null) return '';
  if (isList(value)) return `<${name}>${value.map((item) => `<string>${escaped(item)}</string>`).join('')}</${name}>`;
  return `<${name}>${escaped(value)}</${name}>`;
}

const isList = (value: Arguments[string]): value is readonly Scalar[] => Array.isArray(value);

const escaped = (value: Scalar): string =>
  String(value).replace(/[&<>\r]/g, (character) => `&#${character.charCodeAt(0)};`);

const pairs = (args: Arguments): string =>
  Object.entries(args)
    .flatMap(([name, value]) => (isList(value) ? value : [value]).map((item) => [name, item] as const))
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');
