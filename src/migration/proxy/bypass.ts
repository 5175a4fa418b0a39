import { BoundedMap } from '../../base/bounded-map.ts';
import { type Clock, within } from '../../base/clock.ts';
import type { MigrationDatabase } from '../copy/database.ts';
import type { Syncs } from '../copy/syncs.ts';
import { createMigrationBypass } from '../stages/bypass.ts';
import type { StageCache } from './stage-cache.ts';

/**
 * Brings accounts up to date after clients called the old server without Columba: whole, with
 * contacts, groups, templates and marks. Until then the old server answers.
 */
export interface Bypass {
  /** Whether Columba has what was changed meanwhile. If not, a copy begins, and it waits for it. */
  isCurrent(account: bigint | null, userId: string | null): Promise<boolean>;
  /** A call of an account that is compared. Returns at once: the old server answers it. */
  compareSoon(account: bigint | null, userId: string): void;
  /** At the start: a proxy that was killed while it passed calls on has left no end. */
  recover(): Promise<void>;
  /** Everything goes to the old server from now on, or as the stages say. */
  setPassThrough(isOn: boolean): Promise<void>;
}

export interface BypassSettings {
  readonly database: MigrationDatabase;
  /** The same after a restart: a proxy ends what it began before it was killed. */
  readonly name: string;
  readonly stages: Pick<StageCache, 'bypass' | 'isBypassOpen' | 'refresh'>;
  /** Undefined: nobody brings anything over. */
  readonly syncs: Pick<Syncs, 'touch' | 'whole'> | undefined;
  readonly clock: Clock;
  readonly failed: (thrown: unknown) => void;
}

/** A client waits no longer: the old server answers it. */
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
  /** This proxy passes calls on, or the database does not know yet that it no longer does. */
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
    // What is copied now would lack what clients change after that.
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
        // The accounts are copied after the last call that was passed on.
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
