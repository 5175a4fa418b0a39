import { type Counted, EXAMPLES_MAX, type Example, latencyStep } from '../stages/counts.ts';

/**
 * Counts what happened until the counts are written to the database. There is one number for each
 * operation, protocol and name, so memory does not grow with the calls.
 */
export interface OperationKey {
  readonly operation: string;
  readonly protocol: string;
}

/** The key of a call. */
export const keyOf = (call: {
  readonly group: string;
  readonly operation: string;
  readonly protocol: string;
}): OperationKey => ({
  operation: `${call.group}.${call.operation}`,
  protocol: call.protocol,
});

export interface PendingCounts {
  add(key: OperationKey, name: string, example?: string): void;
  /** Adds the milliseconds of one server. */
  addLatency(key: OperationKey, side: 'old' | 'our', ms: number): void;
  /** Writes the counts since the last time. If that fails, they stay for the next time. */
  flush(): Promise<void>;
  /** The counts of this process since its start, by name. */
  readonly sinceStart: ReadonlyMap<string, number>;
}

/** 32 operations in 4 protocols, with outcomes, known differences and latencies. */
const KEYS_MAX = 20_000;

export function createPendingCounts(
  write: (counts: readonly Counted[], examples: readonly Example[]) => Promise<void>,
  now: () => number,
): PendingCounts {
  let counts = new Map<string, { -readonly [K in keyof Counted]: Counted[K] }>();
  let examples = new Map<string, Example[]>();
  const sinceStart = new Map<string, number>();

  function add({ operation, protocol }: OperationKey, name: string, total: number): string {
    const key = `${operation}\n${protocol}\n${name}`;
    const found = counts.get(key);
    if (found) found.total += total;
    else if (counts.size < KEYS_MAX) counts.set(key, { operation, protocol, name, total });
    return key;
  }

  return {
    sinceStart,
    add({ operation, protocol }, name, example) {
      const key = add({ operation, protocol }, name, 1);
      sinceStart.set(name, (sinceStart.get(name) ?? 0) + 1);
      if (example === undefined) return;
      const kept = examples.get(key) ?? [];
      if (kept.length < EXAMPLES_MAX) examples.set(key, [...kept, { operation, protocol, name, example, at: now() }]);
    },
    addLatency(key, side, ms) {
      add(key, `${side} ms ${latencyStep(ms)}`, 1);
    },
    async flush() {
      if (counts.size === 0) return;
      const [taken, shown] = [counts, examples];
      counts = new Map();
      examples = new Map();
      try {
        await write([...taken.values()], [...shown.values()].flat());
      } catch (thrown) {
        for (const { operation, protocol, name, total } of taken.values()) add({ operation, protocol }, name, total);
        throw thrown;
      }
    },
  };
}
