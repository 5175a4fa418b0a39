import type { Operation } from '../../src/asmx/contract/types.ts';
import { ENVELOPES, NAMESPACE } from '../../test/support/protocols.ts';
import type { Random } from '../../test/support/random.ts';
import { length, mutated } from './mutation.ts';
import { popular, soapSeeds } from './seeds.ts';
import type { FuzzedRequest } from './service.ts';
import { OPERATIONS, operation, texts } from './values.ts';
import { encoded, XML_BYTES } from './xml-pieces.ts';

/** Envelopes: from a grammar that knows what is right and strays from it, and from recorded ones that are damaged. */
export function envelope(random: Random): FuzzedRequest {
  const request = random.chance(0.5) ? fromGrammar(random) : fromSeed(random);
  return random.chance(0.15) ? { ...request, body: mutated(random, request.body, XML_BYTES, BODIES) } : request;
}

const BODIES = soapSeeds.map(({ body }) => body);

/** Asked again and again, so that answers which are kept meet data that has changed. */
const POPULAR = popular(soapSeeds);

/** Whole tags, texts and comments change places before bytes do. */
function fromSeed(random: Random): FuzzedRequest {
  if (random.chance(0.3)) return random.pick(POPULAR);
  const { method, path, query, headers, body } = random.pick(soapSeeds);
  const tokens = tokensOf(body);
  const other = tokensOf(random.pick(BODIES));
  for (let left = random.below(4); left > 0; left -= 1) {
    const at = random.below(tokens.length);
    const count = 1 + random.below(4);
    const kind = random.below(8);
    if (kind > 4) replaceText(random, tokens, other);
    else if (kind === 0) tokens.splice(at, count);
    else if (kind === 1) tokens.splice(at, 0, ...tokens.slice(at, at + count));
    else if (kind === 2) tokens.splice(at, 0, random.pick(XML_BYTES));
    else if (kind === 3) tokens.splice(at, count, ...other.slice(random.below(other.length)).slice(0, count));
    else tokens.splice(random.below(tokens.length), 0, ...tokens.splice(at, count));
  }
  const given = random.chance(0.9) ? headers : { ...headers, ...strangeHeaders(random) };
  return { method, path, query, headers: given, body: tokens.join('') };
}

/** One that leaves the document well-formed. */
function replaceText(random: Random, tokens: string[], others: readonly string[]): void {
  const isText = (token: string) => !token.startsWith('<');
  const places = tokens.flatMap((token, index) => (isText(token) && index > 0 ? [index] : []));
  if (places.length > 0) tokens[random.pick(places)] = random.pick(['', ' ', '0', ...others.filter(isText)]);
}

const tokensOf = (body: string): string[] => body.match(/<[^>]*>|[^<]+/g) ?? [];

const ACTIONS = [
  '""',
  '',
  '"',
  `"${NAMESPACE}/`,
  `${NAMESPACE}/Profile`,
  `"${NAMESPACE}/%50rofile"`,
  '%',
  '"urn:x"',
  "''",
];
const TYPES = [
  'text/xml',
  'application/soap+xml',
  'Text/XML ',
  'text/xml;',
  'application/xml',
  '',
  'text/xml,text/xml',
];
const CHARSETS = [
  'utf-8',
  '"UTF-8"',
  'utf-16',
  'utf-16be',
  'iso-8859-1',
  'windows-1252',
  'nonsense',
  '"',
  'utf-7',
  '__proto__',
];

function strangeHeaders(random: Random): Record<string, string> {
  const type = random.pick(TYPES);
  const charset = random.chance(0.5) ? `; charset=${random.pick(CHARSETS)}` : '';
  const action = random.chance(0.3) ? `; action=${random.pick(ACTIONS)}` : '';
  return { 'content-type': type + charset + action, soapaction: random.pick(ACTIONS) };
}

function fromGrammar(random: Random): FuzzedRequest {
  const { group, name, row } = operation(random);
  const version = random.chance(0.5) ? 'soap11' : 'soap12';
  const text = document(random, version, name, row);
  const { type, body } = encoded(random, text, version === 'soap11' ? 'text/xml' : 'application/soap+xml');
  const headers = random.chance(0.9)
    ? { 'content-type': type, ...(random.chance(0.5) && { soapaction: `"${NAMESPACE}/${name}"` }) }
    : { 'content-type': type, ...strangeHeaders(random) };
  const own = random.chance(0.97) ? group : random.pick(OPERATIONS).group;
  return { method: 'POST', path: `/api/${own}.asmx`, query: '', headers, body };
}

const DECLARATIONS = [
  '',
  '<?xml version="1.0"?>',
  '<?xml version="1.0" encoding="utf-8"?>',
  "<?xml version='1.0' standalone='yes' ?>\n",
];
const PREFIXES = ['s', 'soap', 'SOAP-ENV', 'x', 't', '_', 'é', 'xmlish', 'a.b-c', 'p'.repeat(300)];
const XSI = 'http://www.w3.org/2001/XMLSchema-instance';

function document(random: Random, version: 'soap11' | 'soap12', name: string, row: Operation): string {
  const uri = random.chance(0.97)
    ? ENVELOPES[version]
    : random.pick(['', 'urn:none', `${ENVELOPES[version]} `, ENVELOPES.soap11]);
  const prefix = random.pick(PREFIXES);
  const header = random.chance(0.3) ? headerOf(random, prefix) : '';
  const own = random.chance(0.5) ? '' : random.pick(['t:', 'o:', 'xsi:']);
  const declared = own === '' ? ` xmlns="${NAMESPACE}"` : ` xmlns:${own.slice(0, -1)}="${NAMESPACE}"`;
  const parts = parameters(random, own, row);
  const call = element(random, own + (random.chance(0.98) ? name : random.pick(OPERATIONS).name), declared, parts);
  const body = element(random, `${prefix}:Body`, '', random.chance(0.97) ? [call] : [call, call]);
  const inner = random.chance(0.98) ? [header, body] : [body, header];
  const root = element(random, `${prefix}:Envelope`, ` xmlns:${prefix}="${uri}" xmlns:xsi="${XSI}"`, inner);
  const around = () => (random.chance(0.95) ? '' : random.pick(BETWEEN));
  return random.pick(DECLARATIONS) + around() + root + around();
}

/** What may stand between elements and means nothing there. */
const BETWEEN = ['\n', '\t ', '\r\n', '<!-- c -->', '<!---->', '<?pi?>', '<?pi x="y"?>', '<!-- <a> & -->'];
const ATTRIBUTES = [
  ...[
    ' a="1"',
    " b='\"'",
    ' c="&#10;&lt;"',
    ' xml:lang="en"',
    ' xml:space="preserve"',
    ' xmlns:q="urn:q" q:a=""',
    ' id="x"',
  ],
  ...[
    ' xsi:type="xsd:string"',
    ' xsi:nil="false"',
    ' xsi:nil="true"',
    ' xmlns:s="urn:s"',
    ' xmlns=""',
    ' xmlns:t="urn:t"',
    ' é=""',
  ],
  ...[
    ` xmlns="${NAMESPACE}"`,
    ' xmlns:xsi="urn:other"',
    '\r\nd\n=\t"\r\n"',
    ' a:b="1"',
    ' a="1" a="2"',
    ' xmlns:z=" urn:z "',
  ],
];

/** Mostly as it should be. */
function element(random: Random, name: string, attributes: string, children: readonly string[]): string {
  const more = random.chance(0.93) ? '' : random.pick(ATTRIBUTES);
  const gap = () => (random.chance(0.96) ? '' : random.pick(BETWEEN));
  const content = children.map((child) => gap() + child).join('') + gap();
  const start = random.chance(0.5) ? `<${name}${attributes}${more}` : `<${name}${more}${attributes}`;
  return content === '' && random.chance(0.5)
    ? `${start}/>`
    : `${start}>${content}</${name}${random.chance(0.97) ? '' : ' '}>`;
}

function parameters(random: Random, prefix: string, { parameters: types }: Operation): string[] {
  const all = Object.entries(types).map(([name, type]) => {
    const values = texts(random, name, type, false).map((value) => written(random, value));
    const own = random.chance(0.97) ? prefix : random.pick(['', 'xsi:', 't:']);
    if (type.kind === 'scalar') return element(random, own + name, '', values);
    return element(
      random,
      own + name,
      '',
      values.map((value) => element(random, `${own}string`, '', [value])),
    );
  });
  if (random.chance(0.05)) all.splice(random.below(all.length), 1);
  if (random.chance(0.05)) all.splice(random.below(all.length + 1), 0, random.pick(all.length > 0 ? all : ['<x/>']));
  if (random.chance(0.05)) all.splice(random.below(all.length + 1), 0, oddity(random));
  return random.chance(0.9) ? all : all.reverse();
}

/** Deep, wide or long. */
function oddity(random: Random): string {
  const name = random.chance(0.7) ? 'n' : 'n'.repeat(1 + length(random));
  // A body has at most 1 MiB.
  const size = Math.min(random.chance(0.95) ? random.below(70) : length(random) / 4, 200_000 / name.length);
  const kind = random.below(4);
  if (kind === 0) return `<${name}>`.repeat(size) + `</${name}>`.repeat(size);
  if (kind === 1) return `<${name}/>`.repeat(size);
  if (kind === 2) return `<${name} ${Array.from({ length: size * 4 }, (_, number) => `a${number}=""`).join(' ')}/>`;
  return `<${name} ${Array.from({ length: size }, (_, number) => `xmlns:p${number}="urn:${number % 3}"`).join(' ')}/>`;
}

/** A value as markup: as it is where that can be, in references, in CDATA, or with something in it that does not belong there. */
function written(random: Random, value: string): string {
  const chance = random.below(40);
  if (chance === 0) return `${value}<!-- c -->`; // not escaped: '<' and '&' are not often in a value
  if (chance === 1) return `<![CDATA[${value}]]>`;
  if (chance === 2) return `<![CDATA[${value.slice(0, 1)}]]><![CDATA[]]>${escaped(value.slice(1))}`;
  if (chance === 3) return [...value].map((each) => `&#x${(each.codePointAt(0) as number).toString(16)};`).join('');
  if (chance === 4) return [...value].map((each) => `&#${each.codePointAt(0)};`).join('');
  if (chance === 5) return `${escaped(value)}${random.pick(XML_BYTES)}`;
  return escaped(value);
}

const escaped = (text: string): string => text.replace(/[&<>\r]/g, (character) => `&#${character.charCodeAt(0)};`);

function headerOf(random: Random, prefix: string): string {
  const roles = ['', 'http://schemas.xmlsoap.org/soap/actor/next', `${ENVELOPES.soap12}/role/next`, 'urn:somebody'];
  const blocks = Array.from({ length: random.below(4) }, (_, number) => {
    const mandatory = random.chance(0.3)
      ? ` ${prefix}:mustUnderstand="${random.pick(['1', 'true', '0', ' 1 ', 'yes'])}"`
      : '';
    const role = random.chance(0.3) ? ` ${prefix}:${random.pick(['actor', 'role'])}="${random.pick(roles)}"` : '';
    const name = random.pick(['h:a', 'h:Security', 'plain', 'xml:x', 'h:é', `h:${'n'.repeat(1 + length(random))}`]);
    return element(
      random,
      name,
      ` xmlns:h="urn:h${number}&amp;&quot;"${mandatory}${role}`,
      random.chance(0.3) ? [oddity(random)] : [],
    );
  });
  return element(random, `${prefix}:Header`, '', blocks);
}
