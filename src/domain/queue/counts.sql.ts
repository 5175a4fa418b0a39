import { statement } from '../../store/statement.ts';

/** Counts messages on their way out, for the operator. `limit` bounds each count. */
export const sending = statement<
  { now: number; limit: number },
  { due: bigint; submitting: bigint; unknown_outcome: bigint; held: bigint }
>(
  'counts.sending',
  `select
     (select count(*) from (select 1 from dispatch_account join dispatch
        on dispatch.account_id = dispatch_account.account_id and dispatch.way = dispatch_account.way
        where next_due_at <= :now and state = 'waiting' and due_at <= :now {limit :limit}) as due) as due,
     (select count(*) from (select 1 from dispatch_account join dispatch
        on dispatch.account_id = dispatch_account.account_id and dispatch.way = dispatch_account.way
        where state = 'submitting' {limit :limit}) as submitting) as submitting,
     (select count(*) from dispatch where state in ('unknown-outcome', 'needs-decision')) as unknown_outcome,
     (select count(*) from (select 1 from dispatch where state = 'held' {limit :limit}) as held) as held`,
);

/**
 * Messages that are due, by the way of their route or the connector of their account; null for the
 * default one.
 */
export const waitingByConnector = statement<
  { now: number; limit: number },
  { connector: string | null; waiting: bigint; oldest_due_at: bigint }
>(
  'counts.waitingByConnector',
  `select connector, count(*) as waiting, min(due_at) as oldest_due_at from (
     select coalesce(nullif(dispatch.way, ''), account.connector) as connector, due_at from dispatch_account
       join account on account.account_id = dispatch_account.account_id
       join dispatch on dispatch.account_id = dispatch_account.account_id and dispatch.way = dispatch_account.way
     where next_due_at <= :now and state = 'waiting' and due_at <= :now {limit :limit}) as due
   group by connector`,
);

/**
 * Messages that were tried and are to be tried again, which have their own index. `later` are those
 * that are not due now. Messages of before this count have no time when they were first due.
 */
export const retriedByConnector = statement<
  { now: number; never: number; limit: number },
  { connector: string | null; later: bigint; first_due_at: bigint }
>(
  'counts.retriedByConnector',
  `select connector, cast(sum(is_later) as bigint) as later, min(first_due_at) as first_due_at from (
     select coalesce(nullif(dispatch.way, ''), account.connector) as connector,
       case when due_at > :now then 1 else 0 end as is_later, coalesce(first_due_at, due_at) as first_due_at
     from dispatch_account join account on account.account_id = dispatch_account.account_id
       join dispatch {using dispatch_retried} on dispatch.account_id = dispatch_account.account_id and dispatch.way = dispatch_account.way
     where next_due_at < :never and state = 'waiting' and attempts > 0 {limit :limit}) as retried
   group by connector`,
);

/** The newest submissions of all accounts whose ids are less than `before`. */
export const submissionsBefore = statement<
  { before: string; limit: number },
  { connector: string; submitted_at: bigint; status_at: bigint | null }
>(
  'counts.submissionsBefore',
  `select connector, submitted_at, status_at from attempt where attempt_id < :before
   order by attempt_id desc {limit :limit}`,
);
