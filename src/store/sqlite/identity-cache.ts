import { BoundedMap } from '../../bounded-map.ts';
import { type Caller, isAdmitted } from '../caller.ts';

/**
 * Which account a user_id names. Asking the database costs most of a call, because a connection
 * drops its pages after each commit of another one. The cache is cleared when a write may change an
 * answer.
 */
export interface Identity {
  readonly id: bigint;
  /** The networks to which the account is restricted. */
  readonly networks: string | null;
}

export interface IdentityCache {
  /**
   * The account of a user_id with this hash, where the call is admitted. Only known user_ids are
   * stored.
   */
  find(userIdHash: string, admits?: Caller['admits']): Identity | undefined;
  clear(): void;
}

// Each takes about 200 bytes.
const IDENTITIES_MAX = 50_000;

/** `query` asks the database. */
export function createIdentityCache(query: (userIdHash: string) => Identity | undefined): IdentityCache {
  const known = new BoundedMap<string, Identity>(IDENTITIES_MAX);
  return {
    find(userIdHash, admits) {
      const cached = known.get(userIdHash);
      if (cached && isAdmitted(admits, cached.networks)) return cached;
      // A refusal from the cache asks as well: every refusal takes the same time.
      const identity = query(userIdHash);
      if (cached || !isAdmitted(admits, identity?.networks) || !identity) return undefined;
      known.set(userIdHash, identity);
      return identity;
    },
    clear: () => known.clear(),
  };
}
