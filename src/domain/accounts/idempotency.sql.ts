import { statement } from '../../store/statement.ts';

/** Answers to requests with an Idempotency-Key, and claims of requests in progress. */
export interface IdempotencyRow {
  fingerprint: string;
  claim: string;
  claimed_at: bigint;
  /** Null while the request is in progress. */
  status: bigint | null;
  /** Null while the request is in progress, and after the answer was dropped to make room. */
  answer: string | null;
}
export const answerOf = statement<{ key: string }, IdempotencyRow>(
  'idempotency.answerOf',
  'select fingerprint, claim, claimed_at, status, answer from idempotency where key_hash = :key',
);
/** Changes no row if the key exists. */
export const claimKey = statement<{
  key: string;
  fingerprint: string;
  claim: string;
  claimedAt: number;
  token: bigint | null;
}>(
  'idempotency.claim',
  `insert into idempotency (key_hash, fingerprint, claim, claimed_at, token_id)
   values (:key, :fingerprint, :claim, :claimedAt, :token)
   on conflict (key_hash) do nothing`,
  { affects: 'none' },
);
/**
 * Takes over a claim whose process has died, or a key whose answer is too old, if it is still as it
 * was seen: the claim that seemed dead may have stored its answer meanwhile. No status is 0.
 */
export const takeOverKey = statement<{
  key: string;
  fingerprint: string;
  claim: string;
  claimedAt: number;
  oldClaim: string;
  oldStatus: bigint;
}>(
  'idempotency.takeOver',
  `update idempotency
   set fingerprint = :fingerprint, claim = :claim, claimed_at = :claimedAt, status = null, answer = null, bytes = null
   where key_hash = :key and claim = :oldClaim and coalesce(status, 0) = :oldStatus`,
  { affects: 'none' },
);
export const storeAnswer = statement<{ key: string; claim: string; status: number; answer: string; bytes: number }>(
  'idempotency.keep',
  `update idempotency set status = :status, answer = :answer, bytes = :bytes
   where key_hash = :key and claim = :claim and status is null`,
  { affects: 'none' },
);
export const releaseKey = statement<{ key: string; claim: string }>(
  'idempotency.release',
  'delete from idempotency where key_hash = :key and claim = :claim and status is null',
  { affects: 'none' },
);
export const voidClaims = statement<Record<string, never>>(
  'idempotency.voidClaims',
  "delete from idempotency where status is null and key_hash >= ''",
  { affects: 'none' },
);
/** The keys and bytes of a token since a time, and the time of its oldest key. */
export const useOfToken = statement<
  { token: bigint; since: number },
  { total: bigint; bytes: bigint; oldest: bigint | null }
>(
  'idempotency.useOfToken',
  `select count(*) as total, cast(coalesce(sum(bytes), 0) as bigint) as bytes, min(claimed_at) as oldest
   from idempotency where token_id = :token and claimed_at > :since`,
);
/** Drops one batch of a token's oldest answers. The keys stay, so that no work is done twice. */
export const dropOldestAnswers = statement<{ token: bigint; limit: number }>(
  'idempotency.dropOldestAnswers',
  `update idempotency set answer = null, bytes = 0 where key_hash in
     (select key_hash from idempotency where token_id = :token and answer is not null order by claimed_at {limit :limit})`,
  { affects: 'none' },
);
/** Deletes one batch of the keys that were claimed before a time. */
export const forgetAnswers = statement<{ before: number; limit: number }>(
  'idempotency.forget',
  `delete from idempotency where key_hash in
     (select key_hash from idempotency where claimed_at < :before order by claimed_at {limit :limit})`,
  { affects: 'none' },
);
