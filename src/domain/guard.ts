/**
 * Counts failed identifications per client address and slows down the answers to more of them, so that guessing a user_id
 * does not pay. Only failures wait: who is known behind the same address never does.
 */
export interface Guard {
  /** Resolves when the failure may be answered. */
  failed(client: string): Promise<void>;
}

// A program with an outdated user_id fails a few times before a person looks at it: those are free.
const FREE_FAILURES = 10;
const DELAY_FIRST_MS = 100;
const DELAY_MAX_MS = 2_000;
const FORGET_AFTER_MS = 60_000;
const CLIENTS_MAX = 10_000;

export function createGuard(now: () => number, sleep: (ms: number) => Promise<void>): Guard {
  const clients = new Map<string, { failures: number; lastAt: number }>();

  return {
    async failed(client) {
      const before = clients.get(client);
      const remembered = before && now() - before.lastAt < FORGET_AFTER_MS ? before.failures : 0;
      const failures = remembered + 1;
      clients.delete(client); // and back in at the end: the first of the map is the one that failed longest ago
      clients.set(client, { failures, lastAt: now() });
      if (clients.size > CLIENTS_MAX) clients.delete(clients.keys().next().value as string);

      const beyond = failures - FREE_FAILURES;
      if (beyond > 0) await sleep(Math.min(DELAY_FIRST_MS * 2 ** (beyond - 1), DELAY_MAX_MS));
    },
  };
}
