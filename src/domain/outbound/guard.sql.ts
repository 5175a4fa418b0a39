import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** What accounts may spend, and what they have spent: see schema/ways-out.ts. */
type One = { account: AccountKey };

export const guardOf = statement<One, { limits: string }>(
  'spending.guardOf',
  'select limits from spend_guard where account_id = :account',
);
export const put = statement<One & { limits: string; updatedAt: number }>(
  'spending.put',
  `insert into spend_guard (account_id, limits, updated_at) values (:account, :limits, :updatedAt)
   on conflict (account_id) do update set limits = excluded.limits, updated_at = excluded.updated_at`,
  { affects: 'none' },
);
export const remove = statement<One>('spending.remove', 'delete from spend_guard where account_id = :account', {
  affects: 'none',
});
/** What was counted under each rule and key, in windows that have not ended. */
export const counted = statement<One & { keys: string; now: number }, { rule: string; key: string; amount: bigint }>(
  'spending.counted',
  `select spend_count.rule, spend_count.key, amount
   from {records :keys account_id bigint, rule text, key text} as wanted
     join spend_count on spend_count.account_id = wanted.account_id and spend_count.rule = wanted.rule
       and spend_count.key = wanted.key
   where {joined spend_count.account_id :account} and ends_at > :now`,
);
/** The transaction holds the account, so the new amounts are known. */
export const count = statement<One & { rows: string }>(
  'spending.count',
  `insert into spend_count (account_id, rule, key, ends_at, amount)
   select account_id, rule, key, ends_at, amount
   from {records :rows account_id bigint, rule text, key text, ends_at bigint, amount bigint} as counted
   where account_id = :account
   on conflict (account_id, rule, key) do update set ends_at = excluded.ends_at, amount = excluded.amount`,
  { affects: 'none' },
);
/** Some of the counts whose windows have ended: more than one request adds. */
export const forget = statement<One & { now: number; limit: number }>(
  'spending.forget',
  `delete from spend_count where account_id = :account and (rule, key) in (
     select rule, key from spend_count where account_id = :account and ends_at <= :now order by ends_at {limit :limit})`,
  { affects: 'none' },
);
