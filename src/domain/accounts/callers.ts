import { BoundedMap } from '../../base/bounded-map.ts';
import { networkList } from '../../base/networks.ts';
import { denied, Problem } from '../../base/problem.ts';
import type { Caller } from '../../store/caller.ts';
import type { Database } from '../../store/database.ts';
import { hashUserId, USER_ID_LENGTH_MAX } from './credentials.ts';

/** Identifies callers by user_id, confirms them, and tells whether their account has changed. */

/** Compiled lists of networks by their text. Many accounts have the same list. */
const NETWORK_LISTS_MAX = 1_000;
const networkLists = new BoundedMap<string, (address: string) => boolean>(NETWORK_LISTS_MAX);

function isIn(networks: string, address: string): boolean {
  let contains = networkLists.get(networks);
  if (!contains) {
    contains = networkList(networks.split(','));
    networkLists.set(networks, contains);
  }
  return contains(address);
}

/** No user_id has this hash. */
const NOBODY = '';

/** Where a call comes from. */
export interface CallOrigin {
  /** The client's IP address. */
  readonly client: string;
  /** Calls with the same id share one poll of the writes of other processes. */
  readonly pollId?: number | undefined;
  /** The name of an operation that deletes, for the audit. */
  readonly deletes?: string | undefined;
}

export function createCallers(database: Database, now: () => number) {
  function identify(userId: string | null, { client, pollId }: CallOrigin): Caller | Promise<Caller> {
    const plausible = userId !== null && userId !== '' && userId.length <= USER_ID_LENGTH_MAX;
    const hash = hashUserId(plausible ? userId : '-');
    const found = database.identify(plausible ? hash : NOBODY, (networks) => isIn(networks, client), pollId);
    return found instanceof Promise ? found.then(known) : known(found);
  }

  return {
    /**
     * Identifies the caller by its user_id, does the work, and confirms the identity before the
     * result is returned.
     * Unknown, empty, too long, revoked and disabled user_ids all end in `denied`, after the same
     * work. PostgreSQL identifies the caller with the first statement of the work; still, an
     * unknown caller gets `denied`, never a value or a bad argument.
     * With `admit`, the identity is confirmed before `admit` counts the call and before any work.
     */
    async asCaller<T>(
      userId: string | null,
      origin: CallOrigin,
      work: (account: Caller) => T | Promise<T>,
      admit?: (account: Caller) => void | Promise<void>,
    ): Promise<{ value: T; account: Caller }> {
      const identified = identify(userId, origin);
      const account = identified instanceof Promise ? await identified : identified;
      const { deletes: action, client: address } = origin;
      if (action !== undefined) account.deletion = { action, at: now(), address };
      try {
        if (admit) {
          await database.confirm(account);
          await admit(account);
        }
        const value = await work(account);
        const confirming = database.confirm(account);
        if (confirming) await confirming;
        return { value, account };
      } catch (thrown) {
        if (thrown instanceof Problem && thrown.kind === 'bad-argument') await database.confirm(account);
        throw thrown;
      }
    },

    /**
     * Whether the account still has the version that it had when the caller was identified. Without
     * `pollOthers`, SQLite sees the writes of other processes only as of the last poll.
     */
    isUnchanged({ id, version }: Caller, pollOthers: boolean, pollId?: number): boolean | Promise<boolean> {
      if (id === undefined || version === undefined) return false;
      const current = database.version(id, pollOthers, pollId);
      return current instanceof Promise ? current.then((answer) => answer === version) : current === version;
    },
  };
}

function known(account: Caller | undefined): Caller {
  if (account === undefined) throw denied();
  return account;
}
