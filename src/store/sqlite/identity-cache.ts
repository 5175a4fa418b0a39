import { type Caller, isAdmitted } from '../statement.ts';

/**
 * Whom user_ids name, for the embedded database: asking it again costs most of a call, because the connection that reads
 * drops its pages after every commit. Held only until something is written that could change the answer.
 */
export interface Identity {
  readonly id: bigint;
  /** To which it is restricted. */
  readonly networks: string | null;
}

export interface Identities {
  /** By the hash of a user_id, where the call is admitted. Only who is known is remembered. */
  of(userIdHash: string, admits?: Caller['admits']): Identity | undefined;
  forget(): void;
}

// Of about 200 bytes each.
const KNOWN_MAX = 50_000;

export function createIdentities(ask: (userIdHash: string) => Identity | undefined): Identities {
  const known = new Map<string, Identity>();
  return {
    of(userIdHash, admits) {
      const remembered = known.get(userIdHash);
      if (remembered && isAdmitted(admits, remembered.networks)) return remembered;
      const identity = ask(userIdHash); // also for who is refused from memory: every refusal asks once
      if (remembered || !isAdmitted(admits, identity?.networks) || !identity) return undefined;
      if (known.size >= KNOWN_MAX) known.clear();
      known.set(userIdHash, identity);
      return identity;
    },
    forget: () => known.clear(),
  };
}
