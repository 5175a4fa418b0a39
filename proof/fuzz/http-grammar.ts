import type { Random } from '../../test/support/random.ts';
import { ACME } from '../../test/support/service.ts';
import type { Talk } from './http-conversation.ts';
import { chunkedBody, FRAMINGS, HTTP_PIECES, ODD_FIELDS, VERSIONS } from './http-pieces.ts';
import { length, mutated } from './mutation.ts';
import { seeds } from './seeds.ts';

/** Bytes for a connection: requests one behind the other, some of them wrong, in pieces. */
export function talkOf(random: Random): Talk {
  let bytes = '';
  for (let left = random.chance(0.6) ? 1 : 1 + random.below(4); left > 0; left -= 1) bytes += request(random);
  if (random.chance(0.2)) bytes = mutated(random, bytes, HTTP_PIECES, RAW);
  const ending = random.chance(0.85) ? 'end' : random.pick(['end at once', 'break off'] as const);
  return { pieces: cut(random, bytes), ending };
}

/** Calls that only read: what a call does is for the other fuzzers. */
const READING = seeds.filter(({ raw }) => /Fetch|Count|Profile|Unread|InboxDS|Lookup/.test(raw.slice(0, 400)));
const RAW = READING.map(({ raw }) => raw);

function cut(random: Random, bytes: string): string[] {
  if (random.chance(0.6)) return [bytes];
  if (bytes.length < 200 && random.chance(0.1)) return bytes.split('');
  const places = Array.from({ length: 1 + random.below(4) }, () => random.below(bytes.length + 1)).sort(
    (a, b) => a - b,
  );
  return [...places, bytes.length]
    .map((end, index) => bytes.slice(places[index - 1] ?? 0, end))
    .filter((piece) => piece !== '');
}

const QUERY = `/api/inbox.asmx/CountUnread?user_id=${ACME}`;
const TARGETS = [
  ...[
    QUERY,
    QUERY,
    '/',
    '/api/sent.asmx',
    '/api/inbox.asmx?WSDL',
    '/api/account.asmx?op=Profile',
    '/nowhere',
    '/health',
    '/ready',
  ],
  ...[
    `http://sms.example${QUERY}`,
    `HTTPS://u:p@[::1]:99999${QUERY}`,
    'http://',
    'http://x?WSDL',
    '*',
    '//',
    '/..//%2e%2e/',
    '/%',
    '/#a',
  ],
  ...[
    `${QUERY}&x=\xC3\xA9`,
    `${QUERY}&x=\xE9%C3%A9`,
    '/\xC3\xA9',
    QUERY.replace('/inbox', '//inbox'),
    'sms.example:80',
    `${QUERY}#${QUERY}`,
    '/\\',
    '/\x7F',
    '/<>"{}|^`',
    '?',
    'x',
    `/${'a'.repeat(3_000)}`,
  ],
];
const METHODS = [
  'GET',
  'GET',
  'POST',
  'HEAD',
  'OPTIONS',
  'PUT',
  'DELETE',
  'TRACE',
  'PROPFIND',
  'CONNECT',
  'PRI',
  'get',
  'head',
  'connect',
  '*',
  'FROBNICATE',
  'x'.repeat(32),
  'x'.repeat(33),
  'G ET',
  'SOURCE',
  'QUERY',
];

function request(random: Random): string {
  if (random.chance(0.02)) return random.pick(STRANGERS);
  if (random.chance(0.4)) return plain(random);
  const { raw } = random.pick(READING);
  const [head = ''] = raw.split('\r\n\r\n', 1);
  const body = raw.slice(head.length + 4);
  const [start = '', ...given] = head.split('\r\n');
  const fields = given.filter((field) => !/^(?:content-length|connection):/i.test(field));
  const isPost = start.startsWith('POST');
  return assembled(
    random,
    versioned(random, start.replace(/ HTTP.*/, '')),
    fields,
    isPost || random.chance(0.1) ? body : null,
  );
}

function plain(random: Random): string {
  const target = random.chance(0.97) ? random.pick(TARGETS) : `/${'a'.repeat(length(random))}`;
  const method = random.chance(0.7) ? 'GET' : random.pick(METHODS);
  const body =
    random.chance(0.2) || method === 'POST' ? random.pick(['', 'x', 'x'.repeat(2_000), `user_id=${ACME}`]) : null;
  return assembled(random, versioned(random, `${method} ${target}`), ['Host: sms.example'], body);
}

const versioned = (random: Random, start: string): string =>
  `${start} ${random.chance(0.93) ? 'HTTP/1.1' : random.pick(VERSIONS)}`;

/** What other protocols begin with. */
const STRANGERS = [
  ...[
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
    '\x16\x03\x01\x02\0\x01\0\x01\xFC\x03\x03',
    'SSH-2.0-x\r\n',
    '\0\0\0\0',
  ],
  ...[
    `GET ${QUERY}\r\n`,
    `GET ${QUERY}\r\n\r\n`,
    'HELO x\r\nMAIL FROM:<x>\r\n',
    '\r\n\r\n\r\n',
    '{"method":"x"}\n',
    'HTTP/1.1 200 OK\r\n\r\n',
  ],
];

function assembled(random: Random, start: string, fields: readonly string[], body: string | null): string {
  const all = [...fields];
  while (random.chance(0.2)) all.splice(random.below(all.length + 1), 0, random.pick(ODD_FIELDS));
  if (random.chance(0.01)) all.push(...Array.from({ length: random.below(2_500) }, (_, number) => `X-${number}: y`));
  if (random.chance(0.02)) all.push(`X-Long: ${'y'.repeat(length(random))}`);
  if (random.chance(0.03)) all.splice(0, 1);
  const line = random.chance(0.98) ? '\r\n' : random.pick(['\n', '\r', '\r\n ', '\n\r', '\r\r\n']);
  if (body === null) return [start, ...all, '', ''].join(line);
  const { lines, bytes } = framed(random, body);
  for (const field of lines) all.splice(random.below(all.length + 1), 0, field);
  return [start, ...all, '', ''].join(line) + bytes;
}

/** The body and what tells its length: mostly rightly. */
function framed(random: Random, body: string): { lines: readonly string[]; bytes: string } {
  if (random.chance(0.5)) return { lines: [`Content-Length: ${body.length}`], bytes: body };
  if (random.chance(0.5)) return { lines: ['Transfer-Encoding: chunked'], bytes: chunkedBody(random, body) };
  // In doubt: behind it stands a request that a server must not take for one.
  const smuggled = `GET ${QUERY} HTTP/1.1\r\nHost: sms.example\r\n\r\n`;
  return random.pick(FRAMINGS)(random.chance(0.5) ? body : smuggled, random);
}
