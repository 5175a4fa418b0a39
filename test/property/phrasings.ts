import { type Arguments, envelope, NAMESPACE, type Phrased, requestOf, soapRequest } from '../support/protocols.ts';

/** The same call in the many ways in which clients may write its characters. The arguments are texts. */
type Phrasing = (
  group: string,
  operation: string,
  args: Arguments,
) => Omit<Phrased, 'bytes'> & { bytes: string | Buffer };

const textsOf = (args: Arguments): [string, string][] =>
  Object.entries(args).map(([name, value]) => [name, String(value)]);

const soap =
  (write: (text: string) => string): Phrasing =>
  (group, operation, args) => {
    const parameters = textsOf(args).map(([name, text]) => `<t:${name}>${write(text)}</t:${name}>`);
    const body = `<t:${operation} xmlns:t="${NAMESPACE}">${parameters.join('')}</t:${operation}>`;
    return soapRequest('soap11', group, envelope('soap11', body), operation);
  };

const references = soap((text) =>
  [...text].map((character) => `&#x${character.codePointAt(0)?.toString(16)};`).join(''),
);
const decimals = soap((text) => [...text].map((character) => `&#${character.codePointAt(0)};`).join(''));
/** A CDATA section ends at the first `]]>`, and a carriage return in one would be read as a line feed. */
const cdata = soap(
  (text) => `<![CDATA[${text.replaceAll(']]>', ']]]]><![CDATA[>').replaceAll('\r', ']]>&#13;<![CDATA[')}]]>`,
);

const encoded =
  (contentType: string, encode: (text: string) => Buffer): Phrasing =>
  (group, operation, args) => {
    const request = requestOf('soap11', group, operation, args);
    const text = request.bytes.replace(/^<\?xml[^>]*>/, '');
    return { ...request, headers: { ...request.headers, 'content-type': contentType }, bytes: encode(text) };
  };

const utf16le = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le');
const utf16be = (text: string): Buffer => utf16le(text).swap16();

const pairs = (args: Arguments, write: (text: string) => string): string =>
  textsOf(args)
    .map(([name, text]) => `${name}=${write(text)}`)
    .join('&');

const post =
  (contentType: string, write: (text: string) => string): Phrasing =>
  (group, operation, args) => ({
    ...requestOf('post', group, operation, {}),
    headers: { 'content-type': contentType },
    bytes: Buffer.from(pairs(args, write)),
  });

const get =
  (write: (text: string) => string): Phrasing =>
  (group, operation, args) => ({
    ...requestOf('get', group, operation, {}),
    query: Buffer.from(pairs(args, write)).toString('latin1'), // as node:http hands on what is not ASCII
  });

const FORM = 'application/x-www-form-urlencoded';
const everyByte = (text: string): string => Buffer.from(text).toString('hex').replace(/../g, '%$&');
const units = (text: string): string =>
  text
    .split('')
    .map((unit) => `%u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
const plus = (text: string): string => encodeURIComponent(text).replaceAll('%20', '+');
/** Only what would be misread is escaped; what is not ASCII goes as it is. */
const sparing = (text: string): string =>
  text.replace(/[%&+=#\0- \x7F]/g, (character) => encodeURIComponent(character));

export const phrasings: Readonly<Record<string, Phrasing>> = {
  'SOAP with character references': references,
  'SOAP with decimal character references': decimals,
  'SOAP with CDATA': cdata,
  'SOAP in UTF-8 with a byte order mark': encoded('text/xml', (text) => Buffer.from(`\uFEFF${text}`)),
  'SOAP without charset': encoded('text/xml', (text) => Buffer.from(text)),
  'SOAP in UTF-16, little-endian': encoded('text/xml; charset=utf-16', utf16le),
  'SOAP in UTF-16, big-endian': encoded('text/xml; charset="UTF-16"', utf16be),
  'SOAP in UTF-16 that only its byte order mark tells': encoded('text/xml', utf16be),
  'POST with every byte escaped': post(FORM, everyByte),
  'POST with plus for blanks and a charset': post(`${FORM}; charset=utf-8`, plus),
  'POST with UTF-16 units escaped': post(FORM, units),
  'POST with raw bytes': post(`${FORM};charset=UTF-8`, sparing),
  'GET with every byte escaped': get(everyByte),
  'GET with plus for blanks': get(plus),
  'GET with UTF-16 units escaped': get(units),
  'GET with raw bytes': get(sparing),
};
