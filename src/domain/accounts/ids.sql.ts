import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** Counters of ids: see schema/id-counter.ts. */
type Counter = { account: AccountKey; kind: string };

/** Takes the next `count` ids. The row has the last of them. */
export const takeIds = statement<Counter & { count: bigint }, { last_id: bigint }>(
  'ids.takeIds',
  `insert into id_counter (account_id, kind, last_id) values (:account, :kind, :count)
   on conflict (account_id, kind) do update set last_id = id_counter.last_id + excluded.last_id returning last_id`,
);
/** Raises a counter to `last`, and never lowers it. */
export const raiseCounter = statement<Counter & { last: bigint }>(
  'ids.raiseCounter',
  `insert into id_counter (account_id, kind, last_id) values (:account, :kind, :last)
   on conflict (account_id, kind) do update set last_id = excluded.last_id where excluded.last_id > id_counter.last_id`,
);
/** Returns no row if no id was taken yet. */
export const lastId = statement<Counter, { last_id: bigint }>(
  'ids.lastId',
  'select last_id from id_counter where account_id = :account and kind = :kind',
);
