import { randomBytes } from 'node:crypto';
import type { AccountKey, Queries } from '../store/database.ts';
import * as sql from '../store/statements/events.ts';

/** What happened, for webhooks. An event holds ids, never a number or a text. */
export const EVENT_TYPES = [
  'message.received',
  'message.status',
  'message.undecided',
  'credits.low',
  'connector.down',
  'connector.up',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export type OutgoingEvent =
  | { readonly type: 'message.received'; readonly account: AccountKey; readonly at: number; readonly messageId: bigint }
  | {
      readonly type: 'message.status' | 'message.undecided';
      readonly account: AccountKey;
      readonly at: number;
      readonly messageId: bigint;
      readonly status: string;
    }
  | {
      readonly type: 'credits.low';
      readonly account: AccountKey;
      readonly at: number;
      readonly free: bigint;
      readonly threshold: bigint;
    }
  | {
      readonly type: 'connector.down' | 'connector.up';
      readonly at: number;
      readonly connector: string;
      /** Never a number, a text or a secret. */
      readonly reason: string | null;
    };

/**
 * Writes an event for every webhook that wants it. Call it inside the transaction of the change:
 * then the event is on disk with the change, or neither is. Where no webhook wants it, that is one
 * statement that writes nothing. `at` is now: it is delivered from then on.
 */
export async function emitEvent(queries: Pick<Queries, 'run'>, event: OutgoingEvent): Promise<void> {
  const { type, at, ...rest } = event;
  const { account = null, ...data } = rest as typeof rest & { account?: AccountKey };
  await queries.run(sql.emit, {
    event: randomBytes(8).readBigUInt64BE() >> 2n,
    account,
    type,
    at,
    data: JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    wanted: `%,${type},%`,
  });
}
