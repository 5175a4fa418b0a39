import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Messages on their way out: see schema/sending.ts. Every writer holds the account's lock. */
export type DispatchState = 'held' | 'waiting' | 'submitting' | 'unknown-outcome' | 'needs-decision';

export interface DueAccountRow {
  account_id: bigint;
  way: string;
  priority: bigint;
  time_zone: string | null;
  quiet_hours: string | null;
  unknown_outcome_policy: string | null;
  region: string | null;
  mobile: string | null;
  tel: string | null;
  carrier_fields: string | null;
}
const fields = {
  messageId: 'long',
  state: 'text',
  dueAt: 'number',
  isScheduled: 'long',
  held: 'long',
  parts: 'long',
  sender: 'text?',
  notAfter: 'number?',
  expiresAt: 'number',
  attempts: 'number',
  fence: 'long',
  connector: 'text?',
  reason: 'text?',
  /** 1 for an answer to a STOP or HELP word, which is sent despite the blacklist. */
  isAnswer: 'long',
  /** The connector that a route has chosen; empty for where the account goes. */
  way: 'text',
  routeName: 'text?',
  /** The ways that refused it in this round, separated by commas. */
  waysPassed: 'text?',
  /** Credits for a part by this way; null where no route has a price. */
  price: 'long?',
  /** Fields for the carrier, as a JSON text, besides those of the account. */
  carrierFields: 'text?',
  /** The batch that the message was accepted with. */
  batchId: 'long?',
} as const;
export type DispatchRow = RowOf<typeof fields> & { state: DispatchState };
type One = { account: AccountKey };
/** The messages of an account that go one way: each way has its own queue. */
type OneWay = One & { way: string };
type Message = { account: AccountKey; id: bigint };
/** `ids` is a JSON array of numbers. */
type Some = { account: AccountKey; ids: string };

const columns = defineColumns(fields).names;
type Queue = { key: string };
type Level = Queue & { priority: bigint };
const RESTED = 'served_at < next_due_at';
const BACKLOG = 'served_at >= next_due_at';

/** Finds each next lower priority by one lookup. `key` is empty without a connector. */
const levelsOf = (name: string, condition: string) => {
  const highest = `select max(priority) from dispatch_account where connector_key = :key and ${condition}`;
  return `${name}(priority) as (${highest} union all
    select (${highest} and priority < ${name}.priority) from ${name} where ${name}.priority is not null)`;
};
/**
 * The priorities of accounts that have sent, highest first. On Citus, which refuses the recursion,
 * only of those with work: reading 100,000 accounts took 37 ms of CPU at each look, not 2.
 */
export const levels = statement<Queue & { never: number }, { priority: bigint }>(
  'sending.levels',
  `select priority from (with recursive ${levelsOf('rested', RESTED)}, ${levelsOf('backlog', BACKLOG)}
     select priority from rested union select priority from backlog) as level
   where priority is not null order by priority desc`,
  {
    distributed: {
      text: 'select distinct priority from dispatch_account where connector_key = :key and next_due_at < :never order by priority desc',
      answeredInPart: 'dispatch_account',
    },
  },
);
const ofLevel = 'dispatch_account where connector_key = :key and priority = :priority';
/**
 * Accounts of one priority with work, of three kinds. 1: the time when they were last served is
 * ahead, because the clock was put back. 2: no messages were left when they were last served. 3:
 * messages were left; those served longest ago come first.
 */
export const dueAccounts = statement<
  Level & { now: number; limit: number },
  { account_id: bigint; kind: bigint; position: bigint }
>(
  'sending.dueAccounts',
  `select account_id, kind, position from (select account_id, cast(1 as bigint) as kind, served_at as position from ${ofLevel}
       and ${BACKLOG} and served_at > :now and next_due_at <= :now order by served_at, account_id {limit :limit}) as ahead
   union all
   select account_id, kind, position from (select account_id, cast(2 as bigint) as kind, next_due_at as position from ${ofLevel}
       and ${RESTED} and next_due_at <= :now order by next_due_at, account_id {limit :limit}) as rested
   union all
   select account_id, kind, position from (select account_id, cast(3 as bigint) as kind, served_at as position from ${ofLevel}
       and ${BACKLOG} and served_at <= :now order by served_at, account_id {limit :limit}) as backlog`,
  { distributed: { answeredInPart: 'dispatch_account' } },
);
/** The first account of each order. For the backlog this is some time that has passed. */
export const nextDue = statement<Level, { next_due_at: bigint }>(
  'sending.nextDue',
  `select next_due_at from (select next_due_at from ${ofLevel} and ${RESTED} order by next_due_at {limit 1}) as rested
   union all
   select next_due_at from (select next_due_at from ${ofLevel} and ${BACKLOG} order by served_at {limit 1}) as backlog`,
  { distributed: { answeredInPart: 'dispatch_account' } },
);
const lockAmong = (accounts: string) =>
  `select dispatch_account.account_id, way, account.priority, time_zone, quiet_hours, unknown_outcome_policy, region, mobile, tel, account.carrier_fields
   from dispatch_account join account on account.account_id = dispatch_account.account_id
   where account.disabled_at is null
     and (way = :connector or (way = '' and (account.connector = :connector or (account.connector is null and :isDefault = 1))))
     and next_due_at <= :now and dispatch_account.account_id ${accounts}
   {locknew account}`;
/** Locks those of `ids` that still have work and that no other transaction uses. */
export const lockAccounts = statement<
  { connector: string; isDefault: number; now: number; ids: string },
  DueAccountRow
>('sending.lockAccounts', lockAmong('{among :ids}'), { distributed: { text: lockAmong('= :account'), eachOf: 'ids' } });

/** Clients do not see a claim, so cached answers stay valid. */
export const claim = statement<
  {
    account: AccountKey;
    way: string;
    now: number;
    limit: number;
    leaseUntil: number;
    owner: string;
    connector: string;
  },
  DispatchRow
>(
  'sending.claim',
  `update dispatch set state = 'submitting', is_scheduled = 0, due_at = :leaseUntil, lease_owner = :owner,
     connector = :connector, fence = fence + 1, attempts = attempts + 1
   where account_id = :account and message_id in (
     select message_id from dispatch where account_id = :account and way = :way and state = 'waiting' and due_at <= :now
     order by due_at, message_id {limit :limit})
   returning ${columns}`,
  { affects: 'none' },
);
/**
 * A page of the messages that wait and have left the schedule, whose recipient has this ending. The
 * domain compares the whole numbers.
 */
export const waitingByEnd = statement<
  One & { end: string; from: bigint; limit: number },
  DispatchRow & { recipient: string | null }
>(
  'sending.waitingByEnd',
  `select ${columns}, recipient from dispatch {using dispatch_by_number_end}
   where account_id = :account and {ending recipient} = :end and message_id >= :from
     and state in ('waiting', 'held') and is_scheduled = 0 order by message_id {limit :limit}`,
);
/** A page of all messages that have left the schedule. They have no index by number. */
export const queuedNumbers = statement<
  One & { from: bigint; limit: number },
  { message_id: bigint; recipient: string | null }
>(
  'sending.queuedNumbers',
  `select message_id, recipient from dispatch where account_id = :account and message_id >= :from and is_scheduled = 0
   order by message_id {limit :limit}`,
);
/** Erases the numbers of a person who is erased. */
export const clearRecipients = statement<Some>(
  'sending.clearRecipients',
  'update dispatch set recipient = null where account_id = :account and message_id {among :ids}',
  { affects: 'none' },
);
/**
 * Those of `ids` that wait or are held, and have expired. `coalesce` hides the state from the
 * index, by which PostgreSQL 15 would read all waiting messages of the account.
 */
export const expired = statement<One & { now: number; ids: string }, DispatchRow>(
  'sending.expired',
  `select ${columns} from dispatch
   where account_id = :account and message_id {among :ids} and coalesce(state, '') in ('waiting', 'held') and expires_at <= :now`,
);
type After = { account: bigint; message: bigint; limit: number };
/** A page of the open messages of all accounts. */
export const openAfter = statement<
  After,
  { account_id: bigint; message_id: bigint; state: string; expires_at: bigint }
>(
  'sending.openAfter',
  `select account_id, message_id, state, expires_at from dispatch
   where (account_id, message_id) > (:account, :message) order by account_id, message_id {limit :limit}`,
);
/** After a restore: a page of the messages that may have been submitted since the backup. */
export const mayHaveLeft = statement<After & { now: number }, DispatchRow & { account_id: bigint }>(
  'sending.mayHaveLeft',
  `select account_id, ${columns} from dispatch
   where (account_id, message_id) > (:account, :message) and (state <> 'waiting' or due_at <= :now)
   order by account_id, message_id {limit :limit}`,
);
/** After a restore: a page of the messages that are due later, by their own time or a new one. */
export const dueLater = statement<
  After & { now: number },
  Pick<DispatchRow, 'message_id' | 'parts' | 'sender'> & { account_id: bigint }
>(
  'sending.dueLater',
  `select account_id, message_id, parts, sender from dispatch
   where (account_id, message_id) > (:account, :message) and coalesce(state, '') = 'waiting' and is_scheduled = 1 and due_at > :now
   order by account_id, message_id {limit :limit}`,
);
export const holdWhenDue = statement<Some & { reason: string }>(
  'sending.holdWhenDue',
  'update dispatch set reason = :reason where account_id = :account and message_id {among :ids}',
  { affects: 'none' },
);
const heldThen = "is_scheduled = 1 and coalesce(state, '') = 'waiting' and reason = :reason";
/** The first of those that are held when they are due, of the accounts from `from` to `to`. */
export const firstHeldThen = statement<
  { from: bigint; to: bigint; reason: string; limit: number },
  { account_id: bigint; message_id: bigint }
>(
  'sending.firstHeldThen',
  `select account_id, message_id from dispatch where account_id >= :from and account_id <= :to and ${heldThen}
   order by account_id, message_id {limit :limit}`,
);
export const sendWhenDue = statement<Some & { reason: string }>(
  'sending.sendWhenDue',
  `update dispatch set reason = null where account_id = :account and message_id {among :ids} and ${heldThen}`,
  { affects: 'none' },
);
/** After a restore: no earlier claim is valid, and one attempt may have been made since. */
export const voidClaims = statement<Some>(
  'sending.voidClaims',
  `update dispatch set is_scheduled = 0, attempts = attempts + 1, fence = fence + 1
   where account_id = :account and message_id {among :ids}`,
  { affects: 'none' },
);
/** For a transaction of all accounts: locks one of them, as a transaction of that account does. */
export const lockAccount = statement<One, { account_id: bigint }>(
  'sending.lockAccount',
  'select account_id from account where account_id = :account order by account_id {lock account}',
);
/** Leases that ran out, and unknown outcomes whose deadline is over. */
export const overdue = statement<OneWay & { now: number; limit: number }, DispatchRow>(
  'sending.overdue',
  `select ${columns} from dispatch {using dispatch_by_due}
   where account_id = :account and way = :way and state in ('submitting', 'unknown-outcome') and due_at <= :now
   order by due_at, message_id {limit :limit}`,
);
const least = (state: DispatchState) =>
  `(select min(due_at) from dispatch where account_id = :account and way = :way and state = '${state}')`;
/** Sets, after a claim, when the account has work for this way again; `never` without any. */
export const setNextDue = statement<OneWay & { servedAt: number; never: number }>(
  'sending.setNextDue',
  `update dispatch_account set served_at = :servedAt, next_due_at = (select coalesce(min(due_at), :never) from (
       select ${least('waiting')} as due_at union all select ${least('submitting')} union all select ${least('unknown-outcome')}) as next)
   where account_id = :account and way = :way`,
  { affects: 'none' },
);
/** Before this time nothing of the account is looked at, not even a lease that has run out. */
export const postpone = statement<One & { until: number }>(
  'sending.postpone',
  'update dispatch_account set next_due_at = :until where account_id = :account',
  { affects: 'none' },
);
/** Notes that the account has work for this way at this time, unless it has some earlier. */
export const raiseWork = statement<OneWay & { dueAt: number }>(
  'sending.raiseWork',
  `insert into dispatch_account (account_id, way, next_due_at) values (:account, :way, :dueAt)
   on conflict (account_id, way) do update set next_due_at =
     case when dispatch_account.next_due_at < excluded.next_due_at then dispatch_account.next_due_at else excluded.next_due_at end`,
  { affects: 'none' },
);

export const add = statement<
  Message & {
    state: 'waiting' | 'held';
    reason: string | null;
    dueAt: number;
    isScheduled: number;
    held: bigint;
    parts: number;
    sender: string | null;
    recipient: string;
    isAnswer: number;
    notAfter: number | null;
    expiresAt: number;
    way: string;
    route: string | null;
    price: bigint | null;
    carrierFields: string | null;
    batch: bigint | null;
  }
>(
  'sending.add',
  `insert into dispatch (account_id, message_id, state, due_at, is_scheduled, held, parts, sender, recipient, is_answer,
     not_after, expires_at, way, route_name, price, reason, carrier_fields, batch_id, first_due_at)
   values (:account, :id, :state, :dueAt, :isScheduled, :held, :parts, :sender, :recipient, :isAnswer,
     :notAfter, :expiresAt, :way, :route, :price, :reason, :carrierFields, :batch, :dueAt)`,
  { affects: 'none' },
);
export const of = statement<Some, DispatchRow>(
  'sending.of',
  `select ${columns} from dispatch where account_id = :account and message_id {among :ids}`,
);
export const remove = statement<Some>(
  'sending.remove',
  'delete from dispatch where account_id = :account and message_id {among :ids}',
  { affects: 'none' },
);
/** Puts messages back into the queue, each with its own time and reason. */
export const requeue = statement<One & { state: DispatchState; rows: string }>(
  'sending.requeue',
  `update dispatch set state = :state, due_at = changed.due_at, reason = changed.reason, lease_owner = null
   from {records :rows account_id bigint, message_id bigint, due_at bigint, reason text} as changed
   where {joined dispatch.account_id :account} and dispatch.account_id = changed.account_id and dispatch.message_id = changed.message_id`,
  { affects: 'none' },
);

/** Gives waiting messages another way, each with its time and reason. */
export const setWay = statement<One & { rows: string }>(
  'sending.setWay',
  `update dispatch set state = 'waiting', way = changed.way, ways_passed = changed.passed, price = changed.price,
     due_at = changed.due_at, reason = changed.reason, lease_owner = null
   from {records :rows account_id bigint, message_id bigint, way text, passed text, price bigint, due_at bigint, reason text} as changed
   where {joined dispatch.account_id :account} and dispatch.account_id = changed.account_id and dispatch.message_id = changed.message_id`,
  { affects: 'none' },
);
/** Accounts with messages that a route gave to this connector and that are due. */
export const dueOfWay = statement<{ way: string; now: number; limit: number }, { account_id: bigint }>(
  'sending.dueOfWay',
  `select account_id from dispatch_account where way = :way and next_due_at <= :now
   order by next_due_at {limit :limit}`,
);
/** An account with messages on their way to this connector by a route. */
export const awaited = statement<{ way: string; never: number }, { account_id: bigint }>(
  'sending.awaited',
  `select dispatch_account.account_id from dispatch_account join dispatch
     on dispatch.account_id = dispatch_account.account_id and dispatch.way = dispatch_account.way
   where dispatch_account.way = :way and next_due_at < :never {limit 1}`,
);
export const waitingOfWay = statement<OneWay & { now: number; limit: number }, DispatchRow>(
  'sending.waitingOfWay',
  `select ${columns} from dispatch where account_id = :account and way = :way and state = 'waiting' and due_at <= :now
     and route_name is not null order by due_at, message_id {limit :limit}`,
);

/** A message that is submitted once more may be tried for as long as a new one. */
export const extend = statement<Message & { expiresAt: number }>(
  'sending.extend',
  'update dispatch set expires_at = :expiresAt where account_id = :account and message_id = :id and not_after is null',
  { affects: 'none' },
);
interface InactiveRow {
  message_id: bigint;
  recipient: string | null;
  text: string | null;
  held_parts: bigint;
  scheduled_at: bigint;
  is_sent: bigint;
}
/** A page of the scheduled messages that are not activated, whose ids start at `from`. */
export const inactive = statement<One & { from: bigint; limit: number }, InactiveRow>(
  'sending.inactive',
  `select message_id, recipient, text, held_parts, scheduled_at,
     (select count(*) from sent where sent.account_id = :account and sent.message_id = scheduled.message_id) as is_sent
   from scheduled where account_id = :account and message_id >= :from
     and not exists (select 1 from dispatch where dispatch.account_id = :account and dispatch.message_id = scheduled.message_id)
   order by message_id {limit :limit}`,
);

export const changeReason = statement<Message & { from: string; to: string }>(
  'dispatch.changeReason',
  'update dispatch set reason = :to where account_id = :account and message_id = :id and reason = :from',
  { affects: 'none' },
);

/** Moves a scheduled message, which is not claimed while it is in `scheduled`. */
type Moved = Message & { dueAt: number };

/** Changes no row if the message must not be sent as late as `dueAt`. */
export const moveScheduled = statement<Moved>(
  'rescheduling.scheduled',
  `update scheduled set scheduled_at = :dueAt where account_id = :account and message_id = :id
     and not exists (select 1 from dispatch where dispatch.account_id = :account and dispatch.message_id = :id
       and (is_scheduled = 0 or not_after <= :dueAt))`,
);
export const moveDispatch = statement<Moved & { expiresAt: number }, { way: string }>(
  'rescheduling.dispatch',
  `update dispatch set due_at = :dueAt, first_due_at = :dueAt, expires_at = coalesce(not_after, :expiresAt)
   where account_id = :account and message_id = :id and is_scheduled = 1 returning way`,
);
/** Returns a row if the message must not be sent as late as `dueAt`. */
export const tooLate = statement<Moved, { not_after: bigint }>(
  'rescheduling.tooLate',
  `select not_after from dispatch
   where account_id = :account and message_id = :id and is_scheduled = 1 and not_after <= :dueAt`,
);
