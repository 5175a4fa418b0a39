import { postgresTrigger } from './tally.ts';

/**
 * batch: messages that were accepted together are one row, whose id is that of its first message.
 * `accepted`, `refused`, `parts` and `credits` are what was accepted; `used` are the credits that
 * were captured since. The other counts say how many of its messages are in each state now.
 * Triggers keep them in the transaction that changes a message, so a batch of a million messages
 * is shown as quickly as one of two. Messages that were deleted are in none of them.
 *
 * sent.resent_as: the newer message that repeats this one. A failed message is then counted as
 * resent instead of failed, so that it is not sent a third time by mistake.
 *
 * The partial indexes list messages without a batch, and the messages of a batch by their status.
 */
export const batchTables = `
  create table batch (
    account_id bigint not null references account on delete cascade,
    batch_id bigint not null,
    name text,
    created_at bigint not null,
    due_at bigint not null,
    accepted bigint not null,
    refused bigint not null,
    parts bigint not null,
    credits bigint not null,
    used bigint not null default 0,
    in_schedule bigint not null default 0,
    queued bigint not null default 0,
    submitted bigint not null default 0,
    delivered bigint not null default 0,
    failed bigint not null default 0,
    resent bigint not null default 0,
    cancelled bigint not null default 0,
    unknown bigint not null default 0,
    started_at bigint,
    last_at bigint,
    primary key (account_id, batch_id)
  ) {clustered};
  create index batch_by_time on batch (account_id, due_at, batch_id);
  alter table sent add column batch_id bigint;
  alter table sent add column resent_as bigint;
  alter table scheduled add column batch_id bigint;
  alter table dispatch add column batch_id bigint;
  create index sent_single on sent (account_id, sent_at, message_id) where batch_id is null;
  create index sent_by_batch on sent (account_id, batch_id, status, message_id) where batch_id is not null;
  create index scheduled_single on scheduled (account_id, scheduled_at, message_id) where batch_id is null;
  create index scheduled_by_batch on scheduled (account_id, batch_id, message_id) where batch_id is not null;
`;

const FAILED = "$.status in ('UNDELIVERABLE', 'EXPIRED', 'REJECTED')";
/** The count that a sent message belongs to; `$` is its row. */
const BUCKETS: Readonly<Record<string, string>> = {
  queued: "$.status = 'QUEUED'",
  submitted: "$.status in ('SUBMITTED', 'ENROUTE', 'ACCEPTED')",
  delivered: "$.status = 'DELIVERED'",
  failed: `${FAILED} and $.resent_as is null`,
  resent: `${FAILED} and $.resent_as is not null`,
  cancelled: "$.status = 'DELETED'",
  unknown: "$.status = 'UNKNOWN'",
};
const isIn = (bucket: string, row: string): string => `(${(BUCKETS[bucket] as string).replaceAll('$', row)})`;
export const batchCounts = Object.keys(BUCKETS);

const ofBatch = (row: string) => `account_id = ${row}.account_id and batch_id = ${row}.batch_id`;
const each = (change: (bucket: string) => string): string =>
  batchCounts.map((bucket) => `${bucket} = ${bucket} ${change(bucket)}`).join(', ');

export const sqliteBatches = `
  create trigger batch_sent_insert after insert on sent when new.batch_id is not null begin
    update batch set ${each((bucket) => `+ ${isIn(bucket, 'new')}`)} where ${ofBatch('new')};
  end;
  create trigger batch_sent_update after update of status, resent_as on sent
    when new.batch_id is not null and (new.status <> old.status or new.resent_as is not old.resent_as) begin
    update batch set ${each((bucket) => `+ ${isIn(bucket, 'new')} - ${isIn(bucket, 'old')}`)} where ${ofBatch('new')};
    update batch set started_at = min(coalesce(started_at, new.updated_at), new.updated_at),
        last_at = max(coalesce(last_at, new.updated_at), new.updated_at)
      where ${ofBatch('new')} and old.status = 'QUEUED' and new.status <> 'QUEUED';
  end;
  create trigger batch_sent_delete after delete on sent when old.batch_id is not null begin
    update batch set ${each((bucket) => `- ${isIn(bucket, 'old')}`)} where ${ofBatch('old')};
  end;
  create trigger batch_scheduled_insert after insert on scheduled when new.batch_id is not null begin
    update batch set in_schedule = in_schedule + 1 where ${ofBatch('new')};
  end;
  create trigger batch_scheduled_delete after delete on scheduled when old.batch_id is not null begin
    update batch set in_schedule = in_schedule - 1 where ${ofBatch('old')};
  end;
`;

/** How many of these rows of `sent` are in each state, by batch. */
export const countedByBatch = (rows: string): string =>
  `select account_id, batch_id, ${batchCounts
    .map((bucket) => `count(*) filter (where ${isIn(bucket, rows)}) as ${bucket}`)
    .join(', ')} from ${rows} where batch_id is not null group by account_id, batch_id`;
const apply = (sign: '+' | '-', rows: string): string =>
  `update batch set ${batchCounts.map((bucket) => `${bucket} = batch.${bucket} ${sign} changed.${bucket}`).join(', ')}
     from (${countedByBatch(rows)}) as changed where batch.account_id = changed.account_id and batch.batch_id = changed.batch_id;`;
const applyScheduled = (sign: '+' | '-', rows: string): string =>
  `update batch set in_schedule = batch.in_schedule ${sign} changed.total
     from (select account_id, batch_id, count(*) as total from ${rows} where batch_id is not null group by account_id, batch_id) as changed
     where batch.account_id = changed.account_id and batch.batch_id = changed.batch_id;`;

/** Once per statement: a row that is updated often in one transaction gets slower each time. */
export const postgresBatches = `
  ${postgresTrigger(
    'batch_sent_insert',
    'insert on sent referencing new table as added for each statement',
    apply('+', 'added'),
  )}
  ${postgresTrigger(
    'batch_sent_update',
    'update on sent referencing old table as gone new table as added for each statement',
    `if exists (select 1 from added where batch_id is not null) then
       ${apply('-', 'gone')}
       ${apply('+', 'added')}
       update batch set started_at = least(batch.started_at, changed.first_at), last_at = greatest(batch.last_at, changed.last_at)
         from (select added.account_id, added.batch_id, min(added.updated_at) as first_at, max(added.updated_at) as last_at
           from added join gone on gone.account_id = added.account_id and gone.message_id = added.message_id
           where added.batch_id is not null and gone.status = 'QUEUED' and added.status <> 'QUEUED'
           group by added.account_id, added.batch_id) as changed
         where batch.account_id = changed.account_id and batch.batch_id = changed.batch_id;
     end if;`,
  )}
  ${postgresTrigger(
    'batch_sent_delete',
    'delete on sent referencing old table as gone for each statement',
    apply('-', 'gone'),
  )}
  ${postgresTrigger(
    'batch_scheduled_insert',
    'insert on scheduled referencing new table as added for each statement',
    applyScheduled('+', 'added'),
  )}
  ${postgresTrigger(
    'batch_scheduled_delete',
    'delete on scheduled referencing old table as gone for each statement',
    applyScheduled('-', 'gone'),
  )}
`;
