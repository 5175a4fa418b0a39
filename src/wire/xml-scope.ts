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

/** The scope of an element with these attributes; null where they declare what may not be (Namespaces 1.0 §3 and §5). */
export function declare(attributes: ReadonlyMap<string, string>, outer: Scope): Scope | null {
  let prefixes: Map<string, string> | undefined;
  for (const [name, text] of attributes) {
    if (name !== 'xmlns' && !name.startsWith('xmlns:')) continue;
    const uri = text.trim(); // blanks are no part of a URI
    const prefix = name.slice('xmlns:'.length);
    const isReserved = prefix === 'xml' ? uri !== XML_URI : prefix === 'xmlns' || uri === XML_URI;
    if (isReserved || uri === XMLNS_URI || (prefix !== '' && uri === '')) return null;
    prefixes ??= new Map();
    prefixes.set(prefix, uri);
  }
  return prefixes ? { prefixes, outer } : outer;
}

/** Null where the prefix is declared nowhere, or the name has more than one colon. */
export function resolve(name: string, scope: Scope, useDefault: boolean): { uri: string; local: string } | null {
  const colon = name.indexOf(':');
  if (colon < 0) return { uri: useDefault ? (lookUp('', scope) as string) : '', local: name };
  const local = name.slice(colon + 1);
  const uri = lookUp(name.slice(0, colon), scope);
  return uri === undefined || colon === 0 || !LOCAL.test(local) ? null : { uri, local };
}

export interface XmlAttribute {
  readonly uri: string;
  readonly local: string;
  readonly value: string;
}

/** Null also where two are the same, under different prefixes (Namespaces 1.0 §6.3). */
export function resolveAttributes(given: ReadonlyMap<string, string>, scope: Scope): XmlAttribute[] | null {
  const attributes: XmlAttribute[] = [];
  const known = given.size > FEW ? new Set<string>() : null; // of many, not every pair is compared
  for (const [name, value] of given) {
    const resolved = name === 'xmlns' ? { uri: XMLNS_URI, local: name } : resolve(name, scope, false);
    if (!resolved) return null;
    const { uri, local } = resolved;
    const isSame = (other: XmlAttribute) => other.local === local && other.uri === uri;
    if (uri !== '' && (known ? known.has(`${local} ${uri}`) : attributes.some(isSame))) return null;
    known?.add(`${local} ${uri}`);
    attributes.push({ uri, local, value });
  }
  return attributes;
}

const FEW = 16;

function lookUp(prefix: string, scope: Scope): string | undefined {
  for (let at: Scope | null = scope; at; at = at.outer) {
    const uri = at.prefixes.get(prefix);
    if (uri !== undefined) return uri;
  }
  return undefined;
}
