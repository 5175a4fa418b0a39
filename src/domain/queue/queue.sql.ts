import { statement } from '../../store/statement.ts';

/** Messages on their way out, of all accounts, as the operator looks at them. */
export interface QueueRow {
  account_id: bigint;
  username: string;
  message_id: bigint;
  state: string;
  due_at: bigint;
  attempts: bigint;
  held: bigint;
  connector: string | null;
  reason: string | null;
}
export type QueuePage = { account: bigint; id: bigint; limit: number };

const queue = `select dispatch.account_id, username, message_id, state, due_at, attempts, held,
    coalesce(nullif(way, ''), dispatch.connector) as connector, reason
  from dispatch join account on account.account_id = dispatch.account_id
  where (dispatch.account_id, message_id) > (:account, :id)`;
const inOrder = 'order by dispatch.account_id, message_id {limit :limit}';

export const queueAfter = statement<QueuePage, QueueRow>('queue.after', `${queue} ${inOrder}`);
/** Messages of which nobody knows whether the carrier has them, which have their own index. */
const open = `${queue} and state in ('unknown-outcome', 'needs-decision')`;
export const queueOpenAfter = statement<QueuePage, QueueRow>('queue.openAfter', `${open} ${inOrder}`);
export const queueRestoredAfter = statement<QueuePage & { reason: string; withReceipt: string }, QueueRow>(
  'queue.restoredAfter',
  `${open} and reason in (:reason, :withReceipt) ${inOrder}`,
);

/** Messages that the spend guard holds, which have their own index. */
export const queueHeldAfter = statement<QueuePage, QueueRow>(
  'queue.heldAfter',
  `${queue} and state = 'held' ${inOrder}`,
);
