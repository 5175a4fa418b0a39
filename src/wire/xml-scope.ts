import { LOCAL } from './xml-names.ts';

/** Namespace prefixes: those that an element declares, and those of the elements around it. */
export interface Scope {
  readonly prefixes: ReadonlyMap<string, string>;
  readonly outer: Scope | null;
}

export const XML_URI = 'http://www.w3.org/XML/1998/namespace';
export const XMLNS_URI = 'http://www.w3.org/2000/xmlns/';

export const ROOT_SCOPE: Scope = {
  prefixes: new Map([
    ['xml', XML_URI],
    ['xmlns', XMLNS_URI],
    ['', ''],
  ]),
  outer: null,
};

/** Names and values of an element's attributes, taking turns, as they are written. */
export type Given = readonly string[];

/** The scope of an element with these attributes; null where they declare what may not be (Namespaces 1.0 §3 and §5). */
export function declare(given: Given, outer: Scope): Scope | null {
  let prefixes: Map<string, string> | undefined;
  for (let at = 0; at < given.length; at += 2) {
    const name = given[at] as string;
    if (!isDeclaration(name)) continue;
    const uri = (given[at + 1] as string).trim(); // blanks are no part of a URI
    const prefix = name.slice('xmlns:'.length);
    const isReserved = prefix === 'xml' ? uri !== XML_URI : prefix === 'xmlns' || uri === XML_URI;
    if (isReserved || uri === XMLNS_URI || (prefix !== '' && uri === '')) return null;
    prefixes ??= new Map();
    prefixes.set(prefix, uri);
  }
  return prefixes ? { prefixes, outer } : outer;
}

const isDeclaration = (name: string): boolean =>
  name.startsWith('xmlns') && (name.length === 'xmlns'.length || name.startsWith(':', 'xmlns'.length));

/** Null where the prefix is declared nowhere, or the name has more than one colon. */
export function resolve(name: string, scope: Scope, useDefault: boolean): { uri: string; local: string } | null {
  const colon = name.indexOf(':');
  if (colon < 0) return { uri: useDefault ? (lookUp('', scope) as string) : '', local: name };
  const local = name.slice(colon + 1);
  const uri = lookUp(name.slice(0, colon), scope);
  return uri === undefined || colon === 0 || !isLocal(local) ? null : { uri, local };
}

export interface XmlAttribute {
  readonly uri: string;
  readonly local: string;
  readonly value: string;
}

/** Null also where two are the same, under different prefixes (Namespaces 1.0 §6.3). */
export function resolveAttributes(given: Given, scope: Scope): XmlAttribute[] | null {
  const attributes: XmlAttribute[] = [];
  const known = given.length > 2 * FEW ? new Set<string>() : null; // of many, not every pair is compared
  for (let at = 0; at < given.length; at += 2) {
    const name = given[at] as string;
    const resolved = name === 'xmlns' ? { uri: XMLNS_URI, local: name } : resolve(name, scope, false);
    if (!resolved) return null;
    const { uri, local } = resolved;
    // What is declared was written differently, and there is one prefix for it.
    if (uri !== '' && uri !== XMLNS_URI && (known ? known.has(`${local} ${uri}`) : has(attributes, uri, local)))
      return null;
    known?.add(`${local} ${uri}`);
    attributes.push({ uri, local, value: given[at + 1] as string });
  }
  return attributes;
}

function has(attributes: readonly XmlAttribute[], uri: string, local: string): boolean {
  for (const other of attributes) if (other.local === local && other.uri === uri) return true;
  return false;
}

// The pattern of all names that there may be takes several times as long.
const PLAIN = /^[A-Za-z_][\w.-]*$/;
const isLocal = (text: string): boolean => PLAIN.test(text) || LOCAL.test(text);

const FEW = 16;

function lookUp(prefix: string, scope: Scope): string | undefined {
  for (let at: Scope | null = scope; at; at = at.outer) {
    const uri = at.prefixes.get(prefix);
    if (uri !== undefined) return uri;
  }
  return undefined;
}
