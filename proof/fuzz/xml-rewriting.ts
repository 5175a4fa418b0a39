import type { XmlElement } from '../../src/asmx/xml/reader.ts';
import { XML_URI, XMLNS_URI } from '../../src/asmx/xml/scope.ts';

/** Where the same tree would break a limit that its first spelling kept. */
const NAMESPACES_MAX = 50;

/**
 * The same tree in another spelling: every namespace has a prefix, declared at the root, every text is a CDATA section or a row
 * of references and stands before the children. Null where there are too many namespaces for that.
 */
export function rewritten(root: XmlElement): string | null {
  const prefixes = new Map<string, string>();
  collect(root, prefixes);
  if (prefixes.size > NAMESPACES_MAX || root.attributes.length > NAMESPACES_MAX) return null;
  const declared = [...prefixes].map(([uri, prefix]) => ` xmlns:${prefix}="${references(uri)}"`).join('');
  return write(root, prefixes, declared);
}

function collect({ uri, attributes, children }: XmlElement, prefixes: Map<string, string>): void {
  for (const name of [uri, ...attributes.map((attribute) => attribute.uri)]) {
    if (name !== '' && name !== XML_URI && name !== XMLNS_URI && !prefixes.has(name)) {
      prefixes.set(name, `ns${prefixes.size}`);
    }
  }
  for (const child of children) collect(child, prefixes);
}

function write(element: XmlElement, prefixes: Map<string, string>, declared: string): string {
  const named = (uri: string, local: string) => {
    if (uri === '') return local;
    return `${uri === XML_URI ? 'xml' : prefixes.get(uri)}:${local}`;
  };
  const attributes = element.attributes
    .filter(({ uri }) => uri !== XMLNS_URI)
    .map(({ uri, local, value }) => `\n${named(uri, local)} = '${references(value)}'`)
    .reverse();
  const name = named(element.uri, element.local);
  const children = element.children.map((child) => write(child, prefixes, ''));
  const comment = element.commented ? '<?was a comment?>' : '';
  return `<${name}${declared}${attributes.join('')}>${comment}${textOf(element.text)}${children.join('')}</${name} >`;
}

const textOf = (text: string): string =>
  /\r|\]\]>/.test(text) || text.length % 2 === 1 ? references(text) : `<![CDATA[${text}]]>`;

const references = (text: string): string =>
  text.replace(/[^A-Za-z0-9]/gu, (character) => `&#${character.codePointAt(0)};`);
