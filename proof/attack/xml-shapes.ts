import { envelope } from '../../test/support/protocols.ts';

/** Envelopes of about so many bytes that cost a reader of XML more than others do. */
export type Shape = (bytes: number) => string;

const NAMESPACE = 'http://sms.example/api';
const repeat = (piece: (index: number) => string, bytes: number): string => {
  const pieces: string[] = [];
  for (let length = 0, index = 0; length < bytes; index++) {
    const next = piece(index);
    pieces.push(next);
    length += next.length;
  }
  return pieces.join('');
};
const inBody = (content: string): string => envelope('soap11', content);
const operation = (content: string, attributes = ''): string =>
  inBody(`<FetchContact xmlns="${NAMESPACE}"${attributes}>${content}</FetchContact>`);
/** Elements of at most 200 attributes each, so that the limit of attributes is not what ends the reading. */
const elements = (attribute: (index: number) => string, bytes: number, each = 200): string =>
  repeat((index) => `<x ${Array.from({ length: each }, (_, at) => attribute(index * each + at)).join(' ')}/>`, bytes);
const prefixes = (count: number, length: number): string =>
  Array.from({ length: count }, (_, index) => ` xmlns:p${index}="urn:${'n'.repeat(length)}${index}"`).join('');
/** Below 60 elements that declare a prefix each. */
const deep = (content: string): string =>
  `${Array.from({ length: 60 }, (_, index) => `<d xmlns:q${index}="urn:${index}">`).join('')}${content}${'</d>'.repeat(60)}`;
/** In elements of 200,000 characters: a longer value is refused. */
const values = (piece: string, bytes: number): string =>
  repeat(() => `<v>${piece.repeat(Math.ceil(Math.min(bytes, 200_000) / piece.length))}</v>`, bytes);

export const shapes: Readonly<Record<string, Shape>> = {
  'one long text': (bytes) => operation(values('a', bytes)),
  'text of three bytes a character': (bytes) => operation(values('語', bytes / 3)),
  'many elements': (bytes) => operation(repeat(() => '<e/>', Math.min(bytes, 36_000))),
  'elements with different names': (bytes) =>
    operation(repeat((index) => `<e${index}></e${index}>`, Math.min(bytes, 80_000))),
  'elements that declare a namespace': (bytes) => operation(repeat((index) => `<e xmlns="urn:${index}"/>`, bytes)),
  'many attributes': (bytes) => operation(elements((index) => `a${index}=""`, bytes)),
  'attributes of one name in 17 long namespaces': (bytes) =>
    operation(
      elements((index) => `p${index % 17}:a${Math.floor(index / 17)}=""`, bytes, 34),
      prefixes(17, 2_000),
    ),
  'attributes of one name in 200 namespaces': (bytes) =>
    operation(
      elements((index) => `p${index % 200}:a=""`, bytes),
      prefixes(200, 20),
    ),
  'namespaces that take half of the bytes': (bytes) =>
    operation(
      elements((index) => `p${index % 17}:a${Math.floor(index / 17)}=""`, bytes / 2, 34),
      prefixes(17, bytes / 34),
    ),
  'prefixes of 60 scopes': (bytes) => inBody(deep(elements((index) => `q${index % 60}:a${index}=""`, bytes))),
  'prefixes of the outermost of 60 scopes': (bytes) => inBody(deep(elements((index) => `q0:a${index}=""`, bytes))),
  'chains of 60 scopes': (bytes) =>
    operation(repeat(() => deep(elements((index) => `q${index % 60}:a${index}=""`, 1_000)), Math.min(bytes, 450_000))),
  'names of 1,000 characters': (bytes) => operation(repeat(() => `<${'n'.repeat(1_000)}/>`, bytes)),
  'names that are not ASCII': (bytes) => operation(repeat(() => `<${'é'.repeat(500)}/>`, bytes)),
  'attribute names of 1,000 characters': (bytes) =>
    operation(repeat((index) => `<x ${'n'.repeat(1_000)}${index}=""/>`, bytes)),
  entities: (bytes) => operation(values('&amp;', bytes)),
  'character references': (bytes) => operation(values('&#65;', bytes)),
  'character references with leading zeros': (bytes) => operation(values(`&#x${'0'.repeat(1_000)}41;`, bytes)),
  'entities in attributes': (bytes) => operation(repeat(() => `<x a="${'&lt;'.repeat(50_000)}"/>`, bytes)),
  'ampersands alone': (bytes) => operation(`<v>${'&'.repeat(bytes)}</v>`),
  'an ampersand and no end': (bytes) => operation(`<v>&${'a'.repeat(bytes)}</v>`),
  comments: (bytes) => operation(repeat(() => '<!---->', bytes)),
  'text between comments': (bytes) => operation(`<v>${repeat(() => 'a<!---->', bytes)}</v>`),
  'a comment without end': (bytes) => operation(`<!--${'- '.repeat(bytes / 2)}`),
  CDATA: (bytes) => operation(repeat(() => '<v><![CDATA[]]></v>', Math.min(bytes, 180_000))),
  'text between CDATA': (bytes) => operation(`<v>${repeat(() => 'a<![CDATA[b]]>', bytes)}</v>`),
  'CDATA without end': (bytes) => operation(`<v><![CDATA[${']]'.repeat(bytes / 2)}`),
  'processing instructions': (bytes) => operation(repeat(() => '<?p ?>', bytes)),
  brackets: (bytes) => operation(values(']] ', bytes)),
  'line ends of two characters': (bytes) => operation(values('\r\n', bytes)),
  'white space in a tag': (bytes) => operation(repeat(() => `<x${' '.repeat(100_000)}/>`, bytes)),
  'white space in the declaration': (bytes) => `<?xml version="1.0"${' '.repeat(bytes)}encoding=`,
  'header blocks that must be understood': (bytes) =>
    envelope(
      'soap12',
      '',
      `<s:Header xmlns:h="urn:${'n'.repeat(2_000)}">${repeat(() => '<h:b s:mustUnderstand="1"/>', Math.min(bytes, 250_000))}</s:Header>`,
    ),
};
