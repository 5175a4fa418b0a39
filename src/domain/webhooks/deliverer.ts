import type { Clock } from '../../base/clock.ts';
import { createRepeat } from '../../base/repeat.ts';
import type { Database } from '../../store/database.ts';
import type { SendEvent, SentEvent } from './sender.ts';
import { signedFields } from './standard-webhooks.ts';
import { claimDeliveries, type Delivery, type DeliveryResult, removeOldEvents, settleDelivery } from './webhooks.ts';

/**
 * Delivers events to webhooks. Each serving process has a deliverer, and they share the work
 * through the database. The lease of a process that dies runs out, and another process takes over.
 */
export interface EventDeliverer {
  start(): void;
  /** Delivers the events that are due now. Returns the number of attempts. */
  deliverDue(): Promise<number>;
  /** Resolves when the attempts under way have ended. */
  stop(): Promise<void>;
}

export interface DelivererSettings {
  readonly database: Database;
  readonly clock: Clock;
  readonly send: SendEvent;
  readonly failed: (thrown: unknown) => void;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The pause after each failed attempt; the tenth attempt is the last. */
export const RETRY_AFTER_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;
/** Pauses are longer by up to this share, so that events that failed together are spread. */
const JITTER = 0.2;
const RETRY_AFTER_MAX_MS = 24 * HOUR;
export const ANSWER_TIMEOUT_MS = 15 * SECOND;
/** Longer than an attempt can take. */
const LEASE_MS = MINUTE;
const PER_WEBHOOK = 4;
const LOOK_EVERY_MS = SECOND;
const CLEAN_EVERY_MS = HOUR;
/** How long a stop waits for running attempts. Then they are given up and tried again later. */
const STOP_MS = 2 * SECOND;

export function createEventDeliverer(settings: DelivererSettings): EventDeliverer {
  const { database, clock, failed } = settings;
  const { now } = clock;
  const attempts = createAttempts(settings);
  let cleanedAt = -Infinity;

  async function look(): Promise<Promise<void>[]> {
    if (now() - cleanedAt >= CLEAN_EVERY_MS) {
      while ((await removeOldEvents(database, now())) > 0 && !looks.isStopping());
      cleanedAt = now();
    }
    const perWebhook = (webhook: bigint) => PER_WEBHOOK - attempts.countOf(webhook);
    const claimed = await claimDeliveries(database, { now: now(), leaseMs: LEASE_MS, perWebhook });
    return claimed.map(attempts.begin);
  }

  async function deliverDue(): Promise<number> {
    const begun = await look();
    await Promise.all(begun);
    return begun.length;
  }

  /** Looks again at once while more is due. Attempts run meanwhile. */
  async function deliverWhileDue(isStopping: () => boolean): Promise<void> {
    for (let begun = await look(); begun.length > 0 && !isStopping(); begun = await look()) await Promise.race(begun);
  }
  const looks = createRepeat({ clock, everyMs: LOOK_EVERY_MS, work: deliverWhileDue, failed });

  return {
    start: looks.start,
    deliverDue,
    async stop() {
      const cancel = clock.after(STOP_MS, attempts.giveUp);
      await looks.stop();
      await attempts.ended();
      cancel();
    },
  };
}

/** The attempts that are running, counted by webhook. */
function createAttempts({ database, clock, send, failed }: DelivererSettings) {
  const { now, random } = clock;
  const counts = new Map<bigint, number>();
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();

  async function attempt(delivery: Delivery): Promise<void> {
    const startedAt = now();
    const fields = {
      'Content-Type': 'application/json',
      'User-Agent': 'Columba',
      ...signedFields(delivery.secrets, { id: `evt_${delivery.eventId}`, at: startedAt, body: delivery.body }),
    };
    const sent = await send(delivery.url, fields, delivery.body, stopping.signal);
    if (stopping.signal.aborted && sent.status === null) return;
    await settleDelivery(database, delivery, resultOf(sent, delivery.attempts, startedAt, now(), random()));
  }

  return {
    countOf: (webhook: bigint): number => counts.get(webhook) ?? 0,
    begin(delivery: Delivery): Promise<void> {
      const { webhookId } = delivery;
      counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
      const done = attempt(delivery)
        .catch(failed) // it is tried again when the lease has run out
        .finally(() => {
          const left = (counts.get(webhookId) ?? 1) - 1;
          if (left > 0) counts.set(webhookId, left);
          else counts.delete(webhookId);
          running.delete(done);
        });
      running.add(done);
      return done;
    },
    giveUp: (): void => stopping.abort(),
    ended: () => Promise.all(running),
  };
}

function resultOf(
  { status, error, retryAfter }: SentEvent,
  attempts: number,
  at: number,
  endedAt: number,
  random: number,
): DeliveryResult {
  const isDone = status !== null && status >= 200 && status < 300;
  const isGone = status === 410;
  const told = { at, status, error, durationMs: Math.max(0, endedAt - at), gone: isGone };
  const pauseMs = RETRY_AFTER_MS[attempts];
  if (isDone || isGone || pauseMs === undefined) return { ...told, nextAt: null };
  const waitMs = Math.max(Math.round(pauseMs * (1 + JITTER * random)), retryAfterMs(retryAfter, endedAt));
  return { ...told, nextAt: endedAt + waitMs };
}

/** RFC 9110 §10.2.3: seconds, or a date. At most a day. */
export function retryAfterMs(field: string | null, now: number): number {
  if (field === null) return 0;
  const ms = /^\d{1,9}$/.test(field.trim()) ? Number(field) * SECOND : Date.parse(field) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS);
}
