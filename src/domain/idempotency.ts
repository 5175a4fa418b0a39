import { randomUUID } from 'node:crypto';
import { conflict, Problem } from '../problem.ts';
import * as sql from '../store/statements/idempotency.ts';
import type { Database } from './transactions.ts';

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
// A process that dies leaves its claim. No request takes longer than this.
const CLAIM_MS = 120_000;
const FORGOTTEN_AT_ONCE = 100;

/**
 * Claims the key, or returns its stored answer. Throws if another request holds the claim, or if
 * the key was used with another body.
 */
export async function claimKey(
  database: Database,
  key: string,
  fingerprint: string,
  now: number,
): Promise<Claim | StoredAnswer> {
  const claim = randomUUID();
  await database.run(sql.forgetAnswers, { before: now - KEPT_MS, limit: FORGOTTEN_AT_ONCE });
  if ((await database.run(sql.claimKey, { key, fingerprint, claim, claimedAt: now })) > 0) return { key, claim };
  const found = await database.first(sql.answerOf, { key });
  if (!found) throw inProgress(); // released meanwhile
  const age = now - Number(found.claimed_at);
  if (age >= KEPT_MS || (found.status === null && age >= CLAIM_MS)) {
    const change = { key, fingerprint, claim, claimedAt: now, oldClaim: found.claim };
    if ((await database.run(sql.takeOverKey, change)) > 0) return { key, claim };
    throw inProgress();
  }
  if (found.fingerprint !== fingerprint) {
    throw new Problem('key-reused', 'The Idempotency-Key was used for another request. Choose a new one.');
  }
  if (found.status === null || found.answer === null) throw inProgress();
  return { status: Number(found.status), answer: found.answer };
}

/**
 * Stores the answer inside the transaction of the change. The change is rolled back if another
 * process has taken over the key.
 */
export async function storeAnswer(database: Database, claim: Claim, answer: StoredAnswer): Promise<void> {
  if ((await database.run(sql.storeAnswer, { ...claim, ...answer })) === 0) throw inProgress();
}

export async function releaseKey(database: Database, claim: Claim): Promise<void> {
  await database.run(sql.releaseKey, { ...claim });
}

/** Remembers for a day that something was done, by a name that tells nothing about it. */
export async function rememberOnce(database: Database, key: string, now: number): Promise<void> {
  const claimed = await claimKey(database, key, key, now).catch(() => null); // another process remembers it
  if (claimed && 'claim' in claimed) await storeAnswer(database, claimed, { status: 200, answer: String(now) });
}

/** When it was done, or null. */
export async function rememberedAt(database: Database, key: string, now: number): Promise<number | null> {
  const found = await database.first(sql.answerOf, { key });
  if (!found || found.answer === null || now - Number(found.claimed_at) >= KEPT_MS) return null;
  return Number(found.answer);
}

const inProgress = (): Problem =>
  conflict('A request with this Idempotency-Key is in progress. Repeat it in a moment.');
