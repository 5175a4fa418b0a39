import type { Clock } from '../../base/clock.ts';
import { createRepeat } from '../../base/repeat.ts';
import { booleanResult } from '../compare/compare.ts';
import type { CompareSettings } from '../compare/compare-values.ts';
import type { RawAnswer } from '../compare/redaction.ts';
import type { Sync } from '../copy/syncs.ts';
import type { Availability } from '../old-server/availability.ts';
import { isTemporary, type Upstream } from '../old-server/upstream.ts';
import { CLAIM_MS, type MigrationWrites, type WaitingWrite } from '../stages/writes.ts';
import type { PendingCounts } from './pending-counts.ts';
import { bodyOfWrite, openWrite, type SealedWrite, writeOfAll } from './sealed-write.ts';
import type { Seal } from './write-seal.ts';

/**
 * Gives Columba the writes that the old server has done, in the order of the account, either while
 * the account was compared or while Columba did not answer. A write is removed from the database
 * after Columba has answered it. Writes of the contract are idempotent, so a write that is repeated
 * after a kill has its effect once.
 */
export interface CatchingUp {
  /** The accounts with writes that Columba still has to get. */
  readonly behind: Set<bigint>;
  /** Resolves with whether Columba has everything that the old server has done for the account. */
  catchUp(account: bigint): Promise<boolean>;
  /** Notes that this process works on the write, so that it needs no claim. */
  hold(account: bigint, id: bigint): void;
  /** Lets another process take the write when its claim is over. */
  release(account: bigint, id: bigint): void;
  /**
   * Gives Columba a write that this process holds, and those before it. The caller has its turn in
   * the queue of the account. Resolves with undefined if Columba did not take the write, and with
   * null if it already has the write.
   */
  applied(account: bigint, id: bigint, sync: Sync | undefined): Promise<RawAnswer | null | undefined>;
}

export interface CatchUpSettings {
  readonly writes: MigrationWrites;
  readonly seal: Seal;
  readonly columba: Pick<Upstream, 'exchange'>;
  readonly availability: Availability;
  /** Syncs after waiting for its turn in the queue of the account. Undefined without syncs. */
  readonly sync: Sync | undefined;
  readonly compare: CompareSettings;
  readonly pendingCounts: PendingCounts;
  readonly clock: Clock;
  readonly failed: (thrown: unknown) => void;
}

const EXTEND_EVERY_MS = CLAIM_MS / 3;

/** Renews the claim during the work, so that no other process takes the write. */
export async function whileHeld<T>(
  { writes, clock, failed }: Pick<CatchUpSettings, 'writes' | 'clock' | 'failed'>,
  { account, id }: Pick<WaitingWrite, 'account' | 'id'>,
  work: () => Promise<T>,
): Promise<T> {
  const extensions = createRepeat({ clock, everyMs: EXTEND_EVERY_MS, work: () => writes.extend(account, id), failed });
  extensions.start();
  return work().finally(() => void extensions.stop());
}

const WRITES_AT_ONCE = 100;

/** No list of the old server shows what this operation changes, so no sync can copy it. */
const UNLISTED = 'account.BlackListNumber';

/**
 * `done`: Columba has everything. `open`: this or another process still waits for an answer of the
 * old server. `later`: Columba or another process prevents it now. Otherwise the write needs a
 * sync.
 */
type Stop = 'done' | 'open' | 'later' | NeededSync;
interface NeededSync {
  readonly id: bigint;
  readonly userId: string;
  /** Whether contacts, groups and templates are copied too. */
  readonly everything: boolean;
}

export function createCatchingUp(settings: CatchUpSettings): CatchingUp {
  const { writes, failed } = settings;
  const behind = new Set<bigint>();
  const known: Known = { held: new Set(), awaited: new Map(), late: new Map() };
  const { held, awaited, late } = known;
  const apply = once((account: bigint) => applyInOrder(settings, account, known));

  async function applyAll(account: bigint, sync: Sync | undefined): Promise<Exclude<Stop, NeededSync>> {
    for (;;) {
      const stop = await apply(account);
      if (typeof stop === 'string') return stop;
      await sync?.(stop.userId, { everything: stop.everything });
      held.delete(keyOf(account, stop.id));
      await writes.remove(account, stop.id);
    }
  }

  async function catchUp(account: bigint): Promise<boolean> {
    if ((await applyAll(account, settings.sync)) !== 'done') return false;
    behind.delete(account);
    // Clients were shown what arrived meanwhile, so it is copied.
    const userId = late.get(account);
    late.delete(account);
    if (userId !== undefined) await settings.sync?.(userId).catch(failed);
    return true;
  }

  return {
    behind,
    catchUp: once((account: bigint) =>
      catchUp(account).catch((thrown) => {
        failed(thrown);
        return false;
      }),
    ),
    hold: (account, id) => void held.add(keyOf(account, id)),
    release: (account, id) => void held.delete(keyOf(account, id)),
    async applied(account, id, sync) {
      const key = keyOf(account, id);
      awaited.set(key, undefined);
      try {
        for (;;) {
          const stop = await applyAll(account, sync);
          const ours = awaited.get(key);
          if (ours) return ours;
          if (stop === 'later') return undefined;
          // A run that had begun before may not have seen the write.
          if (!held.has(key)) return null;
        }
      } finally {
        awaited.delete(key);
      }
    },
  };
}

const keyOf = (account: bigint, id: bigint): string => `${account}/${id}`;

/** Callers that ask while the work of an account is under way get the same promise. */
function once<T>(work: (account: bigint) => Promise<T>): (account: bigint) => Promise<T> {
  const running = new Map<bigint, Promise<T>>();
  return (account) => {
    const found = running.get(account);
    if (found) return found;
    const started = work(account).finally(() => running.delete(account));
    running.set(account, started);
    return started;
  };
}

interface Known {
  /** Writes that this process works on. */
  readonly held: Set<string>;
  /** The answers of Columba for which a caller waits. */
  readonly awaited: Map<string, RawAnswer | undefined>;
  /** The user_id of a write that was applied without a waiting caller, by account. */
  readonly late: Map<bigint, string>;
}

async function applyInOrder(settings: CatchUpSettings, account: bigint, known: Known): Promise<Stop> {
  const { writes, seal } = settings;
  const { held } = known;
  for (;;) {
    let isOpen = false;
    let done = 0;
    for (const waiting of await writes.forColumba(account, WRITES_AT_ONCE)) {
      const { id, state } = waiting;
      const key = keyOf(account, id);
      const isAsked = state === 'asked';
      // Its client has no answer yet, so later writes need not wait for it.
      if (isAsked && (held.has(key) || !(await writes.claim(account, id)))) {
        isOpen = true;
        continue;
      }
      if (!isAsked && !held.has(key) && !(await writes.claim(account, id))) return 'later';
      const sealed = openWrite(seal, waiting);
      const rest = await applyOne(settings, waiting, sealed, known);
      const { userId } = sealed;
      if (rest === 'sync' && settings.sync && userId !== null) return { id, userId, everything: isAsked };
      held.delete(key);
      if (rest === undefined) {
        await writes.postpone(account, id, 0); // the first process that reaches Columba again may continue
        return 'later';
      }
      await writes.remove(account, id);
      done += 1;
    }
    if (done === 0) return isOpen ? 'open' : 'done';
  }
}

/** Returns what is left to do; undefined if Columba did not take the write. */
async function applyOne(
  settings: CatchUpSettings,
  waiting: WaitingWrite,
  sealed: SealedWrite,
  { awaited, late }: Known,
): Promise<'nothing' | 'sync' | undefined> {
  const { account, id, operation, state } = waiting;
  const key = keyOf(account, id);
  const isAwaited = awaited.has(key);
  // Nobody knows whether the old server did the write. Its lists tell, except for the blacklist,
  // where the wish of the client counts.
  if (state === 'asked' && operation !== UNLISTED) return 'sync';
  // By now more may have arrived, so a sync removes only what the old server has deleted.
  if (writeOfAll(sealed) && !isAwaited && settings.sync) return 'sync';
  let ours: RawAnswer;
  try {
    ours = await whileHeld(settings, waiting, () => settings.columba.exchange(sealed, bodyOfWrite(sealed)));
  } catch {
    settings.availability.noteFailure();
    return undefined;
  }
  if (isTemporary(ours.status)) return undefined;
  if (isAwaited) awaited.set(key, ours);
  else {
    countLate(settings, operation, sealed, ours);
    if (sealed.userId !== null) late.set(account, sealed.userId);
  }
  return 'nothing';
}

function countLate(
  { pendingCounts, compare }: CatchUpSettings,
  operation: string,
  sealed: SealedWrite,
  ours: RawAnswer,
) {
  const key = { operation, protocol: sealed.protocol };
  pendingCounts.add(key, 'late write');
  if (booleanResult(sealed, ours, compare) !== undefined) return;
  pendingCounts.add(key, 'failed', `Columba answered ${ours.status} to a write that the old server has done`);
}
