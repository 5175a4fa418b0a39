import type { SubmitResult } from '../connector.ts';

/** `no route` is a refusal whose reason comes in a receipt. */
export type BoxAnswer = SubmitResult | 'no route';

/** Submissions that were sent to bearerbox and that it has not acknowledged yet. */
export interface Unanswered {
  /** Resolves with the answer to a submission. An abort gives it an unknown outcome. */
  answerTo(id: string, signal: AbortSignal): Promise<BoxAnswer>;
  settle(id: string, answer: BoxAnswer): void;
  settleAll(answer: BoxAnswer): void;
  readonly size: number;
  /** Adds a tick to the age of all submissions, and returns the age of the oldest. */
  tick(): number;
}

interface Waiting {
  readonly settle: (answer: BoxAnswer) => void;
  /** The age in ticks, so that jumps of the wall clock do not matter. */
  age: number;
}

export function createUnanswered(): Unanswered {
  const waiting = new Map<string, Waiting>();

  function settle(id: string, answer: BoxAnswer): void {
    const entry = waiting.get(id);
    waiting.delete(id);
    entry?.settle(answer);
  }

  return {
    answerTo(id, signal) {
      const { promise, resolve } = Promise.withResolvers<BoxAnswer>();
      const aborted = () => settle(id, { kind: 'unknown-outcome', reason: 'aborted after it was sent' });
      signal.addEventListener('abort', aborted, { once: true });
      waiting.set(id, {
        age: 0,
        settle(answer) {
          signal.removeEventListener('abort', aborted);
          resolve(answer);
        },
      });
      return promise;
    },
    settle,
    settleAll(answer) {
      for (const id of [...waiting.keys()]) settle(id, answer);
    },
    get size() {
      return waiting.size;
    },
    tick() {
      let oldest = 0;
      for (const entry of waiting.values()) oldest = Math.max(oldest, ++entry.age);
      return oldest;
    },
  };
}
