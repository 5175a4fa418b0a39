import type { Operation } from '../../src/asmx/contract/types.ts';
import type { Random } from '../../test/support/random.ts';
import { mutated, NUMBERS } from './mutation.ts';
import { formSeeds, popular } from './seeds.ts';
import type { FuzzedRequest } from './service.ts';
import { operation, texts } from './values.ts';

/** Forms: from a grammar that knows what is right and strays from it, and from recorded ones that are damaged. */
export function form(random: Random): FuzzedRequest {
  const request = random.chance(0.6) ? fromGrammar(random) : fromSeed(random);
  if (random.chance(0.8)) return request;
  const damaged = (text: string) => mutated(random, text, PIECES, TEXTS);
  if (random.chance(0.1)) return { ...request, path: damaged(request.path) };
  return request.method === 'GET'
    ? { ...request, query: damaged(request.query) }
    : { ...request, body: damaged(request.body) };
}

const TEXTS = formSeeds.map(({ query, body }) => query + body);

const PIECES = [
  ...[
    '&',
    '=',
    '+',
    '%',
    '%%',
    '%2',
    '%41',
    '%zz',
    '%u',
    '%u0041',
    '%u004',
    '%uD83D',
    '%uDE00',
    '%uD83D%uDE00',
    '%uFFFE',
  ],
  ...[
    '%U0041',
    '%u+041',
    '%u0000',
    '%00',
    '%0D%0A',
    '%C3%A9',
    '%E9',
    '%C0%AF',
    '%ED%A0%80',
    '%EF%BB%BF',
    '%F0%9F%98%80',
    '%FF',
  ],
  ...[
    '%26',
    '%3D',
    '%2B',
    '%25',
    '%2541',
    '&&',
    '==',
    '=&',
    '&=',
    ';',
    '&amp;',
    '#',
    '?',
    '/',
    '//',
    '[]',
    '[0]',
    '.x',
    ' ',
    '\n',
  ],
  ...[
    'user_id=',
    '&user_id=x',
    '&USER_ID=',
    '&contact_id=101',
    '&contact_id=',
    '&max=1',
    '&max_count=0',
    '&id',
    '&__proto__=1',
  ],
  ...[
    '&constructor=1',
    '&toString=',
    '\xC3\xA9',
    '\xE9',
    '\xF0\x9F\x98\x80',
    '\0',
    '\x1B$B!!\x1B(B',
    '\x81',
    '\xFE\xFF',
    'é',
  ],
  ...NUMBERS.filter((text) => /^[\x20-\x7E]{1,30}$/.test(text)),
];

/** Asked again and again, so that answers which are kept meet data that has changed. */
const POPULAR = popular(formSeeds);

/** Pairs are left out, doubled, exchanged or taken from another request before bytes change. */
function fromSeed(random: Random): FuzzedRequest {
  if (random.chance(0.3)) return random.pick(POPULAR);
  const { method, path, query, headers, body } = random.pick(formSeeds);
  const pairs = (query + body).split('&');
  const other = random.pick(TEXTS).split('&');
  for (let left = random.below(3); left > 0; left -= 1) {
    const at = random.below(pairs.length);
    const kind = random.below(5);
    if (kind === 0) pairs.splice(at, 1);
    else if (kind === 1) pairs.splice(at, 0, pairs[at] ?? '');
    else if (kind === 2) pairs.splice(at, 0, random.pick(PIECES));
    else if (kind === 3) pairs.splice(at, 0, random.pick(other));
    else
      pairs[at] =
        `${(pairs[at] ?? '').split('=')[0]}=${random.pick(random.chance(0.5) ? NUMBERS.slice(0, 20) : PIECES)}`;
  }
  const text = pairs.join('&');
  return method === 'GET'
    ? { method, path, query: text, headers, body: '' }
    : { method, path, query: '', headers: random.chance(0.7) ? headers : postHeaders(random), body: text };
}

const FORM = 'application/x-www-form-urlencoded';
const CHARSETS = [
  ...[
    'utf-8',
    '"UTF-8"',
    'iso-8859-1',
    'windows-1252',
    'utf-16',
    'utf-16le',
    'ucs-2',
    'shift_jis',
    'gb18030',
    'big5',
    'euc-kr',
  ],
  ...['iso-2022-jp', 'koi8-r', 'macintosh', 'x-user-defined', 'replacement', 'utf-7', 'nonsense', '', '"', '__proto__'],
];
const TYPES = [
  FORM,
  FORM.toUpperCase(),
  `${FORM} `,
  `${FORM};`,
  'text/xml',
  'multipart/form-data; boundary=x',
  '',
  `${FORM}, ${FORM}`,
];

const postHeaders = (random: Random): Record<string, string> => ({
  'content-type': random.chance(0.8) ? `${FORM}; charset=${random.pick(CHARSETS)}` : random.pick(TYPES),
});

function fromGrammar(random: Random): FuzzedRequest {
  const { group, name, row } = operation(random);
  const text = pairsOf(random, row);
  const path = random.chance(0.96) ? `/api/${group}.asmx/${name}` : strangePath(random, group, name);
  if (random.chance(0.5)) {
    const method = random.chance(0.98)
      ? 'GET'
      : random.pick(['HEAD', 'PUT', 'OPTIONS', 'get', 'PROPFIND', '__proto__']);
    return { method, path, query: text, headers: {}, body: '' };
  }
  const headers = random.chance(0.7) ? { 'content-type': FORM } : postHeaders(random);
  return { method: 'POST', path, query: random.chance(0.95) ? '' : text, headers, body: text };
}

function strangePath(random: Random, group: string, name: string): string {
  const ends = [
    '',
    '/',
    `/${name}/`,
    `/${name.toLowerCase()}`,
    `//${name}`,
    `/%${name}`,
    '/constructor',
    '/__proto__',
    `/${name}%00`,
  ];
  const end = random.pick([
    ...ends,
    `/%u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
    `/${name}+`,
    `/${'n'.repeat(5_000)}`,
  ]);
  return `/${random.pick(['api', 'API', 'Api', 'ap'])}/${random.pick([group, group.toUpperCase(), 'x', '__proto__'])}.asmx${end}`;
}

function pairsOf(random: Random, { parameters }: Operation): string {
  const pairs = Object.entries(parameters).flatMap(([name, type]) =>
    texts(random, name, type, true).map((value) => `${nameOf(random, name)}=${written(random, value)}`),
  );
  if (random.chance(0.05)) pairs.splice(random.below(pairs.length), 1);
  if (random.chance(0.03)) pairs.push(random.pick(pairs.length > 0 ? pairs : ['']));
  if (random.chance(0.1))
    pairs.splice(random.below(pairs.length + 1), 0, `${random.pick(PIECES)}=${random.pick(PIECES)}`);
  if (random.chance(0.005))
    pairs.push(...Array.from({ length: 1_980 + random.below(40) }, (_, number) => `x${number}=`));
  return (random.chance(0.8) ? pairs : pairs.reverse()).join(
    random.chance(0.97) ? '&' : random.pick(['&&', ';', '&amp;', '\n&']),
  );
}

function nameOf(random: Random, name: string): string {
  if (random.chance(0.9)) return name;
  if (random.chance(0.5)) return name.toUpperCase();
  return random.pick([
    `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
    ` ${name}`,
    `${name}[]`,
    `${name}%00`,
    `\xEF\xBB\xBF${name}`,
  ]);
}

/** A value as clients write it: in UTF-8 with escapes, with a plus, in UTF-16 units, in Latin-1, or raw. */
function written(random: Random, value: string): string {
  const bytes = (encoding: BufferEncoding) => Buffer.from(value, encoding).toString('latin1');
  const escaped = (text: string) =>
    text.replace(/[^A-Za-z0-9._~-]/g, (each) => `%${each.charCodeAt(0).toString(16).padStart(2, '0')}`);
  switch (random.below(10)) {
    case 0:
      return escaped(bytes('utf8')).replaceAll('%20', '+');
    case 1:
      return value.replace(/[^A-Za-z0-9]/g, (unit) => `%u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    case 2:
      return escaped(bytes('latin1'));
    case 3:
      return bytes('utf8').replace(/[%&+=#]/g, (each) => `%${each.charCodeAt(0).toString(16)}`);
    case 4:
      return random.chance(0.2) ? bytes('utf8') : escaped(bytes('utf8'));
    default:
      return escaped(bytes('utf8'));
  }
}
