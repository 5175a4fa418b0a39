import type { Database } from '../../store/database.ts';
import { accountRecord } from '../accounts/accounts.ts';
import { type Batch, leftOf, waitingOf } from '../messages/batches.ts';
import { BUILTIN_NAME, createConnectors } from '../sending/connectors.ts';
import { afterQuietHours } from '../sending/quiet-hours.ts';

/** When the messages of a batch will have been submitted, as far as anybody can know. */
export interface Forecast {
  /** When the last message will be submitted; null if nothing is known about the speed. */
  readonly doneAt: number | null;
  /** Messages in a second. */
  readonly perSecond: number | null;
  /** What the speed comes from: what this batch did so far, or the rate of its connector. */
  readonly basis: 'measured' | 'rate' | null;
  /** When the next message can go: not before its time, and not in quiet hours. */
  readonly startsAt: number;
  /** Why nothing goes out at this moment; null if nothing is in the way. */
  readonly stopped: 'paused' | 'down' | 'disabled' | null;
}

/** A speed is taken from at least this many messages, over this time, not long ago. */
const MEASURED_MIN = 20;
const MEASURED_MS_MIN = 3_000;
const RECENT_MS = 600_000;

/** Null if nothing of the batch waits. */
export async function forecastOf(
  database: Database,
  username: string,
  batch: Batch,
  now: number,
): Promise<Forecast | null> {
  const waiting = waitingOf(batch);
  if (waiting === 0) return null;
  const account = await accountRecord(database, username);
  const connectors = await createConnectors(database, () => now).list();
  const own =
    connectors.find(({ name }) => name === account.connector) ??
    connectors.find(({ isDefault }) => isDefault) ??
    connectors.find(({ name }) => name === BUILTIN_NAME);
  const startsAt = afterQuietHours(Math.max(now, batch.dueAt), account.quietHours, account.timeZone);
  const stopped = account.disabledAt !== null ? 'disabled' : own?.pausedAt ? 'paused' : own?.downSince ? 'down' : null;
  const { perSecond, basis } = speedOf(batch, own?.ratePerSecond ?? null, now);
  const doneAt = perSecond === null || stopped !== null ? null : startsAt + Math.round((waiting / perSecond) * 1_000);
  return { doneAt, perSecond, basis, startsAt, stopped };
}

function speedOf(
  batch: Batch,
  rate: number | bigint | null,
  now: number,
): { readonly perSecond: number | null; readonly basis: Forecast['basis'] } {
  const { startedAt, lastAt, queued, accepted, parts } = batch;
  const done = leftOf(batch) - queued;
  const tookMs = startedAt === null || lastAt === null ? 0 : lastAt - startedAt;
  const isRecent = lastAt !== null && now - lastAt <= RECENT_MS;
  if (isRecent && done >= MEASURED_MIN && tookMs >= MEASURED_MS_MIN) {
    return { perSecond: (done * 1_000) / tookMs, basis: 'measured' };
  }
  if (rate === null || Number(rate) <= 0) return { perSecond: null, basis: null };
  return { perSecond: (Number(rate) * accepted) / Math.max(1, parts), basis: 'rate' };
}
