import { type SaxesAttributeNS, SaxesParser } from 'saxes';
import { Problem } from '../problem.ts';

/** XML in: strict, with namespaces, bounded. XML out: escaping. No other file knows the parser. */
export interface XmlElement {
  readonly uri: string;
  readonly local: string;
  readonly attributes: readonly XmlAttribute[];
  readonly children: XmlElement[];
  /** The text directly inside, CDATA included, white space as it was. */
  text: string;
  /** A comment or processing instruction was directly inside. */
  commented: boolean;
}
export interface XmlAttribute {
  readonly uri: string;
  readonly local: string;
  readonly value: string;
}

/** A call is at most 7 deep and 1,010 elements long (a list of 1,000); headers of strange toolkits need some room. */
const DEPTH_MAX = 64;
const ELEMENTS_MAX = 10_000;
const ATTRIBUTES_MAX = 256;

export function readXml(text: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true, position: true });
  const open: XmlElement[] = [];
  let root: XmlElement | undefined;
  let elements = 0;

  const refuse = (what: string): never => {
    throw new Problem('malformed', `${what} (line ${parser.line}, column ${parser.column}).`);
  };
  const parent = () => open[open.length - 1];
  const addText = (piece: string) => {
    const element = parent();
    if (element) element.text += piece;
  };
  const addComment = () => {
    const element = parent();
    if (element) element.commented = true;
  };

  parser.on('error', () => refuse('The request is not well-formed XML'));
  parser.on('doctype', () => refuse('A DOCTYPE is not allowed'));
  parser.on('xmldecl', ({ version }) => {
    if (version !== '1.0') refuse('Only XML 1.0 is understood');
  });
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('comment', addComment);
  parser.on('processinginstruction', addComment);
  parser.on('opentag', ({ uri, local, attributes }) => {
    const given = Object.values(attributes as Record<string, SaxesAttributeNS>);
    elements += 1;
    if (elements > ELEMENTS_MAX) throw new Problem('too-large', `The request has more than ${ELEMENTS_MAX} elements.`);
    if (open.length >= DEPTH_MAX)
      throw new Problem('too-large', `The request nests elements deeper than ${DEPTH_MAX}.`);
    if (given.length > ATTRIBUTES_MAX) {
      throw new Problem('too-large', `An element of the request has more than ${ATTRIBUTES_MAX} attributes.`);
    }
    const element: XmlElement = { uri, local, attributes: given, children: [], text: '', commented: false };
    if (open.length > 0) parent()?.children.push(element);
    else root = element;
    open.push(element);
  });
  parser.on('closetag', () => open.pop());

  parser.write(text).close();
  return root ?? refuse('The request is empty');
}

export function attribute(element: XmlElement, uri: string, local: string): string | undefined {
  return element.attributes.find((a) => a.local === local && a.uri === uri)?.value;
}

/**
 * Text content. A carriage return is written as a reference, because a parser would read the bare one as a line feed; what
 * XML 1.0 cannot carry (control codes, U+FFFE, U+FFFF, half a surrogate pair) becomes U+FFFD.
 */
export function escapeText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replace(SPECIAL, (character) => ESCAPES[character] ?? '\uFFFD') : text;
}

export const escapeAttribute = (text: string): string =>
  escapeText(text).replace(/["\n\t]/g, (character) => `&#${character.charCodeAt(0)};`);

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML 1.0 cannot carry (production Char)
const NEEDS_ESCAPE = /[&<>\r\0-\x08\x0B\x0C\x0E-\x1F\uD800-\uDFFF\uFFFE\uFFFF]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same, with whole surrogate pairs left alone
const SPECIAL = /[&<>\r\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF\p{Surrogate}]/gu;
