import { nextTurn } from '../base/event-loop.ts';
import { Problem } from '../base/problem.ts';
import { createSemaphore } from '../base/semaphore.ts';

/**
 * Limits how many pages of the console a process makes at a time. Calls of the contract come first:
 * a page waits while they wait, and is refused when they would be. Pages beyond the queue are
 * refused too.
 */
const PAGES_AT_ONCE = 8;
const PAGES_WAITING_MAX = 200;
/** How long a page waits for calls of the contract. */
const PAGE_WAIT_MAX_MS = 2_000;
const PAUSE_MS = 5;

/** The load as the load shedding of the contract sees it. */
export type ContractLoad = () => 'free' | 'behind' | 'overloaded';

export interface PageSemaphoreSettings {
  readonly contractLoad?: ContractLoad;
  readonly atOnce?: number;
  readonly waitingMax?: number;
  readonly sleep: (ms: number) => Promise<void>;
}

const busy = () => new Problem('too-many', 'The service is busy. Try again in 5 s.', { retryAfterSeconds: 5 });

/** Throws if a call of the contract would be refused now. */
export function checkLoad(contractLoad: ContractLoad): void {
  if (contractLoad() === 'overloaded') throw busy();
}

export function createPageSemaphore({
  contractLoad = () => 'free',
  atOnce = PAGES_AT_ONCE,
  waitingMax = PAGES_WAITING_MAX,
  sleep,
}: PageSemaphoreSettings) {
  const pages = createSemaphore(atOnce);

  /** Waits until no call of the contract waits. */
  async function ourTurn(): Promise<void> {
    await nextTurn();
    for (let waitedMs = 0; contractLoad() !== 'free'; waitedMs += PAUSE_MS) {
      checkLoad(contractLoad);
      if (waitedMs >= PAGE_WAIT_MAX_MS) throw busy();
      await sleep(PAUSE_MS);
    }
  }

  return async function whenAdmitted<T>(work: () => Promise<T>): Promise<T> {
    if (pages.waiting >= waitingMax) throw busy();
    return pages.run(async () => {
      await ourTurn();
      return work();
    });
  };
}
