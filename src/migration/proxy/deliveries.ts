import { backOffMs } from '../../base/back-off.ts';
import { createRepeat } from '../../base/repeat.ts';
import { booleanResult } from '../compare/compare.ts';
import type { OldServer } from '../old-server/old-server.ts';
import { isTemporary, type Upstream } from '../old-server/upstream.ts';
import type { WaitingWrite } from '../stages/writes.ts';
import { type CatchingUp, type CatchUpSettings, createCatchingUp, whileHeld } from './catch-up.ts';
import { bodyOfWrite, openWrite, type SealedWrite, withoutClient, writeOfAll } from './sealed-write.ts';

/** Gives each server the writes that the other server has done, in the order of the account. */
export interface Deliveries extends CatchingUp {
  /** Delivers the writes that are due. */
  deliver(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface DeliverySettings extends CatchUpSettings {
  readonly old: Pick<Upstream, 'exchange'>;
  /** Calls by the contract, for the single deletes that replace a delete of all. */
  readonly oldCalls: Pick<OldServer, 'call'>;
}

const LOOK_EVERY_MS = 500;
const ACCOUNTS_AT_ONCE = 20;
const WRITES_AT_ONCE = 100;
const PAUSE_FIRST_MS = 1_000;
const PAUSE_MS_MAX = 60_000;
const COLUMBA_PAUSE_MS = 1_000;

export function createDeliveries(settings: DeliverySettings): Deliveries {
  const { writes, seal, availability, pendingCounts, clock, failed } = settings;
  const catching = createCatchingUp(settings);
  const { behind } = catching;
  let delivering: Promise<void> | undefined;

  /** Returns whether the account's next write can follow. */
  async function deliverOne(waiting: WaitingWrite): Promise<boolean> {
    const { account, id, attempts, state } = waiting;
    const isForColumba = state === 'behind' || state === 'asked';
    if (isForColumba && !availability.isDown) return catching.catchUp(account);
    if (!(await writes.claim(account, id))) return false;
    if (isForColumba || (state === 'begun' && availability.isDown)) {
      await writes.postpone(account, id, isForColumba ? 0 : COLUMBA_PAUSE_MS);
      return false;
    }
    const sealed = openWrite(seal, waiting);
    const key = { operation: waiting.operation, protocol: sealed.protocol };
    const giving = () => (state === 'begun' ? giveToBoth(settings, sealed) : giveToOld(settings, sealed));
    const isTaken = await whileHeld(settings, waiting, giving).catch(failed);
    if (isTaken === undefined) {
      await writes.postpone(account, id, backOffMs(attempts + 1, PAUSE_FIRST_MS, PAUSE_MS_MAX));
      pendingCounts.add(key, 'old write postponed');
      return false;
    }
    await writes.remove(account, id);
    if (isTaken !== null) pendingCounts.add(key, isTaken ? 'old write' : 'old write refused');
    return true;
  }

  async function deliverAll(): Promise<void> {
    for (const account of await writes.behindAccounts()) behind.add(account);
    for (const account of await writes.dueAccounts(ACCOUNTS_AT_ONCE)) {
      let needsSync = false;
      for (const waiting of await writes.of(account, WRITES_AT_ONCE)) {
        if (deliveries.isStopping()) return;
        if (await deliverOne(waiting)) continue;
        // A whole sync decides, which waits until the old server has the later writes.
        needsSync ||= waiting.state === 'asked';
        if (!needsSync || waiting.state === 'begun' || waiting.state === 'due') break;
      }
    }
  }
  const deliver = (): Promise<void> => {
    delivering ??= deliverAll().finally(() => {
      delivering = undefined;
    });
    return delivering;
  };

  const deliveries = createRepeat({ clock, everyMs: LOOK_EVERY_MS, work: deliver, failed });

  return {
    ...catching,
    deliver,
    async start() {
      for (const account of await writes.behindAccounts()) behind.add(account);
      deliveries.start();
    },
    async stop() {
      await deliveries.stop();
      await delivering?.catch(() => {});
    },
  };
}

/**
 * The process ended before it knew the answer of Columba. The client wanted the write, so both
 * servers are asked; Columba answers false to a write that it has done before, such as a deletion.
 * Returns null for a delete of all, which nobody repeats, because it would delete what has arrived
 * since.
 */
async function giveToBoth(settings: DeliverySettings, sealed: SealedWrite): Promise<boolean | null | undefined> {
  if (writeOfAll(sealed)) return null;
  const answer = await settings.columba.exchange(sealed, bodyOfWrite(sealed));
  if (isTemporary(answer.status)) return undefined;
  return booleanResult(sealed, answer, settings.compare) === undefined ? null : giveToOld(settings, sealed);
}

/** Returns the answer of the old server; undefined without an answer. */
async function giveToOld(settings: DeliverySettings, sealed: SealedWrite): Promise<boolean | undefined> {
  const { group, ids, userId } = sealed;
  const all = writeOfAll(sealed);
  if (!all || ids === undefined) {
    const answer = await settings.old.exchange(withoutClient(sealed), bodyOfWrite(sealed));
    return booleanResult(sealed, answer, settings.compare);
  }
  for (const id of ids) {
    const { result } = await settings.oldCalls.call(group, all.each, { user_id: userId, message_id: id });
    if (result.kind !== 'value') return undefined;
  }
  return true;
}
