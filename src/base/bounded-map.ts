import { detached } from './detached.ts';

/**
 * A Map of limited size, for caches. When it is full, the next new key empties it, so reads need no
 * bookkeeping, and a cache that an attacker has filled recovers at once. A key or value that is a
 * text is kept as a copy, so that it does not keep the request that it was cut from.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    super();
    this.#sizeMax = sizeMax;
  }

  override set(key: K, value: V): this {
    if (this.has(key)) return super.set(key, ownCopy(value));
    if (this.size >= this.#sizeMax) this.clear();
    return super.set(ownCopy(key), ownCopy(value));
  }
}

const ownCopy = <T>(given: T): T => (typeof given === 'string' ? (detached(given) as T) : given);
