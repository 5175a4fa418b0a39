import { BoundedMap } from '../bounded-map.ts';
import type { MigrationBypass } from '../domain/migration-bypass.ts';
import type { ReverseProxy } from './proxy.ts';
import type { StageCache } from './stage-cache.ts';
import type { Sync } from './syncs.ts';

/**
 * Brings accounts up to date after clients called the old server without Columba: whole, with
 * contacts, groups, templates and marks. Until then the old server answers.
 */
export interface Bypass {
  /** Whether Columba has what was changed meanwhile. If not, a copy begins, and it waits for it. */
  isCurrent(account: bigint | null, userId: string | null): Promise<boolean>;
  /** Everything goes to the old server from now on, or as the stages say. */
  setPassThrough(isOn: boolean): Promise<void>;
}

export interface BypassSettings {
  readonly bypass: MigrationBypass;
  readonly stages: Pick<StageCache, 'bypass' | 'refresh'>;
  /** Waits for the lane of the account. Undefined: nobody brings anything over. */
  readonly sync: Sync | undefined;
  readonly sleep: (ms: number) => Promise<void>;
  readonly now: () => number;
  readonly failed: (thrown: unknown) => void;
}

/** A client waits no longer: the old server answers it. */
const COPY_MS_MAX = 2_000;
const AGAIN_AFTER_MS = 1_000;
const ACCOUNTS_MAX = 10_000;

export function createBypass(settings: BypassSettings, proxy: () => Pick<ReverseProxy, 'isPassThrough'>): Bypass {
  const { bypass, stages, sync, sleep, now, failed } = settings;
  const copied = new BoundedMap<bigint, string>(ACCOUNTS_MAX);
  const failedAt = new BoundedMap<bigint, number>(ACCOUNTS_MAX);
  const running = new Map<bigint, Promise<boolean>>();

  async function copy(account: bigint, userId: string, name: string): Promise<boolean> {
    if (!(await bypass.isCopied(account, name))) {
      if (now() - (failedAt.get(account) ?? 0) < AGAIN_AFTER_MS) return false;
      await sync?.(userId, { everything: true });
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

  return {
    async isCurrent(account, userId) {
      const name = stages.bypass;
      if (name === null || account === null || copied.get(account) === name) return true;
      if (userId === null) return false;
      return Promise.race([copyOnce(account, userId, name), waited(COPY_MS_MAX)]);
    },
    async setPassThrough(isOn) {
      if (!isOn) {
        // In the database first: a kill between both would hide what clients changed.
        await bypass.end();
        await stages.refresh();
        proxy().isPassThrough = false;
        return;
      }
      proxy().isPassThrough = true;
      while (proxy().isPassThrough) {
        const isNoted = await bypass.begin().then(() => true, failed);
        if (isNoted) return;
        await sleep(AGAIN_AFTER_MS);
      }
    },
  };
}

const waited = (ms: number): Promise<false> => new Promise((resolve) => setTimeout(() => resolve(false), ms).unref());
