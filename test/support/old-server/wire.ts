import type { IncomingMessage } from 'node:http';
import type { Answer, Row } from './answers.ts';
import type { Ways } from './ways.ts';

/** Requests in and answers out, in the four protocols. */
export type Form = 'soap11' | 'soap12' | 'get' | 'post';

interface Decoded {
  readonly form: Form;
  readonly operation: string;
  readonly args: Record<string, string | string[]>;
}

export function decodeRequest(request: IncomingMessage, url: URL, operation: string, body: string): Decoded | null {
  if (operation !== '') {
    const form = request.method === 'GET' ? 'get' : 'post';
    const pairs = form === 'get' ? url.searchParams : new URLSearchParams(body);
    const args: Record<string, string | string[]> = {};
    for (const name of new Set(pairs.keys())) {
      const values = pairs.getAll(name);
      args[name] = name === 'contact_id' ? values : values.join();
    }
    return { form, operation, args };
  }
  const form = /^application\/soap\+xml/i.test(request.headers['content-type'] ?? '') ? 'soap12' : 'soap11';
  const found = /<(?:[\w-]+:)?Body[^>]*>\s*<(?:[\w-]+:)?(\w+)[^>]*?(?:\/>|>([\s\S]*)<\/(?:[\w-]+:)?\1\s*>)/.exec(body);
  if (!found) return null;
  return { form, operation: found[1] as string, args: readArguments(found[2] ?? '') };
}

function readArguments(inner: string): Record<string, string | string[]> {
  const args: Record<string, string | string[]> = {};
  for (const [, name = '', content = ''] of inner.matchAll(
    /<(?:[\w-]+:)?(\w+)(?:\s[^>]*)?>([\s\S]*?)<\/(?:[\w-]+:)?\1\s*>/g,
  )) {
    if (name === 'contact_id') {
      const items = content.matchAll(/<(?:[\w-]+:)?string[^>]*>([\s\S]*?)<\/(?:[\w-]+:)?string>/g);
      args[name] = [...items].map(([, item = '']) => unescaped(item));
    } else args[name] = unescaped(content);
  }
  return args;
}

const NAMED: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const unescaped = (text: string): string =>
  text
    .replace(/<!\[CDATA\[([\s\S]*?)\]\]>/g, (_, inner: string) => inner.replace(/&/g, '&amp;'))
    .replace(/&(#x?)?(\w+);/g, (_, mark: string | undefined, word: string) =>
      mark ? String.fromCodePoint(Number.parseInt(word, mark === '#x' ? 16 : 10)) : (NAMED[word] ?? ''),
    );
const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/\r/g, '&#xD;');

interface Encoded {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

const ENVELOPES = {
  soap11: ['http://schemas.xmlsoap.org/soap/envelope/', 'text/xml; charset=utf-8'],
  soap12: ['http://www.w3.org/2003/05/soap-envelope', 'application/soap+xml; charset=utf-8'],
} as const;
const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';
const PREFIXES = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"';

const envelope = (form: 'soap11' | 'soap12', body: string): string =>
  `${DECLARATION}<soap:Envelope xmlns:soap="${ENVELOPES[form][0]}" ${PREFIXES}><soap:Body>${body}</soap:Body></soap:Envelope>`;

export function encodeAnswer(form: Form, name: string, answer: Answer, ways: Ways): Encoded {
  const operation = name.slice(name.indexOf('.') + 1);
  const content = contentOf(answer, name, ways);
  if (form === 'soap11' || form === 'soap12') {
    const isAbsent = answer.kind === 'record' && answer.row === null;
    const result = isAbsent ? '' : `<${operation}Result>${content}</${operation}Result>`;
    const body = `<${operation}Response xmlns="${ways.namespace}">${result}</${operation}Response>`;
    return { status: 200, contentType: ENVELOPES[form][1], text: envelope(form, body) };
  }
  const isNil = answer.kind === 'record' && answer.row === null;
  const root = rootOf(answer);
  const text = `${DECLARATION}\n<${root} ${PREFIXES}${isNil ? ' xsi:nil="true"' : ''} xmlns="${ways.namespace}">${content}</${root}>`;
  return { status: 200, contentType: 'text/xml; charset=utf-8', text };
}

function rootOf(answer: Answer): string {
  if (answer.kind === 'list') return `ArrayOf${answer.item}`;
  if (answer.kind === 'texts') return 'ArrayOfString';
  return answer.kind === 'dataSet' ? 'DataSet' : answer.type;
}

export function encodeFault(form: Form, message: string): Encoded {
  const told = escaped(`Server was unable to process request. ---> ${message}`);
  if (form === 'soap11') {
    const fault = `<soap:Fault><faultcode>soap:Server</faultcode><faultstring>${told}</faultstring><detail /></soap:Fault>`;
    return { status: 500, contentType: ENVELOPES.soap11[1], text: envelope(form, fault) };
  }
  if (form === 'soap12') {
    const reason = `<soap:Reason><soap:Text xml:lang="en">${told}</soap:Text></soap:Reason>`;
    const fault = `<soap:Fault><soap:Code><soap:Value>soap:Receiver</soap:Value></soap:Code>${reason}<soap:Detail /></soap:Fault>`;
    return { status: 500, contentType: ENVELOPES.soap12[1], text: envelope(form, fault) };
  }
  return { status: 500, contentType: 'text/plain; charset=utf-8', text: `${message}\r\n` };
}

const fieldsOf = (row: Row): string =>
  Object.entries(row)
    .map(([name, value]) => (value === undefined ? '' : `<${name}>${escaped(value)}</${name}>`))
    .join('');

function contentOf(answer: Answer, name: string, ways: Ways): string {
  switch (answer.kind) {
    case 'scalar':
      return wordOf(answer.text, ways);
    case 'record':
      return answer.row ? fieldsOf(answer.row) : '';
    case 'list':
      return answer.rows.map((row) => `<${answer.item}>${fieldsOf(row)}</${answer.item}>`).join('');
    case 'texts':
      return answer.texts.map((text) => `<string>${escaped(text)}</string>`).join('');
    case 'dataSet':
      return dataSet(answer.rows, name, ways);
  }
}

/** A server with words of its own for true and false. */
const wordOf = (text: string, { booleans: [yes, no] = ['true', 'false'] }: Ways): string =>
  text === 'true' ? yes : text === 'false' ? no : text;

function dataSet(rows: readonly Row[], name: string, ways: Ways): string {
  const columns = ways.columns[name] ?? ways.columns['account.FetchContactsDS'] ?? [];
  const { dataSetName: set, tableName: table } = ways;
  const mode = ways.localMinutes === null ? 'Utc' : 'Unspecified';
  const declared = columns
    .map(([, column, type]) => {
      const dates = type === 'dateTime' ? ` msdata:DateTimeMode="${mode}"` : '';
      return `<xs:element name="${column}"${dates} type="xs:${type}" minOccurs="0" />`;
    })
    .join('');
  const schema = `<xs:schema id="${set}" xmlns="" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:msdata="urn:schemas-microsoft-com:xml-msdata"><xs:element name="${set}" msdata:IsDataSet="true" msdata:UseCurrentLocale="true"><xs:complexType><xs:choice minOccurs="0" maxOccurs="unbounded"><xs:element name="${table}"><xs:complexType><xs:sequence>${declared}</xs:sequence></xs:complexType></xs:element></xs:choice></xs:complexType></xs:element></xs:schema>`;
  const written = rows.map((row, index) => {
    const cells = columns.map(([shows, column]) => {
      const shown = shows.startsWith('=') ? shows.slice(1) : row[shows];
      const isBoolean = shows === 'read' || shows === 'marked';
      const value = isBoolean && shown !== undefined ? wordOf(shown, ways) : shown;
      return value === undefined ? '' : `<${column}>${escaped(value)}</${column}>`;
    });
    return `<${table} diffgr:id="${table}${index + 1}" msdata:rowOrder="${index}">${cells.join('')}</${table}>`;
  });
  const data = rows.length === 0 ? '' : `<${set} xmlns="">${written.join('')}</${set}>`;
  return `${schema}<diffgr:diffgram xmlns:msdata="urn:schemas-microsoft-com:xml-msdata" xmlns:diffgr="urn:schemas-microsoft-com:xml-diffgram-v1">${data}</diffgr:diffgram>`;
}
