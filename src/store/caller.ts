/** An account by its id, or as the caller that a user_id names. */
export type AccountKey = bigint | Caller;

/** A deletion by a call of the contract, as the audit records it. */
export interface Deletion {
  /** The group and the operation, separated by a dot. */
  readonly action: string;
  readonly at: number;
  readonly address: string;
}

/**
 * The account that a user_id names. SQLite knows the id from the start. PostgreSQL learns it with
 * the first statement about the account, so that identification takes no round trip of its own.
 */
export class Caller {
  readonly userIdHash: string;
  /** Whether the call comes from one of the given networks. */
  readonly admits: (networks: string) => boolean;
  /** Undefined until the database has answered. */
  id: bigint | undefined;
  /**
   * The version of the account when it was identified: see Database.version. Undefined where its
   * answers are not cached: it is restricted to networks, or was identified by a write.
   */
  version: number | undefined;
  /** Set for a call that deletes, so that the audit records what it deleted. */
  deletion: Deletion | undefined;

  constructor(userIdHash: string, admits: Caller['admits'] = admitsNone, id?: bigint, version?: number) {
    this.userIdHash = userIdHash;
    this.admits = admits;
    this.id = id;
    this.version = version;
    this.deletion = undefined;
  }
}

/** For a call of unknown origin. */
const admitsNone = () => false;

// The broadcast address, from which no call can come.
const NO_NETWORK = '255.255.255.255';

/**
 * Whether a call may use an account. `networks` are those to which it is restricted; null for no
 * restriction, undefined for no account. Every refusal checks networks once, so that its time does
 * not tell the reason.
 */
export function isAdmitted(admits: Caller['admits'] = admitsNone, networks: string | null | undefined): boolean {
  if (networks === null) return true;
  return admits(networks ?? NO_NETWORK) && networks !== undefined;
}

/** The id of the account if it is known already. */
export const accountIdOf = (account: unknown): bigint | undefined =>
  account instanceof Caller ? account.id : typeof account === 'bigint' ? account : undefined;
