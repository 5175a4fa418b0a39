/** The ids of a long list, in 8 bytes each. A Set takes about 50 bytes for each. */
export class IdList {
  #ids = new BigInt64Array(1_024);
  #size = 0;
  #isSorted = true;

  add(id: bigint): void {
    if (this.#size === this.#ids.length) {
      const larger = new BigInt64Array(2 * this.#size);
      larger.set(this.#ids);
      this.#ids = larger;
    }
    this.#ids[this.#size++] = id;
    this.#isSorted = false;
  }

  get size(): number {
    return this.#size;
  }

  has(id: bigint): boolean {
    if (!this.#isSorted) this.#ids.subarray(0, this.#size).sort();
    this.#isSorted = true;
    let low = 0;
    for (let high = this.#size; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.#ids[middle] as bigint) < id) low = middle + 1;
      else high = middle;
    }
    return low < this.#size && this.#ids[low] === id;
  }
}
