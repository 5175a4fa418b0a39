import { statement } from '../../store/statement.ts';

/** Counts messages on their way out, for the operator. `limit` bounds each count. */
export const sending = statement<
  { now: number; limit: number },
  { due: bigint; submitting: bigint; oldest_due_at: bigint | null; unknown_outcome: bigint; held: bigint }
>(
  'totals.sending',
  `select
     (select count(*) from (select 1 from dispatch_account join dispatch
        on dispatch.account_id = dispatch_account.account_id and dispatch.way = dispatch_account.way
        where next_due_at <= :now and state = 'waiting' and due_at <= :now {limit :limit}) as due) as due,
     (select count(*) from (select 1 from dispatch_account join dispatch
        on dispatch.account_id = dispatch_account.account_id and dispatch.way = dispatch_account.way
        where state = 'submitting' {limit :limit}) as submitting) as submitting,
     (select min(next_due_at) from dispatch_account where next_due_at <= :now) as oldest_due_at,
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
  'totals.waitingByConnector',
  `select connector, count(*) as waiting, min(due_at) as oldest_due_at from (
     select coalesce(nullif(dispatch.way, ''), account.connector) as connector, due_at from dispatch_account
       join account on account.account_id = dispatch_account.account_id
       join dispatch on dispatch.account_id = dispatch_account.account_id and dispatch.way = dispatch_account.way
     where next_due_at <= :now and state = 'waiting' and due_at <= :now {limit :limit}) as due
   group by connector`,
);

/** The newest submissions of all accounts whose ids are less than `before`. */
export const submissionsBefore = statement<
  { before: string; limit: number },
  { connector: string; submitted_at: bigint; status_at: bigint | null }
>(
  'totals.submissionsBefore',
  `select connector, submitted_at, status_at from attempt where attempt_id < :before
   order by attempt_id desc {limit :limit}`,
);
