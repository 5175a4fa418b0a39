import { setImmediate as nextTurn } from 'node:timers/promises';
import { Problem } from '../problem.ts';

/**
 * How many pages of the console a process makes at a time. Calls of the contract come first: a page
 * waits for a turn of the event loop. Pages beyond the queue are refused.
 */
export const PAGES_AT_ONCE = 8;
export const PAGES_WAITING_MAX = 200;

export function createSlots(atOnce = PAGES_AT_ONCE, waitingMax = PAGES_WAITING_MAX) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async function inSlot<T>(work: () => Promise<T>): Promise<T> {
    if (running >= atOnce) {
      if (waiting.length >= waitingMax) {
        throw new Problem('too-many', 'The console is busy. Try again in 5 s.', { retryAfterSeconds: 5 });
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      await nextTurn();
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
