/** Places for connections. When there are no more, one that is not in use makes room for a new one. */
export interface Slots<C extends Guest> {
  readonly all: Iterable<C>;
  readonly size: number;
  /** Whether there is a place for one more of a client's, if need be by dropping another. Null for a trusted proxy. */
  makeRoom(client: string | null): boolean;
  add(client: string | null, guest: C): void;
  remove(client: string | null, guest: C): void;
}

export interface Guest {
  readonly spare: Spare | undefined;
  drop(): void;
}

/**
 * 0: has said nothing for a while. 1: waits for a refusal. 2: has been idle for a while after an answer. 3: is new, and has
 * said nothing yet. The lowest goes first, and of one rank the one that has been so for longest.
 */
export interface Spare {
  readonly rank: 0 | 1 | 2 | 3;
  readonly since: number;
}

const RANK_USELESS_MAX = 1;
const RANK_MAX = 3;

export interface SlotSettings {
  readonly connectionsMax: number;
  readonly connectionsPerClientMax: number;
}

export function createSlots<C extends Guest>({ connectionsMax, connectionsPerClientMax }: SlotSettings): Slots<C> {
  const all = new Set<C>();
  /** In the order in which they came; of clients with a connection only. */
  const byClient = new Map<string | null, Set<C>>();

  function remove(client: string | null, guest: C): void {
    const own = byClient.get(client);
    if (!own?.delete(guest)) return;
    all.delete(guest);
    if (own.size === 0) byClient.delete(client);
  }

  function dropOne(client: string | null, among: Set<C>, rankMax: number): boolean {
    const guest = easiest(among, rankMax);
    if (!guest) return false;
    remove(client, guest); // now: it is closed later
    guest.drop();
    return true;
  }

  /** Who has the most gives up one first. Nobody gives up one of any use for a client that has as many. */
  function dropFairly(client: string | null): boolean {
    const bySize = [...byClient].sort(([, one], [, other]) => other.size - one.size);
    if (bySize.some(([other, among]) => dropOne(other, among, RANK_USELESS_MAX))) return true;
    const own = client === null ? 0 : (byClient.get(client)?.size ?? 0);
    const larger = bySize.filter(([other, { size }]) => other === client || size > own);
    return larger.some(([other, among]) => dropOne(other, among, RANK_MAX));
  }

  return {
    all,
    get size() {
      return all.size;
    },
    makeRoom(client) {
      const own = byClient.get(client);
      if (client !== null && own && own.size >= connectionsPerClientMax) return dropOne(client, own, RANK_MAX);
      return all.size < connectionsMax || dropFairly(client);
    },
    add(client, guest) {
      all.add(guest);
      const own = byClient.get(client);
      if (own) own.add(guest);
      else byClient.set(client, new Set([guest]));
    },
    remove,
  };
}

function easiest<C extends Guest>(among: Set<C>, rankMax: number): C | undefined {
  let found: C | undefined;
  let best: Spare | undefined;
  for (const guest of among) {
    const { spare } = guest;
    if (!spare || spare.rank > rankMax || (best && (best.rank - spare.rank || best.since - spare.since) <= 0)) continue;
    found = guest;
    best = spare;
  }
  return found;
}
