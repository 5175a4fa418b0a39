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
type Page = { account: bigint; id: bigint; limit: number };

const select = `select dispatch.account_id, username, message_id, state, due_at, attempts, held, dispatch.connector, reason
  from dispatch join account on account.account_id = dispatch.account_id
  where (dispatch.account_id, message_id) > (:account, :id)`;
const inOrder = 'order by dispatch.account_id, message_id {limit :limit}';

export const queueAfter = statement<Page, QueueRow>('queue.after', `${select} ${inOrder}`);
/** Those of which nobody knows whether the carrier has them: they have an index of their own. */
export const openAfter = statement<Page, QueueRow>(
  'queue.openAfter',
  `${select} and state in ('unsure', 'undecided') ${inOrder}`,
);
