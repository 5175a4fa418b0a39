import { detached } from '../../base/detached.ts';
import { ROOT_SCOPE, type Scope, type XmlAttribute } from './scope.ts';

/** A start tag, parsed. */
export interface StartTag {
  /** As written, with its prefix. */
  readonly name: string;
  readonly uri: string;
  readonly local: string;
  readonly attributes: readonly XmlAttribute[];
  /** The scope of its content. */
  readonly scope: Scope;
  readonly isEmpty: boolean;
}

// An envelope has about five start tags, and there are few toolkits. The cache takes at most 2 MB.
const TAGS_MAX = 1_000;
const LENGTH_MAX = 1_000;

/**
 * Caches parsed start tags. A client repeats them in each of its envelopes, and they take most of
 * the parsing time. The key is the text and the outer scope. Equal outer tags give the same scope
 * object, because they come from the cache too.
 */
export class StartTagCache {
  /** Holds only the scopes of cached tags, because no other scope is met again. */
  readonly #byScope = new Map<Scope, Map<string, StartTag>>([[ROOT_SCOPE, new Map()]]);
  #count = 0;

  find(text: string, outer: Scope): StartTag | undefined {
    return text.length > LENGTH_MAX ? undefined : this.#byScope.get(outer)?.get(text);
  }

  /**
   * Returns undefined for a tag that is not cached. It parses a copy of the text, because slices
   * would keep the whole document in memory.
   */
  add(text: string, outer: Scope, read: (copy: string) => StartTag): StartTag | undefined {
    if (text.length > LENGTH_MAX) return undefined;
    if (this.#count >= TAGS_MAX) this.#clear();
    const inside = this.#byScope.get(outer);
    if (!inside) return undefined;
    const copy = detached(text);
    const tag = read(copy);
    inside.set(copy, tag);
    if (!this.#byScope.has(tag.scope)) this.#byScope.set(tag.scope, new Map());
    this.#count += 1;
    return tag;
  }

  #clear(): void {
    this.#byScope.clear();
    this.#byScope.set(ROOT_SCOPE, new Map());
    this.#count = 0;
  }
}
