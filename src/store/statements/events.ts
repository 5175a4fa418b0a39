import { type AccountKey, statement } from '../statement.ts';

/**
 * Events for webhooks. One statement, so that a change costs one round trip more, and writes
 * nothing where no webhook wants the event.
 */
export const emit = statement<{
  event: bigint;
  account: AccountKey | null;
  type: string;
  at: number;
  data: string;
  wanted: string;
}>(
  'events.emit',
  `insert into webhook_delivery (webhook_id, event_id, account_id, type, at, data, due_at, attempts, lease_until)
   select webhook_id, cast(:event as bigint), cast(:account as bigint), cast(:type as text), cast(:at as bigint),
     cast(:data as text), cast(:at as bigint), 0, 0
   from webhook where disabled_at is null and events like cast(:wanted as text)
     and (account_id is null or account_id = cast(:account as bigint))`,
  { affects: 'none' },
);
