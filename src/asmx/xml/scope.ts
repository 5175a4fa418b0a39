import { checkNamespace } from './limits.ts';
import { isSpace, LOCAL } from './names.ts';

/** The namespace declarations of an element, linked to those of its ancestors. */
export interface Scope {
  readonly prefixes: ReadonlyMap<string, string>;
  readonly outer: Scope | null;
  /** The number of outer scopes. */
  readonly depth: number;
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
  depth: 0,
};

/** Names and values of an element's attributes in turn, as written. */
export type Given = readonly string[];

/** The scope of an element; null for a forbidden declaration (Namespaces 1.0 §3 and §5). */
export function declare(given: Given, outer: Scope): Scope | null {
  let prefixes: Map<string, string> | undefined;
  for (let at = 0; at < given.length; at += 2) {
    const name = given[at] as string;
    if (!isDeclaration(name)) continue;
    const uri = trimmed(given[at + 1] as string);
    checkNamespace(uri);
    const prefix = name.slice('xmlns:'.length);
    const isReserved = prefix === 'xml' ? uri !== XML_URI : prefix === 'xmlns' || uri === XML_URI;
    if (isReserved || uri === XMLNS_URI || (prefix !== '' && uri === '')) return null;
    prefixes ??= new Map();
    prefixes.set(prefix, uri);
  }
  return prefixes ? { prefixes, outer, depth: outer.depth + 1 } : outer;
}

const isDeclaration = (name: string): boolean =>
  name.startsWith('xmlns') && (name.length === 'xmlns'.length || name.startsWith(':', 'xmlns'.length));

/** Trims only the white space of XML: U+00A0 and U+FEFF are part of a namespace name. */
const trimmed = (uri: string): string =>
  isSpace(uri.charCodeAt(0)) || isSpace(uri.charCodeAt(uri.length - 1))
    ? uri.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, '')
    : uri;

/**
 * Finds the namespace of a prefix in one step at any depth. Each prefix has a stack of namespaces,
 * the innermost on top. The stacks follow the reader from scope to scope, so the work for a
 * document is proportional to its declarations.
 */
export class Bindings {
  readonly #uris = new Map<string, string[]>();
  /** The scope whose declarations are on the stacks. */
  #scope: Scope | null = null;

  find(prefix: string, scope: Scope): string | undefined {
    if (scope !== this.#scope) this.#moveTo(scope);
    return this.#uris.get(prefix)?.at(-1);
  }

  #moveTo(scope: Scope): void {
    const entering: Scope[] = [];
    let target: Scope | null = scope;
    while (target !== this.#scope) {
      if (this.#scope && this.#scope.depth >= (target?.depth ?? -1)) this.#leave(this.#scope);
      else if (target) {
        entering.push(target);
        target = target.outer;
      }
    }
    while (entering.length > 0) this.#enter(entering.pop() as Scope);
  }

  #enter(scope: Scope): void {
    for (const [prefix, uri] of scope.prefixes) {
      const uris = this.#uris.get(prefix);
      if (uris) uris.push(uri);
      else this.#uris.set(prefix, [uri]);
    }
    this.#scope = scope;
  }

  #leave(scope: Scope): void {
    for (const prefix of scope.prefixes.keys()) this.#uris.get(prefix)?.pop();
    this.#scope = scope.outer;
  }
}

interface ResolvedName {
  readonly uri: string;
  readonly local: string;
}

/** The name of an element; null for an undeclared prefix or a second colon. */
export function resolveElement(name: string, scope: Scope, bindings: Bindings): ResolvedName | null {
  if (!name.includes(':')) return { uri: bindings.find('', scope) as string, local: name };
  return resolvePrefixed(name, scope, bindings);
}

function resolvePrefixed(name: string, scope: Scope, bindings: Bindings): ResolvedName | null {
  const colon = name.indexOf(':');
  const local = name.slice(colon + 1);
  const uri = bindings.find(name.slice(0, colon), scope);
  return uri === undefined || colon === 0 || !isLocal(local) ? null : { uri, local };
}

export interface XmlAttribute extends ResolvedName {
  readonly value: string;
}

/** Returns null also for two equal names with different prefixes (Namespaces 1.0 §6.3). */
export function resolveAttributes(given: Given, scope: Scope, bindings: Bindings): XmlAttribute[] | null {
  const attributes: XmlAttribute[] = [];
  const qualified: ResolvedName[] = [];
  for (let at = 0; at < given.length; at += 2) {
    const name = given[at] as string;
    const value = given[at + 1] as string;
    if (isDeclaration(name)) {
      const local = name.slice('xmlns:'.length);
      if (name !== 'xmlns' && !isLocal(local)) return null;
      attributes.push({ uri: XMLNS_URI, local: local || name, value });
    } else if (!name.includes(':')) {
      attributes.push({ uri: '', local: name, value });
    } else {
      const resolved = resolvePrefixed(name, scope, bindings);
      if (!resolved) return null;
      attributes.push({ uri: resolved.uri, local: resolved.local, value });
      qualified.push(resolved);
    }
  }
  return qualified.length > 1 && hasDuplicate(qualified) ? null : attributes;
}

/** Gives each namespace a number: keys with the whole namespace would be too long. */
function hasDuplicate(names: readonly ResolvedName[]): boolean {
  const numbers = new Map<string, number>();
  const seen = new Set<string>();
  for (const { uri, local } of names) {
    const number = numbers.get(uri) ?? numbers.size;
    numbers.set(uri, number);
    seen.add(`${number} ${local}`);
  }
  return seen.size < names.length;
}

// ASCII names are tried first: the pattern of all names takes several times as long.
const PLAIN = /^[A-Za-z_][\w.-]*$/;
const isLocal = (text: string): boolean => PLAIN.test(text) || LOCAL.test(text);
