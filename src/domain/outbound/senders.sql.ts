import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** Senders that numbers know: see schema/ways-out.ts. */
type One = { account: AccountKey };
export interface SenderRow {
  route: string;
  number_hash: string;
  sender: string;
  used_at: bigint;
}

export const known = statement<One & { keys: string; after: number }, SenderRow>(
  'senders.known',
  `select sender_choice.route, sender_choice.number_hash, sender, used_at
   from {records :keys account_id bigint, route text, number_hash text} as wanted
     join sender_choice on sender_choice.account_id = wanted.account_id and sender_choice.route = wanted.route
       and sender_choice.number_hash = wanted.number_hash
   where {joined sender_choice.account_id :account} and used_at > :after`,
);
export const keep = statement<One & { rows: string }>(
  'senders.keep',
  `insert into sender_choice (account_id, route, number_hash, sender, used_at)
   select account_id, route, number_hash, sender, used_at
   from {records :rows account_id bigint, route text, number_hash text, sender text, used_at bigint} as kept
   where account_id = :account
   on conflict (account_id, route, number_hash) do update set sender = excluded.sender, used_at = excluded.used_at`,
  { affects: 'none' },
);
/** Some of those that were not used for long: more than one request adds. */
export const forget = statement<One & { before: number; limit: number }>(
  'senders.forget',
  `delete from sender_choice where account_id = :account and used_at <= :before and (route, number_hash) in (
     select route, number_hash from sender_choice where account_id = :account and used_at <= :before
     order by used_at {limit :limit})`,
  { affects: 'none' },
);
export const nextAccount = statement<{ after: bigint }, { account_id: bigint }>(
  'senders.nextAccount',
  'select account_id from sender_choice where account_id > :after order by account_id {limit 1}',
);
export const forgetNumber = statement<One & { numberHash: string }>(
  'senders.forgetNumber',
  'delete from sender_choice where account_id = :account and number_hash = :numberHash',
  { affects: 'none' },
);
