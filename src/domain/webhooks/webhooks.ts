import { conflict, notFound } from '../../base/problem.ts';
import { randomBytes, randomId } from '../../base/random.ts';
import { LAST_ID } from '../../store/cursor.ts';
import type { Database, Queries } from '../../store/database.ts';
import { findAccount } from '../accounts/accounts.ts';
import { type EventType, type FormerEventType, formerTypesOf } from '../accounts/events.ts';
import { receivedOf } from '../messages/received.ts';
import { sentOf } from '../messages/sent.ts';
import * as sql from './webhooks.sql.ts';

/** Addresses of other programs, to which events are delivered. */
export interface Webhook {
  readonly id: bigint;
  /** Only events of this account; null for all accounts. */
  readonly username: string | null;
  readonly url: string;
  readonly events: readonly (EventType | FormerEventType)[];
  /** Whether numbers and texts are sent too, not only ids. */
  readonly full: boolean;
  readonly createdAt: number;
  readonly disabledAt: number | null;
  readonly disabledReason: string | null;
}

export interface NewWebhook {
  readonly account: bigint | null;
  readonly url: string;
  readonly events: readonly (EventType | FormerEventType)[];
  readonly full: boolean;
}

export interface WebhookAttempt {
  readonly eventId: bigint;
  readonly type: string;
  readonly number: number;
  readonly at: number;
  /** The status of the answer; null without an answer. */
  readonly status: number | null;
  readonly error: string | null;
  readonly durationMs: number;
  /** When the next attempt is due; null if none follows. */
  readonly nextAt: number | null;
}

/** The number of webhooks is limited, because each change looks through them. */
const WEBHOOKS_MAX = 100;
/** How long the old secret is used beside a new one. */
export const ROTATION_MS = 24 * 3_600_000;
const SECRET_BYTES = 32;
/** How long events and attempts are stored, delivered or not. */
const KEPT_MS = 30 * 24 * 3_600_000;
const REMOVED_AT_ONCE = 100;

/** A new secret, as Standard Webhooks 1.0 writes it. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

export async function addWebhook(
  database: Database,
  { account, url, events, full }: NewWebhook,
  now: number,
): Promise<{ webhook: Webhook; secret: string }> {
  const count = Number((await database.first(sql.countWebhooks, {}))?.total ?? 0n);
  if (count >= WEBHOOKS_MAX) throw conflict(`There are ${WEBHOOKS_MAX} webhooks already. Remove one first.`);
  const id = randomId();
  const secret = newWebhookSecret();
  // Whoever names an event by both names gets it once, under the new one.
  const isDouble = (type: string) =>
    events.some((each) => formerTypesOf(each as EventType).some((former) => former === type));
  const wanted = events.filter((type) => !isDouble(type));
  const row = { webhook: id, owner: account, url, events: `,${wanted.join()},`, isFull: full ? 1 : 0, secret };
  await database.run(sql.addWebhook, { ...row, createdAt: now });
  return { webhook: await webhookWithId(database, id), secret };
}

const webhookWithId = async (database: Database, id: bigint): Promise<Webhook> => toWebhook(await rowOf(database, id));

async function rowOf(database: Queries, webhook: bigint): Promise<sql.WebhookRow> {
  const row = await database.first(sql.webhookById, { webhook });
  if (!row) throw notFound('webhook with this id');
  return row;
}

/** Lists webhooks, the oldest first. */
export async function webhooksAfter(
  database: Database,
  after: readonly [at: number, id: bigint] | null,
  limit: number,
): Promise<Webhook[]> {
  const [afterAt, afterId] = after ?? [-(2 ** 53 - 1), 0n];
  return (await database.all(sql.webhooksAfter, { afterAt, afterId, limit })).map(toWebhook);
}

/** Removes a webhook with its events and attempts. */
export async function removeWebhook(database: Database, id: bigint): Promise<Webhook> {
  const webhook = await webhookWithId(database, id);
  await database.run(sql.removeWebhook, { webhook: id });
  return webhook;
}

/** Both secrets sign for 24 hours, so that the receiver has time to change its own. */
export async function rotateSecret(database: Database, id: bigint, now: number): Promise<string> {
  await rowOf(database, id);
  const secret = newWebhookSecret();
  await database.run(sql.rotateSecret, { webhook: id, secret, until: now + ROTATION_MS });
  return secret;
}

/** No events are written for a disabled webhook. Delivery of the earlier ones continues. */
export async function enableWebhook(database: Database, id: bigint): Promise<Webhook> {
  await rowOf(database, id);
  await database.run(sql.setWebhookDisabled, { webhook: id, disabledAt: null, reason: null });
  return webhookWithId(database, id);
}

/** Lists attempts, the newest first. */
export async function attemptsBefore(
  database: Database,
  id: bigint,
  before: readonly [at: number, event: bigint, number: number] | null,
  limit: number,
): Promise<WebhookAttempt[]> {
  await rowOf(database, id);
  const [beforeAt, beforeEvent, beforeNumber] = before ?? [2 ** 53 - 1, LAST_ID, 0];
  const rows = await database.all(sql.attemptsBefore, { webhook: id, beforeAt, beforeEvent, beforeNumber, limit });
  return rows.map((row) => ({
    eventId: row.event_id,
    type: row.type,
    number: Number(row.number),
    at: Number(row.at),
    status: row.status === null ? null : Number(row.status),
    error: row.error,
    durationMs: Number(row.duration_ms),
    nextAt: row.due_at === null || row.number !== row.attempts ? null : Number(row.due_at),
  }));
}

/** An event as one webhook gets it. Its data has ids, never a number or a text. */
export interface StoredEvent {
  readonly id: bigint;
  readonly webhookId: bigint;
  readonly username: string | null;
  readonly type: string;
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly attempts: number;
  /** When the next attempt is due; null if none follows. */
  readonly nextAt: number | null;
}

/** Lists the events of all webhooks, or of one, the oldest first. */
export async function eventsAfter(
  database: Database,
  { webhook, since }: { readonly webhook: bigint | null; readonly since: number },
  after: readonly [at: number, webhook: bigint, event: bigint] | null,
  limit: number,
): Promise<StoredEvent[]> {
  const [afterAt, afterWebhook, afterEvent] = after ?? [-(2 ** 53 - 1), 0n, 0n];
  const from = { sinceAt: since, afterAt, afterWebhook, afterEvent, limit };
  if (webhook === null) return (await database.all(sql.eventsAfter, from)).map(toEvent);
  await rowOf(database, webhook);
  return (await database.all(sql.eventsOfWebhookAfter, { ...from, webhook })).map(toEvent);
}

const toEvent = (row: sql.EventRow): StoredEvent => ({
  id: row.event_id,
  webhookId: row.webhook_id,
  username: row.username,
  type: row.type,
  at: Number(row.at),
  data: JSON.parse(row.data) as Record<string, unknown>,
  attempts: Number(row.attempts),
  nextAt: row.due_at === null ? null : Number(row.due_at),
});

/** Delivers an event once more, from now on. */
export async function resendEvent(database: Database, id: bigint, event: bigint, now: number): Promise<void> {
  await rowOf(database, id);
  if ((await database.run(sql.resendDelivery, { webhook: id, event, dueAt: now })) === 0) {
    throw notFound('event of this webhook with this id');
  }
}

/** Adds an empty event for this webhook alone, to test whether its receiver answers. */
export async function testWebhook(database: Database, id: bigint, now: number): Promise<bigint> {
  const row = await rowOf(database, id);
  if (row.disabled_at !== null) throw conflict('The webhook is switched off. Enable it first.');
  const event = randomId();
  await database.run(sql.addTest, { webhook: id, event, at: now });
  return event;
}

export const removeOldEvents = (database: Database, now: number): Promise<number> =>
  database.run(sql.deleteOldDeliveries, { before: now - KEPT_MS, limit: REMOVED_AT_ONCE });

/** One event on its way to one webhook, held by a lease. */
export interface Delivery {
  readonly webhookId: bigint;
  readonly eventId: bigint;
  readonly lease: number;
  /** How many attempts there were. */
  readonly attempts: number;
  readonly url: string;
  /** The newest first. */
  readonly secrets: readonly string[];
  readonly body: string;
}

/** Claims a few due events of each webhook, so that no webhook keeps the others waiting. */
export async function claimDeliveries(
  database: Database,
  { now, leaseMs, perWebhook }: { now: number; leaseMs: number; perWebhook: (webhook: bigint) => number },
): Promise<Delivery[]> {
  const claimed: Delivery[] = [];
  for (const { webhook_id: webhook } of await database.all(sql.webhooksDue, { now })) {
    const limit = perWebhook(webhook);
    if (limit <= 0) continue;
    const rows = await database.all(sql.claimDue, { webhook, now, until: now + leaseMs, limit });
    const hook = rows.length > 0 ? await database.first(sql.webhookById, { webhook }) : undefined;
    if (hook) for (const row of rows) claimed.push(await deliveryOf(database, hook, row, now, now + leaseMs));
  }
  return claimed;
}

async function deliveryOf(
  database: Queries,
  hook: sql.WebhookRow,
  row: sql.DeliveryRow,
  now: number,
  lease: number,
): Promise<Delivery> {
  const isRotating = hook.old_secret !== null && Number(hook.old_secret_until ?? 0n) > now;
  return {
    webhookId: row.webhook_id,
    eventId: row.event_id,
    lease,
    attempts: Number(row.attempts),
    url: hook.url,
    secrets: isRotating ? [hook.secret, hook.old_secret as string] : [hook.secret],
    body: JSON.stringify({
      type: row.type,
      timestamp: new Date(Number(row.at)).toISOString(),
      data: await dataOf(database, row, hook.is_full !== 0n),
    }),
  };
}

/** The data of an event. For a message that was deleted since, only the ids are left. */
async function dataOf(database: Queries, row: sql.DeliveryRow, full: boolean): Promise<object> {
  const data = JSON.parse(row.data) as { messageId?: string };
  const account = row.account_id;
  if (account === null) return data;
  const username = (await findAccount(database, account))?.username ?? null;
  const named = { account: username, ...data };
  if (!full || data.messageId === undefined) return named;
  const id = BigInt(data.messageId);
  if (row.type === 'message.received') {
    const message = await receivedOf(database, account, id);
    if (!message) return named;
    const { sender, text, shortCode, receivedAt } = message;
    return { ...named, sender, text, shortCode, receivedAt: new Date(receivedAt).toISOString() };
  }
  const message = await sentOf(database, account, id);
  return message ? { ...named, recipient: message.recipient, text: message.text, reference: message.reference } : named;
}

export interface DeliveryResult {
  readonly at: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly durationMs: number;
  /** When to try again; null for never. */
  readonly nextAt: number | null;
  /** Whether the receiver wants no more events. */
  readonly gone: boolean;
}

/** Writes the result of an attempt, unless the lease has run out and another process has it. */
export function settleDelivery(database: Database, delivery: Delivery, result: DeliveryResult): Promise<void> {
  const { webhookId: webhook, eventId: event, lease } = delivery;
  const number = delivery.attempts + 1;
  return database.transaction(null, async (queries) => {
    const settled = { webhook, event, lease, attempts: number, dueAt: result.nextAt };
    if ((await queries.run(sql.settleDelivery, settled)) === 0) return;
    const { at, status, error, durationMs, gone } = result;
    await queries.run(sql.addAttempt, { webhook, event, number, at, status, error, durationMs });
    if (gone) await queries.run(sql.setWebhookDisabled, { webhook, disabledAt: at, reason: GONE });
  });
}

const GONE = 'the receiver answered 410 Gone';

function toWebhook(row: sql.WebhookRow): Webhook {
  const { id, url, events, isFull, createdAt, disabledAt, disabledReason } = sql.webhookColumns.read(row);
  return {
    id,
    username: row.username,
    url,
    events: events.split(',').filter(Boolean) as Webhook['events'][number][],
    full: isFull,
    createdAt,
    disabledAt,
    disabledReason,
  };
}
