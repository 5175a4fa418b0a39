/** Limits connections. When there are as many as may be, an unused one is evicted for a new one. */
export interface OpenConnections<C extends Evictable> {
  readonly all: Iterable<C>;
  readonly size: number;
  /** Whether a client gets one more, if necessary by eviction. Null for a trusted proxy. */
  makeRoom(client: string | null): boolean;
  add(client: string | null, connection: C): void;
  remove(client: string | null, connection: C): void;
}

export interface Evictable {
  /** Undefined while it is in use. */
  readonly eviction: Eviction | undefined;
  evict(): void;
}

/**
 * The order of eviction. 0: no request since it was opened, for a while. 1: its rejection is
 * delayed. 2: idle for a while after a response. 3: new, without a request, or with a request that
 * takes a while and has shown no token. 4: such a request whose response has begun. The lowest rank
 * is evicted first; within a rank, the one that has been in it longest.
 */
export interface Eviction {
  readonly rank: 0 | 1 | 2 | 3 | 4;
  readonly since: number;
}

const RANK_USELESS_MAX = 1;
const RANK_MAX = 4;

export interface ConnectionLimits {
  readonly connectionsMax: number;
  readonly connectionsPerClientMax: number;
}

export function createOpenConnections<C extends Evictable>({
  connectionsMax,
  connectionsPerClientMax,
}: ConnectionLimits): OpenConnections<C> {
  const all = new Set<C>();
  /** The connections of each client in the order of arrival. A client without one is not in it. */
  const byClient = new Map<string | null, Set<C>>();

  function remove(client: string | null, connection: C): void {
    const own = byClient.get(client);
    if (!own?.delete(connection)) return;
    all.delete(connection);
    if (own.size === 0) byClient.delete(client);
  }

  function evictOne(client: string | null, among: Set<C>, rankMax: number): boolean {
    const connection = firstToEvict(among, rankMax);
    if (!connection) return false;
    remove(client, connection); // now: its socket closes later
    connection.evict();
    return true;
  }

  /**
   * The client with most connections loses one first, and never a useful one to a larger client.
   */
  function evictFairly(client: string | null): boolean {
    const bySize = [...byClient].sort(([, one], [, other]) => other.size - one.size);
    if (bySize.some(([other, among]) => evictOne(other, among, RANK_USELESS_MAX))) return true;
    const own = client === null ? 0 : (byClient.get(client)?.size ?? 0);
    const larger = bySize.filter(([other, { size }]) => other === client || size > own);
    return larger.some(([other, among]) => evictOne(other, among, RANK_MAX));
  }

  return {
    all,
    get size() {
      return all.size;
    },
    makeRoom(client) {
      const own = byClient.get(client);
      if (client !== null && own && own.size >= connectionsPerClientMax) return evictOne(client, own, RANK_MAX);
      return all.size < connectionsMax || evictFairly(client);
    },
    add(client, connection) {
      all.add(connection);
      const own = byClient.get(client);
      if (own) own.add(connection);
      else byClient.set(client, new Set([connection]));
    },
    remove,
  };
}

function firstToEvict<C extends Evictable>(among: Set<C>, rankMax: number): C | undefined {
  let found: C | undefined;
  let best: Eviction | undefined;
  for (const connection of among) {
    const { eviction } = connection;
    if (!eviction || eviction.rank > rankMax) continue;
    if (best && (best.rank - eviction.rank || best.since - eviction.since) <= 0) continue;
    found = connection;
    best = eviction;
  }
  return found;
}
