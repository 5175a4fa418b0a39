import { gzipSync } from 'node:zlib';
import { ENVELOPES, NAMESPACE } from '../../support/protocols.ts';
import { ACME } from '../../support/service.ts';
import { chunked } from '../../support/socket.ts';

/** Where in a request a user_id may stand, in order and out of order, and what the wire log keeps of it. */
export interface Case {
  readonly name: string;
  readonly target?: string;
  readonly fields?: readonly string[];
  /** As it was before it was packed. */
  readonly body?: string | Buffer;
  readonly sent?: Buffer;
  /** Of the target or body in the file; by default, what was sent with each letter of the user_id replaced by x. */
  readonly traced?: string;
}

export const X = 'x'.repeat(ACME.length);
export const XML = 'Content-Type: text/xml; charset=utf-8';
export const FORM = 'Content-Type: application/x-www-form-urlencoded';
const soap = (element: string): string =>
  `<?xml version="1.0"?>\n<s:Envelope xmlns:s="${ENVELOPES.soap11}"><s:Body><Unread xmlns="${NAMESPACE}" xmlns:a="${NAMESPACE}">${element}<max_count>2</max_count></Unread></s:Body></s:Envelope>`;
const inSoap = (name: string, element: string, traced?: string): Case => ({
  name,
  target: '/api/inbox.asmx',
  fields: [XML],
  body: soap(element),
  ...(traced !== undefined && { traced: soap(traced) }),
});
const inGet = (name: string, query: string, traced?: string): Case => ({
  name,
  target: `/api/inbox.asmx/Unread?${query}`,
  ...(traced !== undefined && { traced: `/api/inbox.asmx/Unread?${traced}` }),
});
const inPost = (name: string, body: string, traced?: string): Case => ({
  name,
  target: '/api/inbox.asmx/Unread',
  fields: [FORM],
  body,
  ...(traced !== undefined && { traced }),
});

const packed = gzipSync(soap(`<user_id>${ACME}</user_id>`));
const encoded = ACME.replace('3', '%33');

/** What is kept of a request that did not succeed: these words, and what stands between words. */
const WORDS =
  'xml version 1 xmlns s http schemas xmlsoap org soap envelope Envelope Body api asmx inbox Unread user_id id max_count Profile CDATA www w3 2001 XMLSchema instance xsi type string'.split(
    ' ',
  );
export const wordsOf = (text: string): string =>
  text.replace(/[A-Za-z0-9_\x80-\xff]+/g, (word) =>
    WORDS.some((known) => known.toLowerCase() === word.toLowerCase()) ? word : 'x'.repeat(word.length),
  );

const part = `--b\r\nContent-Disposition: form-data; name="user_id"\r\n\r\n${ACME}\r\n--b--\r\n`;
/** Requests with a user_id in a place or an encoding that no call has. */
export const HIDDEN: Readonly<Record<string, { start: string; fields?: string[]; body?: string | Buffer }>> = {
  JSON: {
    start: 'POST /api/inbox.asmx/Unread HTTP/1.1',
    fields: ['Content-Type: application/json'],
    body: `{"user_id":"${ACME}","max_count":2}`,
  },
  'multipart/form-data': {
    start: 'POST /api/inbox.asmx/Unread HTTP/1.1',
    fields: ['Content-Type: multipart/form-data; boundary=b'],
    body: part,
  },
  'the path': { start: `GET /api/inbox.asmx/Unread/${ACME} HTTP/1.1` },
  'another path': { start: `GET /accounts/${ACME}/inbox HTTP/1.1` },
  'another parameter': { start: `GET /api/inbox.asmx/Unread?uid=${ACME}&key=${ACME}&max_count=2 HTTP/1.1` },
  'CDATA of another element': {
    start: 'POST /api/inbox.asmx HTTP/1.1',
    fields: [XML],
    body: soap(`<id><![CDATA[${ACME}]]></id>`),
  },
  'a SOAP action': {
    start: 'POST /api/inbox.asmx HTTP/1.1',
    fields: [XML, `SOAPAction: "${ACME}"`],
    body: soap(`<user_id>${ACME}</user_id>`),
  },
  'UTF-32': {
    start: 'POST /api/inbox.asmx HTTP/1.1',
    fields: ['Content-Type: text/xml; charset=utf-32'],
    body: Buffer.from([...soap(`<user_id>${ACME}</user_id>`)].flatMap((c) => [c.charCodeAt(0), 0, 0, 0])),
  },
};

/** Pages repeat what was asked for. */
export const ON_PAGES: readonly string[] = [`/api/inbox.asmx?op=${ACME}`, `/api/inbox.asmx?op=Unread&user_id=${ACME}`];

export const CASES: readonly Case[] = [
  inGet('GET', `user_id=${ACME}&max_count=2`),
  inGet('GET with names in another letter case', `Max_Count=2&USER_ID=${ACME}&x=1`),
  inGet('GET with a percent sign in the name', `user%5Fid=${ACME}&max_count=2`),
  inGet('GET with percent signs for all of the name', `%75%73%65%72%5f%69%64=${ACME}&max_count=2`),
  inGet('GET with a percent sign in the value', `user_id=${encoded}&max_count=2`, `user_id=xx${X}&max_count=2`),
  inGet('GET with the user_id twice', `user_id=${ACME}&user_id=${ACME}`),
  inGet('GET with an address that was escaped as HTML', `max_count=2&amp;user_id=${ACME}`),
  inGet('GET with another question mark', `max_count=2?user_id=${ACME}`),
  { name: 'GET with the query in the path', target: `/api/inbox.asmx/Unread%3Fuser_id=${ACME}` },
  inPost('POST', `user_id=${ACME}&max_count=2`),
  inPost('POST with a misspelt name', `max_count=2&UserId=${ACME}&user-id=${ACME}&user_id+=${ACME}`),
  inPost('POST of a form that was encoded as a whole', `user_id%3D${ACME}%26max_count%3D2`),
  inPost('POST that begins like XML', `<a=1&user_id=${ACME}`),
  { ...inPost('POST of a form as XML', `user_id=${ACME}&max_count=2`), target: '/api/inbox.asmx', fields: [XML] },
  inSoap('SOAP', `<user_id>${ACME}</user_id>`),
  inSoap('SOAP with a prefix', `<a:user_id>${ACME}</a:user_id>`),
  inSoap('SOAP with a CDATA section', `<user_id><![CDATA[${ACME}]]></user_id>`),
  inSoap(
    'SOAP with a user_id in two CDATA sections',
    `<user_id>${ACME.slice(0, 8)}<![CDATA[${ACME.slice(8, 20)}]]><![CDATA[${ACME.slice(20)}]]></user_id>`,
    `<user_id>${X}${'x'.repeat(21)}]]></user_id>`,
  ),
  inSoap(
    'SOAP with attributes',
    `<user_id xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"\n xsi:type='string' >${ACME}</user_id>`,
  ),
  inSoap('SOAP with a bracket in an attribute', `<user_id a=">">${ACME}</user_id>`),
  inSoap('SOAP with a broken start tag', `<user_id a="<">${ACME}</user_id>`),
  inSoap(
    'SOAP with references to characters',
    `<user_id>&#51;${ACME.slice(1)}</user_id>`,
    `<user_id>xxxx${X}</user_id>`,
  ),
  inSoap('SOAP with the element in another letter case', `<User_ID>${ACME}</User_ID>`),
  inSoap('SOAP with the user_id as an attribute', `<a user_id="${ACME}" b='1'/>`),
  inSoap('SOAP with the user_id twice', `<user_id>${ACME}</user_id><n:user_id xmlns:n="n">${ACME}</n:user_id>`),
  inSoap('SOAP with an element that does not end', `<user_id>${ACME}`),
  {
    ...inSoap('SOAP with a byte order mark', ''),
    body: `\uFEFF${soap(`<user_id a="1">${ACME}</user_id>`)}`,
  },
  ...['utf-16le', 'utf-16be'].map((encoding): Case => {
    const bytes = Buffer.from(`\uFEFF${soap(`<user_id>${ACME}</user_id>`)}`, 'utf16le');
    const body = encoding === 'utf-16le' ? bytes : bytes.swap16();
    return {
      ...inSoap(`SOAP in ${encoding}`, ''),
      fields: ['Content-Type: text/xml'],
      body,
      traced: 'x'.repeat(body.length),
    };
  }),
  {
    ...inSoap('SOAP that came compressed', `<user_id>${ACME}</user_id>`),
    fields: [XML, 'Content-Encoding: gzip'],
    sent: packed,
  },
  {
    ...inSoap('SOAP that came in chunks', `<user_id>${ACME}</user_id>`),
    fields: [XML, 'Transfer-Encoding: chunked'],
    sent: chunked(soap(`<user_id>${ACME}</user_id>`), 100),
  },
];
