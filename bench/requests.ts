/** Requests in the four forms, as clients made with .NET phrase them. */
export type Protocol = 'SOAP 1.1' | 'SOAP 1.2' | 'GET' | 'POST';
export const PROTOCOLS: readonly Protocol[] = ['SOAP 1.1', 'SOAP 1.2', 'GET', 'POST'];

export interface Call {
  readonly group: string;
  readonly operation: string;
  readonly args: Readonly<Record<string, string>>;
}

export const NAMESPACE = 'http://sms.example/api';

export function requestBytes(protocol: Protocol, call: Call, path = pathOf(protocol, call)): Buffer {
  const { operation, args } = call;
  if (protocol === 'GET') return message(`GET ${path}?${new URLSearchParams(args)}`);
  if (protocol === 'POST') {
    return message(`POST ${path}`, 'application/x-www-form-urlencoded', String(new URLSearchParams(args)));
  }
  const body = envelope(protocol, call);
  if (protocol === 'SOAP 1.2') return message(`POST ${path}`, 'application/soap+xml; charset=utf-8', body);
  return message(`POST ${path}`, `text/xml; charset=utf-8\r\nSOAPAction: "${NAMESPACE}/${operation}"`, body);
}

const pathOf = (protocol: Protocol, { group, operation }: Call): string =>
  protocol.startsWith('SOAP') ? `/api/${group}.asmx` : `/api/${group}.asmx/${operation}`;

function message(start: string, type?: string, body = ''): Buffer {
  const about = type === undefined ? '' : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(`${start} HTTP/1.1\r\nHost: 127.0.0.1\r\n${about}\r\n${body}`);
}

const ENVELOPES = {
  'SOAP 1.1': ['soap', 'http://schemas.xmlsoap.org/soap/envelope/'],
  'SOAP 1.2': ['soap12', 'http://www.w3.org/2003/05/soap-envelope'],
} as const;

function envelope(protocol: keyof typeof ENVELOPES, { operation, args }: Call): string {
  const [prefix, namespace] = ENVELOPES[protocol];
  const parameters = Object.entries(args).map(([name, value]) => `<${name}>${value}</${name}>`);
  return `<?xml version="1.0" encoding="utf-8"?><${prefix}:Envelope xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:${prefix}="${namespace}"><${prefix}:Body><${operation} xmlns="${NAMESPACE}">${parameters.join('')}</${operation}></${prefix}:Body></${prefix}:Envelope>`;
}
