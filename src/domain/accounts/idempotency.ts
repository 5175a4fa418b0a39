import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { BoundedMap } from '../../base/bounded-map.ts';
import { Problem } from '../../base/problem.ts';
import { randomUuid } from '../../base/random.ts';
import type { Database } from '../../store/database.ts';
import * as sql from './idempotency.sql.ts';

/** A stored answer, which is sent again to a request with the same key for 24 hours. */
export interface StoredAnswer {
  readonly status: number;
  /** The text that the caller stored; it may be encrypted. */
  readonly answer: string;
}

/** The right to do the work of a key, until its answer is stored or the claim is released. */
export interface Claim {
  readonly key: string;
  readonly claim: string;
}

const KEPT_MS = 24 * 3_600_000;
// A process of another machine that dies leaves its claim behind. No request takes longer than
// this.
const CLAIM_MS = 120_000;
const FORGOTTEN_AT_ONCE = 100;

/**
 * Claims the key, or returns its stored answer. Throws if another request holds the claim, if the
 * key was used with another body, or if the work was done and its answer is not kept any more.
 */
export async function claimKey(
  database: Database,
  key: string,
  fingerprint: string,
  now: number,
  token: bigint | null = null,
): Promise<Claim | StoredAnswer> {
  const claim = `${processName()} ${randomUuid()}`;
  await database.run(sql.forgetAnswers, { before: now - KEPT_MS, limit: FORGOTTEN_AT_ONCE });
  if ((await database.run(sql.claimKey, { key, fingerprint, claim, claimedAt: now, token })) > 0) return { key, claim };
  const found = await database.first(sql.answerOf, { key });
  if (!found) throw inProgress(0); // released meanwhile
  const age = now - Number(found.claimed_at);
  const isFree = found.status === null && (age >= CLAIM_MS || isProcessGone(found.claim));
  if (age >= KEPT_MS || isFree) {
    const old = { oldClaim: found.claim, oldStatus: found.status ?? 0n };
    const change = { key, fingerprint, claim, claimedAt: now, ...old };
    if ((await database.run(sql.takeOverKey, change)) > 0) return { key, claim };
    throw inProgress(0);
  }
  if (found.fingerprint !== fingerprint) {
    throw new Problem('key-reused', 'The Idempotency-Key was used for another request. Choose a new one.');
  }
  if (found.status === null) throw inProgress(age);
  if (found.answer === null) throw answerDropped(Number(found.status));
  return { status: Number(found.status), answer: found.answer };
}

/**
 * The process that holds a claim: its host, its process id, and when it was started, because
 * process ids are reused. With it, the claims of a process that has died are free at once. A wrong
 * guess does no harm, because the result of a claim that was taken over is not stored.
 */
const processName = (): string => {
  ownName ??= [hostname().replaceAll(' ', ''), process.pid, startOf(process.pid) ?? ''].join(' ');
  return ownName;
};
let ownName: string | undefined;

/** Returns false for a process that may be on another machine. */
function isProcessGone(name: string): boolean {
  const [host = '', pid = '', start = ''] = name.split(' ');
  if (`${host} ${pid} ${start}` === processName() || host !== hostname().replaceAll(' ', '')) return false;
  if (!/^[1-9]\d{0,9}$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const found = startOf(Number(pid));
  return found !== null && start !== '' && found !== start;
}

/** When a process started, in ticks since the start of the machine; null without /proc. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may contain anything, so fields are counted after it. The start time
    // is the 22nd field.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/**
 * Stores the answer inside the transaction of the change. The change is rolled back if another
 * process has taken over the key.
 */
export async function storeAnswer(database: Database, claim: Claim, answer: StoredAnswer): Promise<void> {
  const bytes = answer.answer.length;
  if ((await database.run(sql.storeAnswer, { ...claim, ...answer, bytes })) === 0) throw inProgress(0);
}

export async function releaseKey(database: Database, claim: Claim): Promise<void> {
  await database.run(sql.releaseKey, { ...claim });
}

/** After a restore: requests that were in progress when the backup was taken never end. */
export async function voidClaims(queries: Pick<Database, 'run'>): Promise<void> {
  await queries.run(sql.voidClaims, {});
}

/** Remembers for a day that something was done, under a name that reveals nothing about it. */
export async function rememberOnce(database: Database, key: string, now: number): Promise<void> {
  const claimed = await claimKey(database, key, key, now).catch(() => null); // another process remembers it
  if (claimed && 'claim' in claimed) await storeAnswer(database, claimed, { status: 200, answer: String(now) });
}

/** When the thing of this name was done, or null. */
export async function rememberedAt(database: Database, key: string, now: number): Promise<number | null> {
  const found = await database.first(sql.answerOf, { key });
  if (!found || found.answer === null || now - Number(found.claimed_at) >= KEPT_MS) return null;
  return Number(found.answer);
}

/** Most requests are answered within two seconds. The longer one takes, the later to ask again. */
const inProgress = (ageMs: number): Problem =>
  new Problem('conflict', 'A request with this Idempotency-Key is in progress. Repeat it in a moment.', {
    retryAfterSeconds: Math.min(Math.max(Math.ceil(ageMs / 2_000), 1), 30),
  });

/** The key stays known, so that nothing is done twice. Waiting does not help, so no Retry-After. */
const answerDropped = (status: number): Problem =>
  new Problem(
    'conflict',
    `The request with this Idempotency-Key was answered already, with the status ${status}, and is not executed again. Its answer is no longer stored: look for what it did in the lists, such as the messages of the account, or in the audit.`,
  );

/** What one token may store. Without limits, a day of requests could fill the disk. */
export interface KeyLimits {
  /** The most keys within 24 hours. A key takes about 400 bytes without its answer. */
  readonly keys: number;
  /** The most bytes of answers. */
  readonly bytes: number;
  /** After this many keys or bytes in this process, the database is asked what the token has. */
  readonly lookAfter: { readonly keys: number; readonly bytes: number };
}
const LIMITS: KeyLimits = { keys: 100_000, bytes: 64 * 2 ** 20, lookAfter: { keys: 500, bytes: 4 * 2 ** 20 } };
const TOKENS_MAX = 10_000;
const DROPPED_AT_ONCE = 100;

/** For a token with too many keys, the database is asked once a minute. */
const FULL_MS = 60_000;

interface Use {
  /** How many new keys are admitted until the database is asked again. */
  left: number;
  /** The bytes of answers since the database was asked. */
  bytes: number;
  /** The time until which the token gets no new key. */
  readonly fullUntil: number;
}

/**
 * Holds tokens to their limits. Too many bytes: the oldest answers are dropped before their 24
 * hours are over, but never a key, because a request whose key is forgotten would be done twice.
 * Too many keys: the token gets no new key.
 */
export function createKeyLimits(database: Database, now: () => number, limits: KeyLimits = LIMITS) {
  const uses = new BoundedMap<bigint, Use>(TOKENS_MAX);

  async function look(token: bigint): Promise<Use> {
    for (;;) {
      const found = await database.first(sql.useOfToken, { token, since: now() - KEPT_MS });
      const { total = 0n, bytes = 0n, oldest = null } = found ?? {};
      if (bytes > limits.bytes && (await database.run(sql.dropOldestAnswers, { token, limit: DROPPED_AT_ONCE })) > 0) {
        continue;
      }
      const room = limits.keys - Number(total);
      const fullUntil = room < 0 ? Math.max(Number(oldest) + KEPT_MS, now() + FULL_MS) : 0;
      const use = { left: Math.min(room, limits.lookAfter.keys), bytes: 0, fullUntil };
      uses.set(token, use);
      return use;
    }
  }

  return {
    /** Admits a new key that was claimed. Throws Problem `too-many` if the token has too many. */
    async admit(token: bigint): Promise<void> {
      let use = uses.get(token);
      if (use && use.left > 0) use.left -= 1;
      else if (!use || use.fullUntil <= now()) use = await look(token);
      if (use.fullUntil <= now()) return;
      throw new Problem(
        'too-many',
        `The token has used ${limits.keys} Idempotency-Keys within 24 hours. Repeat the request later, send more in each request, or use a second token.`,
        { retryAfterSeconds: Math.ceil((use.fullUntil - now()) / 1_000) },
      );
    },
    async stored(token: bigint, bytes: number): Promise<void> {
      const use = uses.get(token);
      if (use) use.bytes += bytes;
      if (!use || use.bytes >= limits.lookAfter.bytes) await look(token);
    },
  };
}
