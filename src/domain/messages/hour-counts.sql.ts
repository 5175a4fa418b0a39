import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** What happened to messages in each hour: see schema/hour-counts.ts. */

type Hour = { slot: number; hour: number };

const COUNTS = ['accepted', 'delivered', 'failed'];

/** Adds to an hour, and replaces the counts of the hour that had its slot 31 days ago. */
export const addToHour = statement<{ account: AccountKey; accepted: number; delivered: number; failed: number } & Hour>(
  'hours.addToAccount',
  `insert into account_hour (account_id, slot, hour, accepted, delivered, failed)
   values (:account, :slot, :hour, :accepted, :delivered, :failed)
   on conflict (account_id, slot) do update set hour = excluded.hour, ${COUNTS.map(
     (count) =>
       `${count} = excluded.${count} + case when account_hour.hour = excluded.hour then account_hour.${count} else 0 end`,
   ).join(', ')}`,
  { affects: 'none' },
);
export const hoursOf = statement<
  { account: AccountKey; from: number },
  { hour: bigint; accepted: bigint; delivered: bigint; failed: bigint }
>(
  'hours.ofAccount',
  'select hour, accepted, delivered, failed from account_hour where account_id = :account and hour >= :from',
);
