import { hash } from 'node:crypto';
import { backOffMs } from '../../base/back-off.ts';
import { customerNetwork } from '../../base/networks.ts';
import { Problem } from '../../base/problem.ts';
import { createSemaphore, type Semaphore } from '../../base/semaphore.ts';
import type { Database } from '../../store/database.ts';
import * as sql from './sign-in.sql.ts';

/**
 * Counts wrong passwords and codes in the database, and so for all processes. Nobody can lock out
 * somebody else: only the pair of a name and a network is refused for a while. Other sign-ins with
 * the same name, or from the same network, are delayed by a few seconds.
 */
export interface Attempt {
  /** Whom somebody wants to be, such as `password operator ann`. */
  readonly subject: string;
  readonly address: string;
}

/** How many attempts of a pair may be wrong without a pause. */
export const FREE_FAILURES = 5;
const PAUSE_FIRST_MS = 1_000;
const PAUSE_MAX_MS = 15 * 60_000;
/** How many attempts with one name, or from one network, may be wrong without a delay. */
const UNDELAYED_FAILURES = 10;
const DELAY_STEP_MS = 250;
const DELAY_MAX_MS = 5_000;
/** Failures are forgotten after a day without another failure. */
const REMEMBERED_MS = 24 * 3_600_000;
const REMOVED_AT_ONCE = 100;

const keyOf = (...parts: string[]): string => hash('sha256', parts.join('\0'));
const networkOf = (address: string): string => customerNetwork(address) || address;

const keysOf = ({ subject, address }: Attempt) => ({
  pair: keyOf('pair', subject, networkOf(address)),
  subject: keyOf('subject', subject),
  network: keyOf('network', networkOf(address)),
});

async function failures(database: Database, key: string, now: number): Promise<{ count: number; at: number }> {
  const row = await database.first(sql.failuresOf, { hash: key });
  if (!row || Number(row.failed_at) < now - REMEMBERED_MS) return { count: 0, at: 0 };
  return { count: Number(row.failures), at: Number(row.failed_at) };
}

/** Throws Problem `too-many` while the pair of name and network has to wait. */
export async function checkPause(database: Database, attempt: Attempt, now: number): Promise<void> {
  const { count, at } = await failures(database, keysOf(attempt).pair, now);
  if (count < FREE_FAILURES) return;
  const pauseMs = backOffMs(count - FREE_FAILURES + 1, PAUSE_FIRST_MS, PAUSE_MAX_MS);
  const waitMs = at + pauseMs - now;
  if (waitMs <= 0) return;
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  throw new Problem('too-many', `Too many attempts. Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}

/** How long an attempt is delayed: long enough to slow down guessing, bearable for others. */
export async function delayOf(database: Database, attempt: Attempt, now: number): Promise<number> {
  const { subject, network } = keysOf(attempt);
  const counts = [await failures(database, subject, now), await failures(database, network, now)];
  const most = Math.max(...counts.map(({ count }) => count));
  return Math.min(Math.max(0, most - UNDELAYED_FAILURES) * DELAY_STEP_MS, DELAY_MAX_MS);
}

/**
 * Counts an attempt before the password is checked, so that simultaneous attempts count too.
 * Returns the number of failures of the pair.
 */
export async function countAttempt(database: Database, attempt: Attempt, now: number): Promise<number> {
  const { pair, subject, network } = keysOf(attempt);
  const since = now - REMEMBERED_MS;
  await database.run(sql.deleteOldFailures, { before: since, limit: REMOVED_AT_ONCE });
  for (const key of [pair, subject, network]) await database.run(sql.addFailure, { hash: key, at: now, since });
  return (await failures(database, pair, now)).count;
}

/** Resets the pair. The other counts stay, because a right password must not help guessing. */
export async function clearAttempts(database: Database, attempt: Attempt): Promise<void> {
  await database.run(sql.clearFailures, { hash: keysOf(attempt).pair });
}

/** Each computation takes 19 MiB and about 30 ms of a core. */
const HASHES_AT_ONCE = 4;
const WAITING_PER_NETWORK = 8;

/**
 * At most 4 computations of a hash at a time in a process. Of each network one waits for a place
 * and the others wait behind it, so that a network with many attempts keeps no other waiting.
 */
export function createHashSemaphore() {
  const places = createSemaphore(HASHES_AT_ONCE);
  const queues = new Map<string, Semaphore>();

  return async function run<T>(address: string, work: () => Promise<T>): Promise<T> {
    if (!places.isFull) return places.run(work);
    const network = networkOf(address);
    const queue = queues.get(network) ?? createSemaphore(1);
    const waiting = queue.isFull ? queue.waiting + 1 : 0;
    if (waiting >= WAITING_PER_NETWORK) {
      throw new Problem('too-many', 'Too many attempts at once. Try again in 5 s.', { retryAfterSeconds: 5 });
    }
    queues.set(network, queue);
    const leaveQueue = await queue.enter();
    const leave = await places.enter();
    leaveQueue();
    if (!queue.isFull) queues.delete(network);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
