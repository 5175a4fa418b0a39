import { hash } from 'node:crypto';

/**
 * A long list of messages that is compared with another one. A message takes 28 bytes: its id, its
 * time, 64 bits of a hash of its contents, and its place in the order of ids.
 */
export class Digests {
  #ids = new BigInt64Array(1_024);
  #hashes = new BigInt64Array(1_024);
  #times = new Float64Array(1_024);
  #order = new Uint32Array();
  #size = 0;

  /** If an id is added again, the last one counts. */
  add(id: bigint, at: number, fields: readonly unknown[]): void {
    if (this.#size === this.#ids.length) this.#grow();
    this.#ids[this.#size] = id;
    this.#hashes[this.#size] = digestOf(fields);
    this.#times[this.#size] = at;
    this.#size += 1;
  }

  #grow(): void {
    const [ids, hashes, times] = [this.#ids, this.#hashes, this.#times];
    this.#ids = new BigInt64Array(2 * this.#size);
    this.#hashes = new BigInt64Array(2 * this.#size);
    this.#times = new Float64Array(2 * this.#size);
    this.#ids.set(ids);
    this.#hashes.set(hashes);
    this.#times.set(times);
  }

  /** Yields each message once, by id. Nothing is added afterwards. */
  *inOrder(): Generator<Digest> {
    for (const place of this.#sorted()) {
      const [id, hashed] = [this.#ids[place] as bigint, this.#hashes[place] as bigint];
      yield { id, at: this.#times[place] as number, isEqual: (fields) => digestOf(fields) === hashed };
    }
  }

  *#sorted(): Generator<number> {
    if (this.#order.length !== this.#size) this.#order = this.#newOrder();
    for (let index = 0; index < this.#size; index++) {
      const place = this.#order[index] as number;
      const next = this.#order[index + 1];
      if (next === undefined || this.#ids[next] !== this.#ids[place]) yield place;
    }
  }

  #newOrder(): Uint32Array<ArrayBuffer> {
    const ids = this.#ids;
    const order = Uint32Array.from({ length: this.#size }, (_, place) => place);
    return order.sort((one, other) => {
      const [first, second] = [ids[one] as bigint, ids[other] as bigint];
      return first < second ? -1 : first > second ? 1 : one - other;
    });
  }
}

export interface Digest {
  readonly id: bigint;
  readonly at: number;
  readonly isEqual: (fields: readonly unknown[]) => boolean;
}

const digestOf = (fields: readonly unknown[]): bigint =>
  hash('sha256', JSON.stringify(fields), 'buffer').readBigInt64LE();
