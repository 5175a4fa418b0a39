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

export function lookUp(prefix: string, scope: Scope): string | undefined {
  for (let at: Scope | null = scope; at; at = at.outer) {
    const uri = at.prefixes.get(prefix);
    if (uri !== undefined) return uri;
  }
  return undefined;
}
