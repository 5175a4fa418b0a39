import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';
import type { AttemptRow } from './attempts.sql.ts';

/** Receipts: which submission each receipt is about, and what it changes. */
export type MatchedRow = Pick<AttemptRow, 'account_id' | 'message_id' | 'attempt' | 'part' | 'submitted_at'> & {
  /** The index of the receipt among those that were given. */
  place: bigint;
  by_attempt_id: bigint | number;
};
type AttemptStateRow = Pick<AttemptRow, 'message_id' | 'attempt' | 'part' | 'state' | 'status' | 'status_at'>;

/** Receipts whose submission is not known yet. An id that the carrier did not give is empty. */
const HELD_FIELDS = {
  connector: 'text',
  gatewayId: 'text',
  attemptId: 'text',
  status: 'text',
  at: 'instant',
  detail: 'text?',
  /** 1 if it is about all parts of its message. */
  forAllParts: 'long',
} as const;
type HeldMatchRow = RowOf<typeof HELD_FIELDS> & Pick<AttemptRow, 'message_id' | 'attempt' | 'part' | 'submitted_at'>;
const held = defineColumns(HELD_FIELDS);

type One = { account: AccountKey };
/** `ids` is a JSON array of numbers. */
type Some = { account: AccountKey; ids: string };

const matchedColumns =
  'given.place, attempt.account_id, attempt.message_id, attempt.attempt, attempt.part, attempt.submitted_at';
const given = '{records :rows place bigint, connector text, attempt_id text, gateway_id text} as given';

/** SQLite keeps the order of a cross join, so each receipt finds its attempt by an index. */
export const matched = statement<{ rows: string }, MatchedRow>(
  'receipts.matched',
  `select ${matchedColumns}, 1 as by_attempt_id from ${given} cross join attempt
   where attempt.attempt_id = given.attempt_id and attempt.connector = given.connector
   union all
   select ${matchedColumns}, 0 from ${given} cross join attempt
   where attempt.connector = given.connector and attempt.gateway_id = given.gateway_id and attempt.gateway_id is not null`,
);
export const attemptsOf = statement<Some, AttemptStateRow>(
  'receipts.attemptsOf',
  `select message_id, attempt.attempt, part, state, status, status_at from attempt
   where account_id = :account and message_id {among :ids} order by message_id, attempt.attempt, part`,
);
export const setAttemptStatuses = statement<One & { rows: string }>(
  'receipts.setAttemptStatuses',
  `update attempt set status = changed.status, status_at = changed.status_at
   from {records :rows account_id bigint, message_id bigint, attempt bigint, part bigint, status text, status_at bigint} as changed
   where {joined attempt.account_id :account} and attempt.account_id = changed.account_id and attempt.message_id = changed.message_id
     and attempt.attempt = changed.attempt and attempt.part = changed.part`,
  { affects: 'none' },
);
/** Adds nothing for a receipt that is held already. */
export const hold = statement<{ rows: string; now: number }>(
  'receipts.hold',
  `insert into held_receipt (${held.names}, about, held_at) select ${held.namesOf('held')}, about, :now
   from {records :rows connector text, gateway_id text, attempt_id text, status text, at bigint, detail text, for_all_parts bigint, about text} as held
   where true on conflict (connector, gateway_id, attempt_id, status) do nothing`,
  { affects: 'none' },
);
/** The held receipts about these messages. */
export const heldOf = statement<Some, HeldMatchRow>(
  'receipts.heldOf',
  `select ${held.namesOf('held_receipt')}, attempt.message_id, attempt.attempt, attempt.part, attempt.submitted_at
   from attempt cross join held_receipt
   where attempt.account_id = :account and attempt.message_id {among :ids}
     and held_receipt.connector = attempt.connector and held_receipt.gateway_id = attempt.gateway_id`,
);
/** The messages that held receipts are about; mostly none, because settlements apply receipts. */
export const heldMatches = statement<{ limit: number }, Pick<AttemptRow, 'account_id' | 'message_id'>>(
  'receipts.heldMatches',
  `select distinct attempt.account_id, attempt.message_id from held_receipt cross join attempt
   where attempt.connector = held_receipt.connector and attempt.gateway_id = held_receipt.gateway_id
     and attempt.gateway_id is not null {limit :limit}`,
);
export const removeHeld = statement<{ rows: string }>(
  'receipts.removeHeld',
  `delete from held_receipt where (connector, gateway_id, attempt_id, status) in (
     select connector, gateway_id, attempt_id, status
     from {records :rows connector text, gateway_id text, attempt_id text, status text} as applied)`,
  { affects: 'none' },
);
/** Held receipts that name addresses and were not compared yet. */
export const heldAbout = statement<
  { before: number; limit: number },
  { connector: string; gateway_id: string; about: string; held_at: bigint }
>(
  'receipts.heldAbout',
  `select connector, gateway_id, about, held_at from held_receipt
   where about is not null and held_at < :before order by held_at {limit :limit}`,
);
export const compared = statement<{ before: number; upTo: number }>(
  'receipts.compared',
  'update held_receipt set about = null where about is not null and held_at < :before and held_at <= :upTo',
  { affects: 'none' },
);
/** Submissions with an unknown outcome whose messages wait for it, with what a receipt may name. */
export const unknownSubmissions = statement<
  { limit: number },
  Pick<AttemptRow, 'account_id' | 'message_id' | 'attempt' | 'part' | 'connector' | 'submitted_at'> & {
    parts: bigint;
    sender: string | null;
    recipient: string;
    text: string;
  }
>(
  'receipts.unknownSubmissions',
  `select attempt.account_id, attempt.message_id, attempt.attempt, attempt.part, attempt.connector, attempt.submitted_at,
     dispatch.parts, dispatch.sender, sent.recipient, sent.text
   from dispatch cross join attempt cross join sent
   where dispatch.state in ('unknown-outcome', 'needs-decision')
     and attempt.account_id = dispatch.account_id and attempt.message_id = dispatch.message_id
     and attempt.state = 'unknown-outcome' and attempt.gateway_id is null
     and sent.account_id = dispatch.account_id and sent.message_id = dispatch.message_id {limit :limit}`,
);
/** The id that the carrier gave to a submission without an answer. */
type Named = One & { id: bigint; attempt: bigint; part: bigint; connector: string };
export const nameAttempt = statement<Named & { gatewayId: string }>(
  'receipts.nameAttempt',
  `update attempt set gateway_id = :gatewayId, connector = :connector
   where account_id = :account and message_id = :id and attempt = :attempt and part = :part
     and state = 'unknown-outcome' and gateway_id is null`,
  { affects: 'none' },
);
export const dropHeld = statement<{ before: number }>(
  'receipts.dropHeld',
  'delete from held_receipt where held_at < :before',
  { affects: 'none' },
);
/** Attempts that a restore has made, by the beginning of their ids; 0 of what stays scheduled. */
export const heldByRestore = statement<
  { rows: string },
  Pick<AttemptRow, 'account_id' | 'message_id' | 'attempt' | 'part'> & { place: bigint; parts: bigint }
>(
  'receipts.heldByRestore',
  `select given.place, attempt.account_id, attempt.message_id, attempt.attempt, attempt.part, dispatch.parts
   from {records :rows place bigint, low text, high text} as given cross join attempt cross join dispatch
   where attempt.attempt_id >= given.low and attempt.attempt_id < given.high
     and (attempt.state = 'unknown-outcome' or attempt.attempt = 0)
     and dispatch.account_id = attempt.account_id and dispatch.message_id = attempt.message_id`,
);
export const replaceAttemptId = statement<Named & { attemptId: string }>(
  'receipts.replaceAttemptId',
  `update attempt set attempt_id = :attemptId, connector = :connector
   where account_id = :account and message_id = :id and attempt = :attempt and part = :part
     and (state = 'unknown-outcome' or attempt.attempt = 0)`,
  { affects: 'none' },
);
/** Deletes receipts that have more than `newer` newer ones, except those of one millisecond. */
export const dropBeyond = statement<{ newer: number }>(
  'receipts.dropBeyond',
  `delete from held_receipt where held_at <
     (select held_at from held_receipt order by held_at desc limit 1 offset :newer)`,
  { affects: 'none' },
);

export type SilentRow = Pick<
  AttemptRow,
  'account_id' | 'message_id' | 'attempt' | 'part' | 'attempt_id' | 'state' | 'status' | 'connector'
> & {
  /** 1 if the message is still in `dispatch` and the outcome of the attempt is unknown. */
  is_open: bigint;
};
/** Attempts in the order of their ids, which is that of their times. */
export const attemptsAfter = statement<{ after: string; before: string; limit: number }, SilentRow>(
  'receipts.attemptsAfter',
  `select account_id, message_id, attempt, part, attempt_id, state, status, connector,
     case when state in ('unknown-outcome', 'submitting') then (select count(*) from dispatch
       where dispatch.account_id = attempt.account_id and dispatch.message_id = attempt.message_id) else 0 end as is_open
   from attempt where attempt_id > :after and attempt_id < :before order by attempt_id {limit :limit}`,
);
/** The last of a batch of attempts that the watch has passed; null if there is none. */
export const passedTo = statement<{ after: string; to: string; limit: number }, { last: string | null }>(
  'receipts.passedTo',
  `select max(attempt_id) as last from (select attempt_id from attempt
     where attempt_id > :after and attempt_id <= :to order by attempt_id {limit :limit}) as passed`,
);
/** Deletes attempts of messages that were deleted after the watch had passed them. */
export const removePassed = statement<{ after: string; to: string }>(
  'receipts.removePassed',
  `delete from attempt where attempt_id > :after and attempt_id <= :to
     and not exists (select 1 from sent where sent.account_id = attempt.account_id and sent.message_id = attempt.message_id)
     and not exists (select 1 from dispatch where dispatch.account_id = attempt.account_id and dispatch.message_id = attempt.message_id)`,
  { affects: 'none' },
);
/**
 * Claims a run of the maintenance, which only one process can do. A time far ahead comes from a
 * clock that was put back since.
 */
export const takeWatch = statement<{ now: number; due: number; farAhead: number }, { looked_to: string }>(
  'receipts.takeWatch',
  `update receipt_watch set taken_at = :now
   where watch_id = 1 and (taken_at < :due or taken_at > :farAhead) returning looked_to`,
  { affects: 'none' },
);
/** Reads how far the watch is, and locks it until the transaction ends. */
export const watchedTo = statement<Record<string, never>, { looked_to: string }>(
  'receipts.watchedTo',
  'select looked_to from receipt_watch where watch_id = 1 {share receipt_watch}',
);
export const moveWatch = statement<{ to: string }>(
  'receipts.moveWatch',
  'update receipt_watch set looked_to = :to where watch_id = 1',
  { affects: 'none' },
);

/** A part that a carrier has, and that it is to be asked about after a restore. */
const QUERY_FIELDS = { attemptId: 'text', connector: 'text', gatewayId: 'text', sender: 'text?' } as const;
export const queryColumns = defineColumns(QUERY_FIELDS);
export type QueryRow = RowOf<typeof QUERY_FIELDS> & { asked: bigint };
const IS_WAITING = `state = 'accepted' and gateway_id is not null
  and (status is null or status in ('ENROUTE', 'ACCEPTED', 'UNKNOWN'))`;

/** Parts without a final receipt, in the order of their times. */
export const waitingForReceipts = statement<
  { after: string; before: string; limit: number },
  RowOf<typeof QUERY_FIELDS>
>(
  'receipts.waitingForReceipts',
  `select ${queryColumns.names} from attempt
   where attempt_id > :after and attempt_id < :before and ${IS_WAITING} order by attempt_id {limit :limit}`,
);
export const addQueries = statement<{ rows: string; dueAt: number }>(
  'receipts.addQueries',
  `insert into carrier_query (${queryColumns.names}, due_at) select ${queryColumns.namesOf('waiting')}, :dueAt
   from {records :rows attempt_id text, connector text, gateway_id text, sender text} as waiting
   where true on conflict (attempt_id) do nothing`,
  { affects: 'none' },
);
/** `attempt_id > ''` is always true and makes PostgreSQL read along the key. */
export const clearQueries = statement<Record<string, never>>(
  'receipts.clearQueries',
  "delete from carrier_query where attempt_id > ''",
  { affects: 'none' },
);
export const nextQueryAt = statement<{ connector: string }, { due_at: bigint }>(
  'receipts.nextQueryAt',
  'select due_at from carrier_query where connector = :connector order by due_at limit 1',
);
/**
 * The newest part of those that are due: a carrier may have forgotten the others. If two processes
 * choose the same row, the second one finds it put off, and asks nothing.
 */
export const takeQuery = statement<{ connector: string; now: number; until: number }, QueryRow>(
  'receipts.takeQuery',
  `update carrier_query set due_at = :until, asked = asked + 1
   where due_at <= :now and attempt_id in (select attempt_id from carrier_query
     where connector = :connector and due_at <= :now order by due_at, attempt_id desc limit 1)
   returning ${queryColumns.names}, asked`,
  { affects: 'none' },
);
/**
 * How many attempts share this id of the carrier, counted up to `limit`, and when the newest of
 * these was submitted. `own_at` is null if this attempt does not wait for a receipt any more.
 */
export const withGatewayId = statement<
  { connector: string; gatewayId: string; attemptId: string; limit: number },
  { sharing: bigint; newest_at: bigint | null; own_at: bigint | null }
>(
  'receipts.withGatewayId',
  `select count(*) as sharing, max(submitted_at) as newest_at, max(own_at) as own_at from (
     select submitted_at, case when attempt_id = :attemptId and ${IS_WAITING} then submitted_at end as own_at
     from attempt where connector = :connector and gateway_id = :gatewayId and gateway_id is not null {limit :limit}) as shared`,
);
/**
 * Removes those about this id from the next ones that are due. With the id outside of the page,
 * PostgreSQL compared every row about it with every row of the page.
 */
export const removeSharing = statement<{ connector: string; gatewayId: string; now: number; limit: number }>(
  'receipts.removeSharing',
  `delete from carrier_query where attempt_id in (select attempt_id from (select attempt_id, gateway_id from carrier_query
     where connector = :connector and due_at <= :now order by due_at, attempt_id desc {limit :limit}) as due
   where gateway_id = :gatewayId)`,
  { affects: 'none' },
);
export const putOffQuery = statement<{ attemptId: string; dueAt: number; asked: number }>(
  'receipts.putOffQuery',
  'update carrier_query set due_at = :dueAt, asked = :asked where attempt_id = :attemptId',
  { affects: 'none' },
);
export const removeQuery = statement<{ attemptId: string }>(
  'receipts.removeQuery',
  'delete from carrier_query where attempt_id = :attemptId',
  { affects: 'none' },
);
export const removeQueriesOf = statement<{ connector: string }>(
  'receipts.removeQueriesOf',
  'delete from carrier_query where connector = :connector',
  { affects: 'none' },
);
