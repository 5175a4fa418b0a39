import { nextTurn } from '../base/event-loop.ts';
import { isOutage, isUnavailable } from '../base/problem.ts';
import type { Settlement, Settling } from '../domain/sending/settle.ts';
import { NO_PACE, type Pace } from './pace.ts';

/**
 * Collects what became of submissions and settles it in batches: while one batch is being written,
 * the next one gathers.
 */
export interface Settler {
  /** Resolves when it is on disk, or in quarantine because its account cannot be settled. */
  add(settlement: Settlement): Promise<void>;
  /** Resolves when nothing waits. */
  empty(): Promise<void>;
}

interface Waiting {
  readonly settlement: Settlement;
  readonly resolve: () => void;
}

// Bounds how long a transaction holds up the calls of its accounts.
const BATCH_MAX = 500;
const RETRY_MS = 1_000;

// A conflict may pass; what fails so often alone fails for good.
const TRIES_ALONE_MAX = 3;

/**
 * While the database does not answer, a batch is tried again: its results are known nowhere else.
 * Where the database refuses a batch, or an account of it is locked, each account is settled alone.
 * So one account whose results cannot be written keeps back no other.
 */
export function createSettler(
  settling: Settling,
  sleep: (ms: number) => Promise<void>,
  failed: (thrown: unknown) => void,
  pace: Pace = NO_PACE,
): Settler {
  const waiting: Waiting[] = [];
  /** Accounts that are settled alone, with what waits for each. */
  const apart = new Map<bigint, Waiting[]>();
  const alone = new Set<Promise<void>>();
  const attempted = createAttempted(sleep, failed);
  let running: Promise<void> | undefined;

  async function settleAll(): Promise<void> {
    while (waiting.length > 0) {
      await pace();
      await nextTurn(); // results of this turn come along
      const batch = waiting.splice(0, BATCH_MAX);
      const thrown = await attempted(() => settling.settle(settlementsOf(batch)), isOutage);
      if (thrown === undefined) for (const { resolve } of batch) resolve();
      else settleApart(batch);
    }
    running = undefined;
  }

  /** Later batches do not wait for these, and have nothing of their accounts. */
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

  /** An account that cannot be settled is left to an operator: nothing of it is submitted again. */
  async function settleAlone(own: readonly Settlement[]): Promise<void> {
    for (let tries = 1; tries <= TRIES_ALONE_MAX; tries++) {
      if ((await attempted(() => settling.settle(own))) === undefined) return;
      if (tries < TRIES_ALONE_MAX) await sleep(RETRY_MS);
    }
    await attempted(() => settling.quarantine(own)); // else the lease runs out
  }

  return {
    add: (settlement) =>
      new Promise((resolve) => {
        const own = apart.get(settlement.message.account);
        (own ?? waiting).push({ settlement, resolve });
        if (!own) running ??= settleAll();
      }),
    async empty() {
      while (running || alone.size > 0) await Promise.all([running, ...alone]);
    },
  };
}

/** What the database refused, if it did. Waits for as long as the reason is one that passes. */
type Attempted = (work: () => Promise<void>, isPassing?: (thrown: unknown) => boolean) => Promise<unknown>;

function createAttempted(sleep: (ms: number) => Promise<void>, failed: (thrown: unknown) => void): Attempted {
  return async (work, isPassing = isUnavailable) => {
    for (;;) {
      try {
        await work();
        return undefined;
      } catch (thrown) {
        failed(thrown);
        if (!isPassing(thrown)) return thrown ?? new Error('the database refused it');
        await sleep(RETRY_MS);
      }
    }
  };
}

const settlementsOf = (waiting: readonly Waiting[]): Settlement[] => waiting.map(({ settlement }) => settlement);
