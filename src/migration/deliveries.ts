import { CLAIM_MS, type MigrationWrites, type WaitingWrite } from '../domain/migration-writes.ts';
import type { Availability } from './availability.ts';
import { booleanResult } from './compare.ts';
import type { CompareSettings } from './compare-values.ts';
import type { OldServer } from './old-server.ts';
import { bodyOfWrite, openWrite, type SealedWrite, withoutClient, writeOfAll } from './sealed-write.ts';
import type { Tally } from './tally.ts';
import { isTemporary, type Upstream } from './upstream.ts';
import type { Seal } from './write-seal.ts';

/** Gives each server the writes that the other one has done, in the order of the account. */
export interface Deliveries {
  /** What is due. */
  deliver(): Promise<void>;
  /** False where Columba does not have everything that the old server has done for the account. */
  catchUp(account: bigint): Promise<boolean>;
  /** Accounts with writes that Columba is still to get. */
  readonly behind: Set<bigint>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface DeliverySettings {
  readonly writes: MigrationWrites;
  readonly seal: Seal;
  readonly columba: Pick<Upstream, 'exchange'>;
  readonly old: Pick<Upstream, 'exchange'>;
  /** Calls by the contract, for what a write of all becomes. */
  readonly oldCalls: Pick<OldServer, 'call'>;
  readonly availability: Availability;
  /** Brings over what is at the old server. Undefined: nobody does. */
  readonly sync: ((userId: string) => Promise<void>) | undefined;
  readonly compare: CompareSettings;
  readonly tally: Tally;
  readonly failed: (thrown: unknown) => void;
}

const LOOK_EVERY_MS = 500;
const ACCOUNTS_AT_ONCE = 20;
const WRITES_AT_ONCE = 100;
const PAUSE_MS_MAX = 60_000;
const COLUMBA_PAUSE_MS = 1_000;
const EXTEND_EVERY_MS = CLAIM_MS / 3;

/** While the work is done, no other process takes the write. */
export async function whileHeld<T>(
  { writes, failed }: Pick<DeliverySettings, 'writes' | 'failed'>,
  { account, id }: Pick<WaitingWrite, 'account' | 'id'>,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setInterval(() => writes.extend(account, id).catch(failed), EXTEND_EVERY_MS).unref();
  return work().finally(() => clearInterval(timer));
}

export function createDeliveries(settings: DeliverySettings): Deliveries {
  const { writes, seal, columba, availability, compare, tally, failed } = settings;
  const behind = new Set<bigint>();
  const catchingUp = new Map<bigint, Promise<boolean>>();
  let timer: NodeJS.Timeout | undefined;
  let delivering: Promise<void> | undefined;
  let isStopped = false;

  /** Whether the account's next write can follow. */
  async function deliverOne(waiting: WaitingWrite): Promise<boolean> {
    const { account, id, attempts, state } = waiting;
    if (!(await writes.claim(account, id))) return false;
    if (state !== 'due' && (availability.isDown || (state === 'behind' && !(await catchUp(account))))) {
      await writes.postpone(account, id, COLUMBA_PAUSE_MS);
      return false;
    }
    if (state === 'behind') return true;
    const sealed = openWrite(seal, waiting);
    const key = { operation: waiting.operation, protocol: sealed.protocol };
    const giving = () => (state === 'begun' ? giveToBoth(sealed) : giveToOld(sealed));
    const isTaken = await whileHeld(settings, waiting, giving).catch(failed);
    if (isTaken === undefined) {
      await writes.postpone(account, id, Math.min(1_000 * 2 ** attempts, PAUSE_MS_MAX));
      tally.add(key, 'old write postponed');
      return false;
    }
    await writes.remove(account, id);
    if (isTaken !== null) tally.add(key, isTaken ? 'old write' : 'old write refused');
    return true;
  }

  /**
   * The process ended before it knew. The client asked for it, so both are asked. Columba says
   * false to what it has done before, such as a deletion. Null where nobody is to do it: a write of
   * all would delete what arrived since.
   */
  async function giveToBoth(sealed: SealedWrite): Promise<boolean | null | undefined> {
    if (writeOfAll(sealed)) return null;
    const answer = await columba.exchange(sealed, bodyOfWrite(sealed));
    if (isTemporary(answer.status)) return undefined;
    return booleanResult(sealed, answer, compare) === undefined ? null : giveToOld(sealed);
  }

  /** True and false are answers; undefined is none. */
  async function giveToOld(sealed: SealedWrite): Promise<boolean | undefined> {
    const { group, ids, userId } = sealed;
    const all = writeOfAll(sealed);
    if (!all || ids === undefined) {
      const answer = await settings.old.exchange(withoutClient(sealed), bodyOfWrite(sealed));
      return booleanResult(sealed, answer, compare);
    }
    for (const id of ids) {
      const { result } = await settings.oldCalls.call(group, all.each, { user_id: userId, message_id: id });
      if (result.kind !== 'value') return undefined;
    }
    return true;
  }

  function catchUp(account: bigint): Promise<boolean> {
    const found = catchingUp.get(account);
    if (found) return found;
    const started = applyAll(account)
      .catch((thrown) => {
        failed(thrown);
        return false;
      })
      .finally(() => catchingUp.delete(account));
    catchingUp.set(account, started);
    return started;
  }

  async function applyAll(account: bigint): Promise<boolean> {
    let userId: string | null = null;
    for (;;) {
      const rows = (await writes.of(account, WRITES_AT_ONCE)).filter(({ state }) => state === 'behind');
      if (rows.length === 0) break;
      for (const waiting of rows) {
        const sealed = openWrite(seal, waiting);
        if (!(await applyHere(sealed))) return false;
        await writes.remove(account, waiting.id);
        tally.add({ operation: waiting.operation, protocol: sealed.protocol }, 'late write');
        userId = sealed.userId;
      }
    }
    behind.delete(account);
    // What arrived meanwhile was shown to clients.
    if (userId !== null) await settings.sync?.(userId).catch(failed);
    return true;
  }

  async function applyHere(sealed: SealedWrite): Promise<boolean> {
    // By now more may have arrived. A sync removes what the old server has deleted.
    if (writeOfAll(sealed) && settings.sync && sealed.userId !== null) {
      await settings.sync(sealed.userId);
      return true;
    }
    try {
      return !isTemporary((await columba.exchange(sealed, bodyOfWrite(sealed))).status);
    } catch {
      availability.noteFailure();
      return false;
    }
  }

  async function deliverAll(): Promise<void> {
    for (const account of await writes.behindAccounts()) behind.add(account);
    for (const account of await writes.dueAccounts(ACCOUNTS_AT_ONCE)) {
      for (const waiting of await writes.of(account, WRITES_AT_ONCE)) {
        if (isStopped || !(await deliverOne(waiting))) break;
      }
    }
  }
  const deliver = (): Promise<void> => {
    delivering ??= deliverAll().finally(() => {
      delivering = undefined;
    });
    return delivering;
  };

  return {
    behind,
    deliver,
    catchUp,
    async start() {
      for (const account of await writes.behindAccounts()) behind.add(account);
      timer ??= setInterval(() => deliver().catch(failed), LOOK_EVERY_MS).unref();
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await delivering?.catch(() => {});
    },
  };
}
