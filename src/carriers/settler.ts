import { nextTurn } from '../base/event-loop.ts';
import { isOutage, isUnavailable } from '../base/problem.ts';
import type { Settlement, Settling } from '../domain/sending/settle.ts';
import { NO_THROTTLE, type Throttle } from './throttle.ts';

/**
 * Collects the results of submissions and settles them in batches: while one batch is being
 * written, the next one gathers.
 */
export interface Settler {
  /** Resolves when the result is on disk, or in quarantine because it cannot be settled. */
  add(settlement: Settlement): Promise<void>;
  /** Resolves when no result waits. */
  empty(): Promise<void>;
  /**
   * Resolves when the results that have come so far are on disk, or are settled apart. Undefined if
   * none waits.
   */
  written(): Promise<void> | undefined;
}

interface Waiting {
  readonly settlement: Settlement;
  readonly resolve: () => void;
}

// The size of a batch bounds how long a transaction delays the calls of its accounts.
const BATCH_MAX = 500;
const RETRY_MS = 1_000;

// A conflict may pass, but an account that fails this often alone fails permanently.
const TRIES_ALONE_MAX = 3;

/**
 * While the database does not answer, a batch is tried again, because its results are known nowhere
 * else. If the database refuses a batch, or an account of it is locked, each account is settled
 * alone, so that one account whose results cannot be written delays no other.
 */
export function createSettler(
  settling: Settling,
  sleep: (ms: number) => Promise<void>,
  failed: (thrown: unknown) => void,
  throttle: Throttle = NO_THROTTLE,
): Settler {
  const waiting: Waiting[] = [];
  /** Accounts that are settled alone, with the results that wait for each. */
  const apart = new Map<bigint, Waiting[]>();
  const alone = new Set<Promise<void>>();
  let running: Promise<void> | undefined;
  /** For those who wait for the results in `waiting`, and in the batch that is being written. */
  let next = Promise.withResolvers<void>();
  let current = next;

  /**
   * Returns the error with which the database refused the work, or undefined. It tries again while
   * the error is one that passes.
   */
  async function attempted(work: () => Promise<void>, isPassing = isUnavailable): Promise<unknown> {
    for (;;) {
      try {
        await work();
        return undefined;
      } catch (thrown) {
        failed(thrown);
        if (!isPassing(thrown)) return thrown ?? new Error('the database refused the result');
        await sleep(RETRY_MS);
      }
    }
  }

  async function settleAll(): Promise<void> {
    while (waiting.length > 0) {
      await throttle();
      await nextTurn(); // results of this turn join the batch
      const batch = waiting.splice(0, BATCH_MAX);
      current = next;
      if (waiting.length === 0) next = Promise.withResolvers();
      const thrown = await attempted(() => settling.settle(settlementsOf(batch)), isOutage);
      if (thrown === undefined) for (const { resolve } of batch) resolve();
      else settleApart(batch);
      if (next !== current) current.resolve();
    }
    running = undefined;
  }

  /** Later batches do not wait for these results, and contain none of their accounts. */
  function settleApart(batch: readonly Waiting[]): void {
    for (const [account, own] of Map.groupBy(batch, ({ settlement }) => settlement.message.account)) {
      apart.set(account, own);
      const settled = settleAccount(account, own).finally(() => alone.delete(settled));
      alone.add(settled);
    }
  }

  async function settleAccount(account: bigint, own: Waiting[]): Promise<void> {
    while (own.length > 0) {
      const some = own.splice(0, BATCH_MAX);
      await settleAlone(settlementsOf(some));
      for (const { resolve } of some) resolve();
    }
    apart.delete(account);
  }

  /** Results that cannot be settled are left to an operator, and are not submitted again. */
  async function settleAlone(own: readonly Settlement[]): Promise<void> {
    for (let tries = 1; tries <= TRIES_ALONE_MAX; tries++) {
      if ((await attempted(() => settling.settle(own))) === undefined) return;
      if (tries < TRIES_ALONE_MAX) await sleep(RETRY_MS);
    }
    await attempted(() => settling.quarantine(own)); // if this fails too, the leases run out
  }

  return {
    add: (settlement) =>
      new Promise((resolve) => {
        const own = apart.get(settlement.message.account);
        (own ?? waiting).push({ settlement, resolve });
        if (!own) running ??= settleAll();
      }),
    written: () => (waiting.length > 0 ? next.promise : running && current.promise),
    async empty() {
      while (running || alone.size > 0) await Promise.all([running, ...alone]);
    },
  };
}

const settlementsOf = (waiting: readonly Waiting[]): Settlement[] => waiting.map(({ settlement }) => settlement);
