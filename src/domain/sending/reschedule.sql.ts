import { type AccountKey, statement } from '../../store/statement.ts';

/** Another time for a scheduled message, which is not claimed while it stands in `scheduled`. */
type Message = { account: AccountKey; id: bigint; dueAt: number };

/** Nothing where the message must not be sent as late as that. */
export const moveScheduled = statement<Message>(
  'rescheduling.scheduled',
  `update scheduled set scheduled_at = :dueAt where account_id = :account and message_id = :id
     and not exists (select 1 from dispatch where dispatch.account_id = :account and dispatch.message_id = :id
       and (is_scheduled = 0 or not_after <= :dueAt))`,
);
export const moveDispatch = statement<Message & { expiresAt: number }>(
  'rescheduling.dispatch',
  `update dispatch set due_at = :dueAt, expires_at = coalesce(not_after, :expiresAt)
   where account_id = :account and message_id = :id and is_scheduled = 1`,
);
/** A row where the message must not be sent as late as that. */
export const tooLate = statement<Message, { not_after: bigint }>(
  'rescheduling.tooLate',
  `select not_after from dispatch
   where account_id = :account and message_id = :id and is_scheduled = 1 and not_after <= :dueAt`,
);
