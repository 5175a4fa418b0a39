import { randomId } from '../../base/random.ts';
import type { AccountKey, Queries } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import * as sql from './events.sql.ts';

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
  await emit(queries, { type, at, account }, [data]);
}

/** The new statuses of messages of one account. One statement for all, none for an empty list. */
export async function emitStatuses(
  queries: Pick<Queries, 'run'>,
  type: 'message.status' | 'message.undecided',
  account: AccountKey,
  at: number,
  statuses: readonly { readonly messageId: bigint; readonly status: string }[],
): Promise<void> {
  if (statuses.length > 0) await emit(queries, { type, at, account }, statuses);
}

async function emit(
  queries: Pick<Queries, 'run'>,
  { type, at, account }: { type: EventType; at: number; account: AccountKey | null },
  all: readonly object[],
): Promise<void> {
  const rows = all.map((data) => [randomId(), jsonOf(data)]);
  await queries.run(sql.emit, { rows: recordsOf(rows), account, type, at, wanted: `%,${type},%` });
}

const jsonOf = (data: object): string =>
  JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? String(value) : value));
