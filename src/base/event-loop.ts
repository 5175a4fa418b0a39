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
 * For a simulator: in which order processes take turns, and when long work pauses, depends on how
 * fast the machine is, and a history must not. So a simulator takes the place of the event loop.
 * Nothing in src/ does that; the tidy test holds it.
 */
export interface Turns {
  readonly afterPoll: (work: () => void) => void;
  /** Asked wherever long work may pause; undefined where it goes on. */
  readonly pause: () => Promise<void> | undefined;
}

const SYSTEM: Pick<Turns, 'afterPoll'> = { afterPoll: setImmediate };
let replaced: Turns | undefined;

/** The returned function gives the event loop its place back. */
export function replaceTurns(turns: Turns): () => void {
  replaced = turns;
  return () => {
    replaced = undefined;
  };
}

/**
 * For long work in steps: await the function between two steps. Where they took longer than
 * `afterMs` since the last pause, the event loop serves its sockets first. With `afterMsMax` the
 * steps may take as long as that pause, up to this. So under load they get half of the time, unless
 * turns are longer.
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
 * Work that may take `ms` of each turn in all, whoever asks for it. Work that has begun is
 * completed; the returned function lets what comes after it wait for a later turn. It begins the
 * work right after its check, because a synchronous read must count before the next check.
 */
export function createTurnBudget(ms: number): <T>(work: () => Promise<T>) => Promise<T> {
  let startedAt: number | undefined;
  const endTurn = () => {
    startedAt = undefined;
  };
  const isSpent = () => startedAt !== undefined && performance.now() - startedAt > ms && !replaced;
  return async (work) => {
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
 * Resolves in a turn that no other caller gets. All long responses together make one piece per
 * turn, so that short calls never wait for many of them.
 */
export function exclusiveTurn(): Promise<unknown> {
  lastExclusive = lastExclusive.then(nextTurn);
  return lastExclusive;
}

/** The same items, with an exclusive turn after each. */
export async function* oneEachTurn<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const item of items) {
    yield item;
    await exclusiveTurn();
  }
}
