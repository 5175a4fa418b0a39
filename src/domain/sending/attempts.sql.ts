import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Submissions of parts: see schema/sending.ts. Accounts do not see them. */
const ATTEMPT_FIELDS = {
  messageId: 'long',
  attempt: 'number',
  part: 'number',
  /** Our own id of the submission. */
  attemptId: 'text',
  connector: 'text',
  /** The carrier's own id. */
  gatewayId: 'text?',
  /** `submitting`, `accepted`, `refused` or `unknown-outcome`. */
  state: 'text',
  submittedAt: 'instant',
  /** What the receipts so far say. */
  status: 'text?',
  statusAt: 'instant?',
  /** Why it was refused or has no answer, in the words of the carrier or in ours. */
  reason: 'text?',
  settledAt: 'instant?',
  /** For a carrier that is asked about it; null where the message names none. */
  sender: 'text?',
} as const;

export type AttemptValues = ValuesOf<typeof ATTEMPT_FIELDS>;
export type AttemptRow = RowOf<typeof ATTEMPT_FIELDS> & { account_id: bigint };
export const attemptColumns = defineColumns(ATTEMPT_FIELDS);
type One = { account: AccountKey };

/** Written before the call to the carrier leaves. */
export const add = statement<
  One & { id: bigint } & Pick<AttemptValues, 'attempt' | 'part' | 'attemptId' | 'connector' | 'submittedAt' | 'sender'>
>(
  'attempts.add',
  `insert into attempt (account_id, message_id, attempt, part, attempt_id, connector, state, submitted_at, sender)
   values (:account, :id, :attempt, :part, :attemptId, :connector, 'submitting', :submittedAt, :sender)`,
  { affects: 'none' },
);
/**
 * Writes the answers to submissions. A receipt that came before proves more than an unknown
 * outcome, so `accepted` stays, and so does a refusal that a late answer told before. But the
 * report of a refusal that came before the refusal itself proves nothing.
 */
export const settle = statement<One & { rows: string }>(
  'attempts.settle',
  `update attempt set state = case
       when settled.state = 'refused' and attempt.status in ('REJECTED', 'UNDELIVERABLE', 'EXPIRED', 'DELETED', 'UNKNOWN') then 'refused'
       when attempt.state = 'accepted' or (attempt.state = 'refused' and settled.state = 'unknown-outcome') then attempt.state
       else settled.state end,
     gateway_id = coalesce(settled.gateway_id, attempt.gateway_id), reason = coalesce(settled.reason, attempt.reason),
     settled_at = settled.settled_at
   from {records :rows account_id bigint, message_id bigint, attempt bigint, part bigint, state text, gateway_id text, reason text, settled_at bigint} as settled
   where {joined attempt.account_id :account} and attempt.account_id = settled.account_id and attempt.message_id = settled.message_id
     and attempt.attempt = settled.attempt and attempt.part = settled.part`,
  { affects: 'none' },
);
/**
 * Stands for a submission of the time that a restore has lost, of a message that stays scheduled.
 * It counts as refused, because the message is sent when it is due: only a receipt finds it.
 */
export const addLost = statement<
  One & { id: bigint } & Pick<AttemptValues, 'part' | 'attemptId' | 'submittedAt' | 'sender'>
>(
  'attempts.addLost',
  `insert into attempt (account_id, message_id, attempt, part, attempt_id, connector, state, submitted_at, sender)
   values (:account, :id, 0, :part, :attemptId, '', 'refused', :submittedAt, :sender)
   on conflict (account_id, message_id, attempt, part) do update set attempt_id = excluded.attempt_id, submitted_at = excluded.submitted_at`,
  { affects: 'none' },
);
/** Another attempt stands for the lost time, because the messages are held. */
export const removeLost = statement<One & { ids: string }>(
  'attempts.removeLost',
  'delete from attempt where account_id = :account and message_id {among :ids} and coalesce(attempt.attempt, 0) = 0',
  { affects: 'none' },
);
/** The submission that a late answer is about. */
export const byAttemptId = statement<
  { attemptId: string; connector: string },
  Pick<AttemptRow, 'account_id' | 'message_id' | 'attempt' | 'part'>
>(
  'attempts.byAttemptId',
  `select account_id, message_id, attempt, part from attempt
   where attempt_id = :attemptId and connector = :connector`,
);
/** The process that submitted these parts has ended without an answer. */
export const setUnknownOutcome = statement<One & { ids: string }>(
  'attempts.setUnknownOutcome',
  `update attempt set state = 'unknown-outcome'
   where account_id = :account and message_id {among :ids} and state = 'submitting'`,
  { affects: 'none' },
);
/** A receipt proves that the carrier has the part. */
export const prove = statement<One & { id: bigint; attempt: bigint; part: bigint }>(
  'attempts.prove',
  `update attempt set state = 'accepted'
   where account_id = :account and message_id = :id and attempt = :attempt and part = :part`,
  { affects: 'none' },
);
/** For each part, over all attempts: whether a carrier has it, and whether an answer is missing. */
export const partStates = statement<
  One & { ids: string },
  Pick<AttemptRow, 'message_id' | 'part'> & { is_accepted: bigint; is_unknown: bigint }
>(
  'attempts.partStates',
  `select message_id, part, cast(max(case when state = 'accepted' then 1 else 0 end) as bigint) as is_accepted,
     cast(max(case when state in ('unknown-outcome', 'submitting') then 1 else 0 end) as bigint) as is_unknown
   from attempt where account_id = :account and message_id {among :ids} group by message_id, part`,
);
/** The operator decides that the carrier has the unanswered parts. */
export const setTaken = statement<One & { id: bigint }, Pick<AttemptRow, 'attempt' | 'part' | 'attempt_id'>>(
  'attempts.setTaken',
  `update attempt set state = 'accepted'
   where account_id = :account and message_id = :id and state in ('unknown-outcome', 'submitting')
   returning attempt, part, attempt_id`,
  { affects: 'none' },
);
/** The operator decides that the carrier has none of the unanswered parts. */
export const setNotTaken = statement<One & { id: bigint }>(
  'attempts.setNotTaken',
  `update attempt set state = 'refused'
   where account_id = :account and message_id = :id and state in ('unknown-outcome', 'submitting')`,
  { affects: 'none' },
);
/** Without those that stand for a time that a restore has lost, unless a receipt has named them. */
export const ofMessage = statement<One & { id: bigint }, RowOf<typeof ATTEMPT_FIELDS>>(
  'attempts.ofMessage',
  `select ${attemptColumns.namesOf('attempt')} from attempt
   where account_id = :account and message_id = :id and (attempt.attempt > 0 or connector <> '')
   order by attempt.attempt, part`,
);
/** Deletes attempts of deleted messages that are not on their way: no receipt matters any more. */
export const removeUseless = statement<One & { ids: string }>(
  'attempts.removeUseless',
  `delete from attempt where account_id = :account and message_id {among :ids}
     and not exists (select 1 from sent where sent.account_id = :account and sent.message_id = attempt.message_id)
     and not exists (select 1 from dispatch where dispatch.account_id = :account and dispatch.message_id = attempt.message_id)`,
  { affects: 'none' },
);
