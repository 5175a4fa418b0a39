/**
 * A Map of limited size, for caches. When it is full, the next new key empties it, so reads need no
 * bookkeeping, and a cache that an attacker has filled recovers at once.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    super();
    this.#sizeMax = sizeMax;
  }

  override set(key: K, value: V): this {
    if (this.size >= this.#sizeMax && !this.has(key)) this.clear();
    return super.set(key, value);
  }
}
