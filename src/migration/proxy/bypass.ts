import { BoundedMap } from '../../base/bounded-map.ts';
import { type Clock, within } from '../../base/clock.ts';
import type { MigrationDatabase } from '../copy/database.ts';
import type { Syncs } from '../copy/syncs.ts';
import { createMigrationBypass } from '../stages/bypass.ts';
import type { StageCache } from './stage-cache.ts';

/**
 * Copies accounts whole, with contacts, groups, templates and marks, after clients called the old
 * server without Columba. Until then the old server answers.
 */
export interface Bypass {
  /** Whether Columba has what was changed meanwhile. If not, it starts a copy and waits for it. */
  isCurrent(account: bigint | null, userId: string | null): Promise<boolean>;
  /** Called for a call of an account that is compared. Returns at once: the old server answers. */
  compareSoon(account: bigint | null, userId: string): void;
  /** Called at the start: a proxy that was killed while it passed calls on left it open. */
  recover(): Promise<void>;
  /** Sends everything to the old server from now on, or follows the stages again. */
  setPassThrough(isOn: boolean): Promise<void>;
}

export interface BypassSettings {
  readonly database: MigrationDatabase;
  /** The same after a restart, so that a proxy ends what it began before it was killed. */
  readonly name: string;
  readonly stages: Pick<StageCache, 'bypass' | 'isBypassOpen' | 'refresh'>;
  /** Undefined if nothing is copied. */
  readonly syncs: Pick<Syncs, 'touch' | 'whole'> | undefined;
  readonly clock: Clock;
  readonly failed: (thrown: unknown) => void;
}

/** A client waits no longer than this; then the old server answers. */
const COPY_MS_MAX = 2_000;
const AGAIN_AFTER_MS = 1_000;
const ACCOUNTS_MAX = 10_000;

export function createBypass(settings: BypassSettings, proxy: () => { isPassThrough: boolean }): Bypass {
  const { name: ownName, stages, syncs, clock, failed } = settings;
  const { now } = clock;
  const bypass = createMigrationBypass(settings.database, now);
  const copied = new BoundedMap<bigint, string>(ACCOUNTS_MAX);
  const failedAt = new BoundedMap<bigint, number>(ACCOUNTS_MAX);
  const running = new Map<bigint, Promise<boolean>>();
  /** Whether this proxy passes calls on, or the database does not know yet that it stopped. */
  let isOpen = false;

  async function copy(account: bigint, userId: string, name: string): Promise<boolean> {
    if (!(await bypass.isCopied(account, name))) {
      if (now() - (failedAt.get(account) ?? 0) < AGAIN_AFTER_MS) return false;
      await syncs?.whole(userId, { everything: true });
      await bypass.noteCopied(account, name);
    }
    copied.set(account, name);
    return true;
  }
  function copyOnce(account: bigint, userId: string, name: string): Promise<boolean> {
    const found = running.get(account);
    if (found) return found;
    const started = copy(account, userId, name)
      .catch((thrown) => {
        failedAt.set(account, now());
        failed(thrown);
        return false;
      })
      .finally(() => running.delete(account));
    running.set(account, started);
    return started;
  }

  async function isCurrent(account: bigint | null, userId: string | null): Promise<boolean> {
    const name = stages.bypass;
    // A copy made now would lack what clients change later.
    if (isOpen || stages.isBypassOpen) return false;
    if (name === null || account === null || copied.get(account) === name) return true;
    if (userId === null) return false;
    return within(clock, COPY_MS_MAX, copyOnce(account, userId, name), false, { background: true });
  }

  return {
    isCurrent,
    compareSoon(account, userId) {
      syncs?.touch(userId);
      isCurrent(account, userId).catch(failed);
    },
    recover: () => bypass.recover(ownName),
    async setPassThrough(isOn) {
      if (!isOn) {
        // The end is stored after the last call that was passed on, and accounts are copied then.
        proxy().isPassThrough = false;
        try {
          await bypass.end(ownName);
        } catch (thrown) {
          proxy().isPassThrough = true;
          throw thrown;
        }
        await stages.refresh();
        isOpen = false;
        return;
      }
      isOpen = true;
      proxy().isPassThrough = true;
      while (proxy().isPassThrough) {
        const isNoted = await bypass.begin(ownName).then(() => true, failed);
        if (isNoted) return;
        await clock.sleep(AGAIN_AFTER_MS, undefined, { background: true });
      }
    },
  };
}
