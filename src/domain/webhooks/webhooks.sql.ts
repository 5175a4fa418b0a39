import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Webhooks, what is to be delivered to them, and the attempts. */
const fields = {
  id: 'long',
  accountId: 'long?',
  url: 'text',
  /** The types of events, separated by commas. */
  events: 'text',
  isFull: 'flag',
  secret: 'text',
  oldSecret: 'text?',
  oldSecretUntil: 'instant?',
  createdAt: 'instant',
  disabledAt: 'instant?',
  disabledReason: 'text?',
} as const;
const WEBHOOK_ID = { id: 'webhook_id' } as const;
export type WebhookRow = RowOf<typeof fields, typeof WEBHOOK_ID> & { username: string | null };
export const webhookColumns = defineColumns(fields, WEBHOOK_ID);
const none = { affects: 'none' } as const;
type One = { webhook: bigint };
type Delivery = One & { event: bigint };
const columns = `${webhookColumns.namesOf('webhook')}, username`;
const source = 'webhook left join account_directory on account_directory.account_id = webhook.account_id';

export const addWebhook = statement<
  One & { owner: bigint | null; url: string; events: string; isFull: number; secret: string; createdAt: number }
>(
  'webhooks.add',
  `insert into webhook (webhook_id, account_id, url, events, is_full, secret, created_at)
   values (:webhook, :owner, :url, :events, :isFull, :secret, :createdAt)`,
  none,
);
export const countWebhooks = statement<Record<string, never>, { total: bigint }>(
  'webhooks.count',
  'select count(*) as total from webhook',
);
export const webhookById = statement<One, WebhookRow>(
  'webhooks.byId',
  `select ${columns} from ${source} where webhook_id = :webhook`,
);
export const webhooksAfter = statement<{ afterAt: number; afterId: bigint; limit: number }, WebhookRow>(
  'webhooks.after',
  `select ${columns} from ${source} where (webhook.created_at, webhook_id) > (:afterAt, :afterId)
   order by webhook.created_at, webhook_id {limit :limit}`,
);
export const removeWebhook = statement<One>('webhooks.remove', 'delete from webhook where webhook_id = :webhook', none);
export const rotateSecret = statement<One & { secret: string; until: number }>(
  'webhooks.rotate',
  `update webhook set old_secret = secret, old_secret_until = :until, secret = :secret where webhook_id = :webhook`,
  none,
);
export const setWebhookDisabled = statement<One & { disabledAt: number | null; reason: string | null }>(
  'webhooks.setDisabled',
  'update webhook set disabled_at = :disabledAt, disabled_reason = :reason where webhook_id = :webhook',
  none,
);

/** The webhooks that have an event due now. */
export const webhooksDue = statement<{ now: number }, One & { webhook_id: bigint }>(
  'webhooks.due',
  `select webhook_id from webhook where disabled_at is null and exists (select 1 from webhook_delivery
     where webhook_delivery.webhook_id = webhook.webhook_id and due_at <= :now and lease_until <= :now)
   order by webhook_id`,
);
export interface DeliveryRow {
  webhook_id: bigint;
  event_id: bigint;
  account_id: bigint | null;
  type: string;
  at: bigint;
  data: string;
  attempts: bigint;
}
/**
 * Leases the oldest deliveries that are due. If two processes choose the same row, the second one
 * finds the lease of the first and leaves the row alone.
 */
export const claimDue = statement<One & { now: number; until: number; limit: number }, DeliveryRow>(
  'webhooks.claim',
  `update webhook_delivery set lease_until = :until
   where webhook_id = :webhook and due_at <= :now and lease_until <= :now and event_id in
     (select event_id from webhook_delivery where webhook_id = :webhook and due_at <= :now and lease_until <= :now
      order by due_at, event_id {limit :limit})
   returning webhook_id, event_id, account_id, type, at, data, attempts`,
  none,
);
/** Only the process with the lease writes the result. */
export const settleDelivery = statement<Delivery & { lease: number; attempts: number; dueAt: number | null }>(
  'webhooks.settle',
  `update webhook_delivery set attempts = :attempts, due_at = :dueAt, lease_until = 0
   where webhook_id = :webhook and event_id = :event and lease_until = :lease`,
  none,
);
export const addAttempt = statement<
  Delivery & { number: number; at: number; status: number | null; error: string | null; durationMs: number }
>(
  'webhooks.addAttempt',
  `insert into webhook_attempt (webhook_id, event_id, number, at, status, error, duration_ms)
   values (:webhook, :event, :number, :at, :status, :error, :durationMs)
   on conflict (webhook_id, event_id, number) do nothing`,
  none,
);
export interface AttemptRow {
  event_id: bigint;
  number: bigint;
  at: bigint;
  status: bigint | null;
  error: string | null;
  duration_ms: bigint;
  type: string;
  due_at: bigint | null;
  attempts: bigint;
}
export const attemptsBefore = statement<
  One & { beforeAt: number; beforeEvent: bigint; beforeNumber: number; limit: number },
  AttemptRow
>(
  'webhooks.attemptsBefore',
  `select webhook_attempt.event_id, number, webhook_attempt.at, status, error, duration_ms, type, due_at, attempts
   from webhook_attempt join webhook_delivery on webhook_delivery.webhook_id = webhook_attempt.webhook_id
     and webhook_delivery.event_id = webhook_attempt.event_id
   where webhook_attempt.webhook_id = :webhook
     and (webhook_attempt.at, webhook_attempt.event_id, number) < (:beforeAt, :beforeEvent, :beforeNumber)
   order by webhook_attempt.at desc, webhook_attempt.event_id desc, number desc {limit :limit}`,
);
export type EventRow = DeliveryRow & { due_at: bigint | null; username: string | null };
type FromEvent = { sinceAt: number; afterAt: number; afterWebhook: bigint; afterEvent: bigint; limit: number };
const eventColumns = `webhook_id, event_id, webhook_delivery.account_id, type, at, data, attempts, due_at, username`;
const eventSource =
  'webhook_delivery left join account_directory on account_directory.account_id = webhook_delivery.account_id';
const eventOrder = `at >= :sinceAt and (at, webhook_id, event_id) > (:afterAt, :afterWebhook, :afterEvent)
   order by at, webhook_id, event_id {limit :limit}`;
export const eventsAfter = statement<FromEvent, EventRow>(
  'webhooks.eventsAfter',
  `select ${eventColumns} from ${eventSource} where ${eventOrder}`,
);
export const eventsOfWebhookAfter = statement<FromEvent & One, EventRow>(
  'webhooks.eventsOfWebhookAfter',
  `select ${eventColumns} from ${eventSource} where webhook_id = :webhook and ${eventOrder}`,
);
/** Adds an event without an account, for one webhook. */
export const addTest = statement<Delivery & { at: number }>(
  'webhooks.addTest',
  `insert into webhook_delivery (webhook_id, event_id, account_id, type, at, data, due_at, attempts, lease_until)
   values (:webhook, :event, null, 'webhook.test', :at, '{}', :at, 0, 0)`,
  none,
);
/** Makes a delivery due again. The numbers of its attempts continue. */
export const resendDelivery = statement<Delivery & { dueAt: number }>(
  'webhooks.resend',
  'update webhook_delivery set due_at = :dueAt where webhook_id = :webhook and event_id = :event',
  none,
);
/** Attempts are deleted with their deliveries. */
export const deleteOldDeliveries = statement<{ before: number; limit: number }>(
  'webhooks.deleteOld',
  `delete from webhook_delivery where (webhook_id, event_id) in
     (select webhook_id, event_id from webhook_delivery where at < :before order by at {limit :limit})`,
  none,
);
