import { type AccountKey, statement } from '../statement.ts';

/**
 * Events of one type and one account for webhooks. One statement, so that a change costs one round
 * trip more, and writes nothing where no webhook wants them. `rows`: an id and the data of each.
 */
export const emit = statement<{
  rows: string;
  account: AccountKey | null;
  type: string;
  at: number;
  wanted: string;
}>(
  'events.emit',
  `insert into webhook_delivery (webhook_id, event_id, account_id, type, at, data, due_at, attempts, lease_until)
   select webhook_id, given.event_id, cast(:account as bigint), cast(:type as text), cast(:at as bigint),
     given.data, cast(:at as bigint), 0, 0
   from webhook cross join {records :rows event_id bigint, data text} as given where disabled_at is null and events like cast(:wanted as text)
     and (account_id is null or account_id = cast(:account as bigint))`,
  { affects: 'none' },
);
