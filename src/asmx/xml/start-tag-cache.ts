import { detached } from '../../detached.ts';
import { ROOT_SCOPE, type Scope, type XmlAttribute } from './scope.ts';

/** A start tag, read. */
export interface StartTag {
  /** As it is written, with its prefix. */
  readonly name: string;
  readonly uri: string;
  readonly local: string;
  readonly attributes: readonly XmlAttribute[];
  /** Of what is inside. */
  readonly scope: Scope;
  readonly isEmpty: boolean;
}

// A client has about five, and there are few kinds of clients. About 2 MB at most.
const TAGS_MAX = 1_000;
const LENGTH_MAX = 1_000;

/**
 * Start tags that were read before. A client writes the same ones in each of its envelopes, and they take most of the time
 * that reading takes. What one means depends on its text and on the scope around it, which is the same object where the tags
 * around it are the same.
 */
export class KnownTags {
  /** Of scopes that are themselves known: others will not be met again. */
  readonly #byScope = new Map<Scope, Map<string, StartTag>>([[ROOT_SCOPE, new Map()]]);
  #count = 0;

  find(text: string, outer: Scope): StartTag | undefined {
    return text.length > LENGTH_MAX ? undefined : this.#byScope.get(outer)?.get(text);
  }

  /** Undefined where it is none to remember. It is read from a copy: parts of a document would keep all of it. */
  add(text: string, outer: Scope, read: (copy: string) => StartTag): StartTag | undefined {
    if (text.length > LENGTH_MAX) return undefined;
    if (this.#count >= TAGS_MAX) this.#forget();
    const inside = this.#byScope.get(outer);
    if (!inside) return undefined;
    const copy = detached(text);
    const tag = read(copy);
    inside.set(copy, tag);
    if (!this.#byScope.has(tag.scope)) this.#byScope.set(tag.scope, new Map());
    this.#count += 1;
    return tag;
  }

  #forget(): void {
    this.#byScope.clear();
    this.#byScope.set(ROOT_SCOPE, new Map());
    this.#count = 0;
  }
}
