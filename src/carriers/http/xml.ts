import { SaxesParser } from 'saxes';

/** Bodies in XML: what an answer or a callback holds, and values in a request. */
export interface XmlElement {
  readonly attributes: ReadonlyMap<string, string>;
  /** The children by their names without prefixes, in the order of the document. */
  readonly children: Map<string, XmlElement[]>;
  text: string;
}

const DEPTH_MAX = 32;
const ELEMENTS_MAX = 20_000;

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);
const newElement = (attributes: ReadonlyMap<string, string> = new Map()): XmlElement => ({
  attributes,
  children: new Map(),
  text: '',
});

/**
 * The document, whose only child is its outermost element. Undefined if it is not well-formed, or
 * has a document type, which nobody needs and which may define entities.
 */
export function xmlOf(body: Uint8Array): XmlElement | undefined {
  try {
    return parsed(decoded(body));
  } catch {
    return undefined;
  }
}

/** Parsed when a source asks for it, and once. */
export function xmlReader(body: Uint8Array): () => XmlElement | undefined {
  let known: { readonly document: XmlElement | undefined } | undefined;
  return () => {
    known ??= { document: xmlOf(body) };
    return known.document;
  };
}

const DECLARED = /^<\?xml[^>]{0,100}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/;

/** In the charset that the document declares; older providers write ISO-8859-1. */
function decoded(body: Uint8Array): string {
  const [, charset = 'utf-8'] = DECLARED.exec(Buffer.from(body.subarray(0, 200)).toString('latin1')) ?? [];
  return new TextDecoder(charset, { fatal: true }).decode(body);
}

function parsed(text: string): XmlElement {
  const document = newElement();
  const path = [document];
  let count = 0;
  const add = (more: string): void => {
    const last = path.at(-1);
    if (last) last.text += more;
  };
  const parser = new SaxesParser();
  parser.on('doctype', () => {
    throw new SyntaxError('a document type is not read');
  });
  parser.on('opentag', ({ name, attributes }) => {
    count++;
    if (path.length > DEPTH_MAX || count > ELEMENTS_MAX) throw new SyntaxError('too many elements');
    const own = newElement(new Map(Object.entries(attributes).map(([key, value]) => [localName(key), value])));
    const siblings = path.at(-1)?.children;
    const known = siblings?.get(localName(name));
    if (known) known.push(own);
    else siblings?.set(localName(name), [own]);
    path.push(own);
  });
  parser.on('text', add);
  parser.on('cdata', add);
  parser.on('closetag', () => void path.pop());
  parser.write(text).close();
  return document;
}

/**
 * The elements at a path such as `/answer/sms`: all of the last name, and of every other name the
 * first, unless a number says which.
 */
export function xmlElements(from: XmlElement, path: string): readonly XmlElement[] {
  let found: readonly XmlElement[] = [from];
  for (const step of path.split('/').slice(1)) {
    found = /^\d+$/.test(step) ? found.slice(Number(step), Number(step) + 1) : (found[0]?.children.get(step) ?? []);
  }
  return found;
}

const ATTRIBUTE = /^(.*)\/@([^/]+)$/;

/** The text of an element, or with `/@name` the value of an attribute. Entities are decoded. */
export function xmlText(from: XmlElement, path: string): string | undefined {
  const [, parent, attribute] = ATTRIBUTE.exec(path) ?? [];
  if (parent !== undefined && attribute !== undefined) return xmlElements(from, parent)[0]?.attributes.get(attribute);
  return xmlElements(from, path)[0]?.text.trim();
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/**
 * For text and for attributes. White space other than blanks is written by its number, because
 * parsers change it otherwise. Undefined if XML has no form for a character of it.
 */
export function xmlEscaped(value: string): string | undefined {
  const wellFormed = value.toWellFormed();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those that XML 1.0 excludes
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(wellFormed)) return undefined;
  return wellFormed.replace(/[&<>"'\t\n\r]/g, (each) => ESCAPES[each] ?? `&#${each.charCodeAt(0)};`);
}

/**
 * What is wrong with a template of a request, given with a value in each of its places; null if
 * nothing is. A value is safe in the text of an element and in a quoted attribute, nowhere else.
 */
export function xmlTemplateFault(filled: string): string | null {
  const parser = new SaxesParser();
  let fault: string | null = null;
  const refuse = (what: string) => () => {
    fault ??= `${what} is not allowed here, because values are encoded for elements and attributes`;
  };
  parser.on('error', ({ message }) => {
    fault ??= `this is not well-formed XML (${message})`;
  });
  parser.on('doctype', refuse('a document type'));
  parser.on('cdata', refuse('CDATA'));
  parser.on('comment', refuse('a comment'));
  parser.on('processinginstruction', refuse('a processing instruction'));
  parser.on('xmldecl', ({ encoding = 'utf-8' }) => {
    if (encoding.toLowerCase() !== 'utf-8')
      fault ??= 'requests are sent in UTF-8, so another encoding must not be declared';
  });
  parser.write(filled).close();
  return fault;
}
