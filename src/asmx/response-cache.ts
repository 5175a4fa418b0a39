import { detached } from '../base/detached.ts';
import type { Reply, Request } from '../base/exchange.ts';
import type { Contract, Group } from './contract/types.ts';
import type { ProtocolName } from './protocols/protocol.ts';
import { hashOf, isKeyOf, keyOf, lengthOf, ownBytes, type RequestKey } from './request-key.ts';

/** The response of a successful call, without its arguments. */
export interface CachedResponse {
  readonly protocol: ProtocolName;
  readonly group: string;
  readonly operation: string;
  readonly account: unknown;
  readonly reply: Reply;
}

export interface ResponseCacheSettings {
  readonly contract: Contract;
  /** The memory for all entries. With 0 nothing is cached. */
  readonly bytesMax: number;
  /**
   * Whether the account still has the version that it had when its call was identified. Returns a
   * promise where the database has to be asked. Without `pollOthers`, the writes of other processes
   * may be seen only as of the last poll. Calls with the same `pollId` share one poll.
   */
  readonly isUnchanged: (account: unknown, pollOthers: boolean, pollId?: number) => boolean | Promise<boolean>;
  /** Whether every call has to be decoded now, as for a recorder of exchanges. */
  readonly isBypassed?: () => boolean;
}

interface Entry {
  readonly key: RequestKey;
  readonly response: CachedResponse;
  readonly bytes: number;
  /** Whether the entry was used since an eviction last passed it. */
  wasUsed: boolean;
}

// A longer key is a long list of ids, and no client polls with one.
const KEY_LENGTH_MAX = 4_096;
// A longer response would evict many short ones.
const RESPONSE_BYTES_MAX = 64 * 1024;
// An entry takes this besides its key and its body: objects, header fields, a slot of the map.
const ENTRY_BYTES = 1_500;

/**
 * Repeats the response of an equal earlier request while its account has the same version.
 * Clients poll: they repeat one request, and mostly nothing has changed. With the cache a Profile
 * takes 25 µs of CPU instead of 55, an Unread 36 instead of 153 (bench/RESULTS.md).
 * A response is stored only if the version is still the same after it was made. So it shows the
 * account at that version, and no operation has to declare that it only reads.
 */
export class ResponseCache {
  readonly #settings: ResponseCacheSettings;
  readonly #cacheable: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * Entries by hash, the least recently stored one first. Of two requests with the same hash only
   * the later one is stored.
   */
  readonly #entries = new Map<number, Entry>();
  #bytes = 0;
  #hits = 0;
  #misses = 0;

  constructor(settings: ResponseCacheSettings) {
    this.#settings = settings;
    this.#cacheable = new Map(Object.entries(settings.contract).map(([name, group]) => [name, cacheableOf(group)]));
  }

  /** Hits and misses since the start, and the bytes of all entries now. */
  get statistics(): { readonly hits: number; readonly misses: number; readonly bytes: number } {
    return { hits: this.#hits, misses: this.#misses, bytes: this.#bytes };
  }

  /** Returns a promise where the database has to be asked; it rejects if the database fails. */
  find(request: Request, body: Uint8Array): CachedResponse | undefined | Promise<CachedResponse | undefined> {
    const { bytesMax, isBypassed } = this.#settings;
    if (bytesMax === 0 || isBypassed?.()) return undefined;
    const entry = this.#entryOf(request, body);
    const unchanged = entry !== undefined && this.#isUnchanged(entry.response.account, true, request.pollId);
    return unchanged instanceof Promise
      ? unchanged.then((answer) => this.#counted(entry, answer))
      : this.#counted(entry, unchanged);
  }

  #entryOf(request: Request, body: Uint8Array): Entry | undefined {
    if (body.length > KEY_LENGTH_MAX) return undefined;
    const entry = this.#entries.get(hashOf(request, body));
    return entry && isKeyOf(entry.key, request, body) ? entry : undefined;
  }

  #counted(entry: Entry | undefined, isUnchanged: boolean): CachedResponse | undefined {
    if (!entry || !isUnchanged) {
      this.#misses += 1;
      return undefined;
    }
    this.#hits += 1;
    entry.wasUsed = true;
    return entry.response;
  }

  /**
   * Stores the response, unless it is too long, depends on the clock, or its account has changed
   * since it was identified.
   */
  store(request: Request, body: Uint8Array, response: CachedResponse): void {
    const { reply, group, operation, account } = response;
    if (!(reply.body instanceof Uint8Array) || reply.body.length > RESPONSE_BYTES_MAX) return;
    if (body.length > KEY_LENGTH_MAX) return; // a long body is not even held while the database is asked
    if (!this.#cacheable.get(group)?.has(operation) || this.#settings.bytesMax === 0) return;
    const unchanged = this.#isUnchanged(account, false);
    if (unchanged instanceof Promise) {
      unchanged.then(
        (answer) => answer && this.#store(request, body, response, reply.body as Uint8Array),
        () => {}, // nobody waits for it
      );
    } else if (unchanged) this.#store(request, body, response, reply.body);
  }

  #store(request: Request, body: Uint8Array, response: CachedResponse, bytes: Uint8Array): void {
    const { reply, operation } = response;
    const key = keyOf(request, body);
    const keyLength = lengthOf(key);
    if (keyLength > KEY_LENGTH_MAX) return;
    const copy = { ...response, operation: detached(operation), reply: { ...reply, body: ownBytes(bytes) } };
    this.#add({ key, response: copy, bytes: keyLength + bytes.length + ENTRY_BYTES, wasUsed: false });
  }

  /** If the database fails, the account counts as changed, and the call goes on without cache. */
  #isUnchanged(account: unknown, pollOthers: boolean, pollId?: number): boolean | Promise<boolean> {
    try {
      return this.#settings.isUnchanged(account, pollOthers, pollId);
    } catch {
      return false;
    }
  }

  #add(entry: Entry): void {
    const { hash } = entry.key;
    const replaced = this.#entries.get(hash);
    if (replaced) this.#remove(replaced);
    this.#entries.set(hash, entry);
    this.#bytes += entry.bytes;
    if (this.#bytes > this.#settings.bytesMax) this.#evict();
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.key.hash);
    this.#bytes -= entry.bytes;
  }

  /** Second chance: evicts the oldest entry, but moves one that was used to the end instead. */
  #evict(): void {
    for (const [hash, entry] of this.#entries) {
      if (this.#bytes <= this.#settings.bytesMax) return;
      if (entry.wasUsed) {
        entry.wasUsed = false;
        this.#entries.delete(hash);
        this.#entries.set(hash, entry);
      } else {
        this.#remove(entry);
      }
    }
  }
}

/** Only calls without a dateTime are cached: a time without a date means another day tomorrow. */
const cacheableOf = (group: Group): ReadonlySet<string> =>
  new Set(
    Object.entries(group)
      .filter(([, { parameters }]) =>
        Object.values(parameters).every((type) => type.kind !== 'scalar' || type.name !== 'dateTime'),
      )
      .map(([operation]) => operation),
  );
