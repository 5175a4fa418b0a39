/**
 * Turns of the event loop. One turn runs timers, then the poll phase with all socket events, then
 * the setImmediate callbacks. A setImmediate callback set during the poll phase runs after all
 * socket events of that poll. It runs before the next poll.
 */

let turn = 0;
let isCounted = false;

const endTurn = (): void => {
  isCounted = false;
};

/** The number of this turn of the event loop; it grows and is never used again. */
export function turnNumber(): number {
  if (isCounted) return turn;
  isCounted = true;
  setImmediate(endTurn);
  turn += 1;
  return turn;
}

/** Runs the work after all socket events of this turn. */
export const afterPoll = (work: () => void): void => void (replaced ?? SYSTEM).afterPoll(work);

/** Resolves after all socket events of this turn. */
export const nextTurn = (): Promise<void> => new Promise(afterPoll);

/**
 * For a simulator, which replaces the event loop: the order in which processes take turns, and when
 * long work pauses, depend on the speed of the machine, and a simulated history must not. Nothing
 * in src/ uses this; the tidy test checks that.
 */
export interface Turns {
  readonly afterPoll: (work: () => void) => void;
  /** Called wherever long work may pause; undefined to continue without a pause. */
  readonly pause: () => Promise<void> | undefined;
}

const SYSTEM: Pick<Turns, 'afterPoll'> = { afterPoll: setImmediate };
let replaced: Turns | undefined;

/** The returned function restores the event loop. */
export function replaceTurns(turns: Turns): () => void {
  replaced = turns;
  return () => {
    replaced = undefined;
  };
}

/**
 * For long work in steps: await the returned function between two steps. If the steps took longer
 * than `afterMs` since the last pause, the event loop serves its sockets first. With `afterMsMax`,
 * the next steps may take as long as that pause took, up to this limit, so that under load the work
 * gets half of the time.
 */
export function createPauses(afterMs: number, afterMsMax = afterMs): () => Promise<void> | undefined {
  let since = performance.now();
  let mayTakeMs = afterMs;
  return () => {
    if (replaced) return replaced.pause();
    const pausedAt = performance.now();
    if (pausedAt - since < mayTakeMs) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
      mayTakeMs = Math.min(Math.max(afterMs, since - pausedAt), afterMsMax);
    });
  };
}

/**
 * Limits certain work to `ms` of each turn in total, for all callers. Work that has begun is
 * completed; when the budget is used up, the returned function delays further work to a later turn.
 * It starts the work right after its check, because a synchronous read must count before the next
 * check.
 */
export function createTurnBudget(ms: number): <T>(work: () => Promise<T>) => Promise<T> {
  let startedAt: number | undefined;
  const endTurn = () => {
    startedAt = undefined;
  };
  const isSpent = () => startedAt !== undefined && performance.now() - startedAt > ms;
  return async (work) => {
    if (replaced) return work();
    while (isSpent()) await nextTurn();
    if (startedAt === undefined) {
      startedAt = performance.now();
      afterPoll(endTurn);
    }
    return work();
  };
}

let lastExclusive: Promise<unknown> = Promise.resolve();

/**
 * Resolves in a turn that no other caller gets. All long responses together produce one piece per
 * turn, so that short calls never wait for many of them.
 */
export function exclusiveTurn(): Promise<unknown> {
  // A simulated process that ends never takes its turn, and others must not wait for it.
  if (replaced) return nextTurn();
  lastExclusive = lastExclusive.then(nextTurn);
  return lastExclusive;
}

/** Yields the items, with an exclusive turn after each. */
export async function* oneEachTurn<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const item of items) {
    yield item;
    await exclusiveTurn();
  }
}
