import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type ParametersOf, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Credits: the balances and the movements of which they are the sums. */
export interface BalanceRow {
  free: bigint;
  used: bigint;
  held: bigint;
  /** Free credits below this number are low; null if the account has no such limit. */
  low: bigint | null;
}
const fields = {
  id: 'long',
  kind: 'text',
  from: 'text',
  to: 'text',
  amount: 'long',
  at: 'instant',
  messageId: 'long?',
  reason: 'text?',
  reference: 'text?',
} as const;
const RENAMED = { id: 'movement_id', from: 'from_side', to: 'to_side', at: 'moved_at' } as const;
export type MovementRow = RowOf<typeof fields, typeof RENAMED>;
export const movementColumns = defineColumns(fields, RENAMED);
const columns = movementColumns.names;

type One = { account: AccountKey };
type TimePage = { account: AccountKey; at: number; id: bigint; limit: number };

export const balances = statement<One, BalanceRow>(
  'ledger.balances',
  `select credits as free, used_credits as used, held, low_credits as low from account join ledger on ledger.account_id = account.account_id
   where account.account_id = :account`,
);
/** Takes `count` numbers for movements and returns the last one. */
export const takeNumbers = statement<One & { held: bigint; count: number }, { last_movement: bigint }>(
  'ledger.takeNumbers',
  `update ledger set held = :held, last_movement = last_movement + :count where account_id = :account
   returning last_movement`,
);
export const setBalances = statement<One & { free: bigint; used: bigint }>(
  'ledger.setBalances',
  'update account set credits = :free, used_credits = :used where account_id = :account',
);
export const addMovement = statement<One & ParametersOf<typeof fields>>(
  'ledger.addMovement',
  `insert into movement (account_id, ${columns}) values (:account, ${movementColumns.parameters})`,
);
/** Opens the held balance. Movement 3 is reserved for it, so it takes no number. */
export const openHeld = statement<One & { held: bigint }>(
  'ledger.openHeld',
  'update ledger set held = :held where account_id = :account',
);
/** A page starts at a time and at a number of that time. */
export const newestMovements = statement<TimePage, MovementRow>(
  'ledger.newestMovements',
  `select ${columns} from movement where account_id = :account and (moved_at, movement_id) <= (:at, :id)
   order by moved_at desc, movement_id desc {limit :limit}`,
);
/** The movements of a message at these times, which are those of its history. */
export const movementsOfMessage = statement<{ account: AccountKey; id: bigint; times: string }, MovementRow>(
  'ledger.movementsOfMessage',
  `select ${columns} from movement where account_id = :account and moved_at {among :times} and message_id = :id`,
);
/** A page of the movements whose numbers start at `from`. */
export const movementsFrom = statement<{ account: AccountKey; from: bigint; limit: number }, MovementRow>(
  'ledger.movementsFrom',
  `select ${columns} from movement where account_id = :account and movement_id >= :from
   order by movement_id {limit :limit}`,
);
export const oldestMovements = statement<{ account: AccountKey; before: number; limit: number }, MovementRow>(
  'ledger.oldestMovements',
  `select ${columns} from movement where account_id = :account and moved_at < :before
   order by moved_at, movement_id {limit :limit}`,
);
export const countMovementsBefore = statement<{ account: AccountKey; before: number }, { total: bigint }>(
  'ledger.countMovementsBefore',
  `select count(*) as total from movement where account_id = :account and moved_at < :before
     and coalesce(reason, '') not in ('opening', 'carried forward')`,
);
/** `ids` is a JSON array of numbers. */
export const deleteMovements = statement<{ account: AccountKey; ids: string }>(
  'ledger.deleteMovements',
  'delete from movement where account_id = :account and movement_id {among :ids}',
);
/** The credits of a scheduled message are in its own row, those of others in `dispatch`. */
export const heldByMessages = statement<One, { parts: bigint }>(
  'ledger.heldByMessages',
  `select cast(coalesce((select sum(held_parts) from scheduled where account_id = :account), 0)
     + coalesce((select sum(held) from dispatch where account_id = :account and is_scheduled = 0), 0) as bigint) as parts`,
);
/** Reasons and references are texts of the operator, which may quote a number. */
export const eraseWords = statement<{ account: AccountKey; ids: string }>(
  'ledger.eraseWords',
  `update movement set reason = 'erased', reference = null where account_id = :account
     and movement_id {among :ids}`,
);
