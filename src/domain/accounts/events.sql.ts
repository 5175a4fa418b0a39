import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

const WANTS = 'disabled_at is null and events like cast(:wanted as text)';

/**
 * Adds events of one type and one account for every webhook that wants them. It is one statement,
 * so that a change costs one more round trip and writes nothing if no webhook wants the events. An
 * index finds the webhooks of the account and those of all accounts. `rows` has the id and the data
 * of each event.
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
   from (select webhook_id from webhook where account_id is null and ${WANTS} union all
     select webhook_id from webhook where account_id = cast(:account as bigint) and ${WANTS}) as wanting
     cross join {records :rows event_id bigint, data text} as given`,
  { affects: 'none' },
);
