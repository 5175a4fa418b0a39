import { checkAttributes, checkElement, checkValue, type XmlLimits } from './limits.ts';
import { DECLARATION, FORBIDDEN } from './names.ts';
import { Scanner } from './scanner.ts';
import {
  Bindings,
  declare,
  ROOT_SCOPE,
  resolveAttributes,
  resolveElement,
  type Scope,
  XMLNS_URI,
  type XmlAttribute,
} from './scope.ts';
import { type StartTag, StartTagCache } from './start-tag-cache.ts';

/**
 * A strict, bounded parser of XML 1.0 (fifth edition) with Namespaces, without DTD. It reads a
 * whole document at once, in a tenth of the time of a general parser (bench/RESULTS.md).
 * test/asmx/xml compares it with saxes and runs the W3C conformance suite.
 */
export interface XmlElement {
  readonly uri: string;
  readonly local: string;
  readonly attributes: readonly XmlAttribute[];
  readonly children: XmlElement[];
  /** The text of the element itself, with CDATA and unchanged white space. */
  text: string;
  /** Whether the element itself contains a comment or a processing instruction. */
  commented: boolean;
}

/** One cache for each set of limits, because a cached tag was checked against those limits. */
const caches = new WeakMap<XmlLimits, StartTagCache>();

export function readXml(text: string, limits: XmlLimits): XmlElement {
  let cache = caches.get(limits);
  if (!cache) {
    cache = new StartTagCache();
    caches.set(limits, cache);
  }
  return new Reader(text, limits, cache).document();
}

const NO_ATTRIBUTES: readonly XmlAttribute[] = [];

class Reader extends Scanner {
  readonly #startTags: StartTagCache;
  #elements = 0;
  #attributeCount = 0;
  /** Created for the first start tag that is not cached. */
  #bindings: Bindings | undefined;

  constructor(text: string, limits: XmlLimits, startTags: StartTagCache, bindings?: Bindings) {
    super(text, limits);
    this.#startTags = startTags;
    this.#bindings = bindings;
  }

  document(): XmlElement {
    const forbidden = this.text.isWellFormed() ? this.text.search(FORBIDDEN) : 0;
    if (forbidden >= 0) this.refuse('A character is not allowed in XML', forbidden);
    this.#declaration();
    this.#misc();
    const root = this.at < this.text.length ? this.#element(0, ROOT_SCOPE) : this.refuse('The request is empty');
    this.#misc();
    if (this.at < this.text.length) this.malformed();
    return root;
  }

  #declaration(): void {
    if (!/^<\?xml[ \t\n]/.test(this.text)) return;
    const match = DECLARATION.exec(this.text) ?? this.malformed();
    if ((match[1] ?? match[2]) !== '1.0') this.refuse('Only XML 1.0 is understood');
    this.at = match[0].length;
  }

  /** Skips white space, comments and processing instructions around the root element. */
  #misc(): void {
    for (;;) {
      this.space();
      if (this.text.startsWith('<!--', this.at)) this.comment();
      else if (this.text.startsWith('<?', this.at)) this.instruction();
      else if (this.text.startsWith('<!DOCTYPE', this.at)) this.refuse('A DOCTYPE is not allowed');
      else return;
    }
  }

  /** Reads an element from its `<`. */
  #element(depth: number, outer: Scope): XmlElement {
    if (this.text.charCodeAt(this.at) !== LESS) this.malformed();
    checkElement(this.limits, ++this.#elements, depth);
    const { name, uri, local, attributes, scope, isEmpty } = this.#startTag(outer);
    const element: XmlElement = { uri, local, attributes, children: [], text: '', commented: false };
    if (!isEmpty) this.#content(element, name, depth, scope);
    return element;
  }

  /** Reads a start tag, including its `>`. */
  #startTag(outer: Scope): StartTag {
    const start = this.at;
    const end = this.text.indexOf('>', start) + 1;
    const text = this.text.slice(start, end);
    const cached = this.#startTags.find(text, outer);
    if (cached) {
      this.at = end;
      return cached;
    }
    const tag = this.#readStartTag(outer);
    if (this.at !== end) return tag; // the first `>` was inside of an attribute value
    const read = (copy: string) => new Reader(copy, this.limits, this.#startTags, this.#bindings).#readStartTag(outer);
    return this.#startTags.add(text, outer, read) ?? tag;
  }

  #readStartTag(outer: Scope): StartTag {
    this.at += 1;
    const name = this.name();
    const given = this.#attributes();
    const scope = given ? (declare(given, outer) ?? this.malformed()) : outer;
    this.#bindings ??= new Bindings();
    const { uri, local } = resolveElement(name, scope, this.#bindings) ?? this.malformed();
    if (uri === XMLNS_URI) this.malformed(); // Namespaces 1.0 §3: no element has the prefix xmlns
    const attributes = given ? (resolveAttributes(given, scope, this.#bindings) ?? this.malformed()) : NO_ATTRIBUTES;
    const isEmpty = this.text.charCodeAt(this.at) === SLASH;
    if (isEmpty) this.at += 1;
    this.expect('>');
    return { name, uri, local, attributes, scope, isEmpty };
  }

  /** Reads the content of an element, including its end tag. */
  #content(element: XmlElement, name: string, depth: number, scope: Scope): void {
    const text = this.text;
    for (;;) {
      const mark = text.indexOf('<', this.at);
      if (mark < 0) this.malformed();
      if (mark > this.at) this.#append(element, this.characters(mark));
      const next = text.charCodeAt(mark + 1);
      if (next === SLASH) {
        this.at = mark + 2;
        this.expect(name);
        this.space();
        this.expect('>');
        return;
      }
      if (next === EXCLAMATION && text.startsWith('<![CDATA[', mark)) {
        const end = text.indexOf(']]>', mark);
        if (end < 0) this.malformed();
        this.#append(element, text.slice(mark + 9, end));
        this.at = end + 3;
      } else if (next === EXCLAMATION) {
        this.comment();
        element.commented = true;
      } else if (next === QUESTION) {
        this.instruction();
        element.commented = true;
      } else {
        element.children.push(this.#element(depth + 1, scope));
      }
    }
  }

  #append(element: XmlElement, piece: string): void {
    element.text += piece;
    checkValue(this.limits, element.text);
  }

  /** Reads names and values in turn; null without attributes. */
  #attributes(): string[] | null {
    let given: string[] | null = null;
    let names: Set<string> | null = null; // for many attributes, where comparing every pair would be slow
    for (;;) {
      const before = this.at;
      this.space();
      const code = this.text.charCodeAt(this.at);
      if (code === GREATER || code === SLASH) return given;
      if (this.at === before) this.malformed();
      const name = this.name();
      this.space();
      this.expect('=');
      this.space();
      given ??= [];
      if (given.length === 2 * COMPARED_ATTRIBUTES_MAX) names = new Set(given.filter((_, index) => index % 2 === 0));
      if (names ? names.has(name) : isGiven(given, name)) this.malformed();
      names?.add(name);
      given.push(name, this.#attributeValue());
      checkAttributes(this.limits, given.length / 2, ++this.#attributeCount);
    }
  }

  #attributeValue(): string {
    const quote = this.text[this.at];
    if (quote !== '"' && quote !== "'") this.malformed();
    this.at += 1;
    const end = this.text.indexOf(quote as string, this.at);
    if (end < 0) this.malformed();
    const raw = this.text.slice(this.at, end);
    if (raw.includes('<')) this.malformed(this.at + raw.indexOf('<'));
    // §3.3.3: a line feed or tab becomes a space, unless it was a reference.
    const blank = raw.includes('\n') || raw.includes('\t') ? raw.replace(/[\t\n]/g, ' ') : raw;
    const value = blank.includes('&') ? this.references(blank) : blank;
    checkValue(this.limits, value);
    this.at = end + 1;
    return value;
  }
}

const COMPARED_ATTRIBUTES_MAX = 16;

function isGiven(given: readonly string[], name: string): boolean {
  for (let at = 0; at < given.length; at += 2) if (given[at] === name) return true;
  return false;
}

const [LESS, GREATER, SLASH, EXCLAMATION, QUESTION] = [0x3c, 0x3e, 0x2f, 0x21, 0x3f];

export function attribute(element: XmlElement, uri: string, local: string): string | undefined {
  return element.attributes.find((a) => a.local === local && a.uri === uri)?.value;
}
