import { randomId } from '../../base/random.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Queries, Transaction } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import * as sql from './events.sql.ts';

/** Events for webhooks. An event holds ids, never a number or a text. */
export const EVENT_TYPES = [
  'message.received',
  'message.status',
  'message.needs_decision',
  'credits.low',
  'connector.down',
  'connector.up',
  'service.restored',
  'connector.failover',
  'guard.stopped',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/**
 * Former names of events. For one more version, a webhook that names one gets the event under that
 * name, because its receiver knows no other.
 */
export const FORMER_EVENT_TYPES = { 'message.undecided': 'message.needs_decision' } as const satisfies Readonly<
  Record<string, EventType>
>;
export type FormerEventType = keyof typeof FORMER_EVENT_TYPES;
export const formerTypesOf = (type: EventType): FormerEventType[] =>
  (Object.keys(FORMER_EVENT_TYPES) as FormerEventType[]).filter((former) => FORMER_EVENT_TYPES[former] === type);

export type OutgoingEvent =
  | { readonly type: 'message.received'; readonly account: AccountKey; readonly at: number; readonly messageId: bigint }
  | {
      readonly type: 'message.status' | 'message.needs_decision';
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
    }
  | { readonly type: 'service.restored'; readonly at: number; readonly generation: bigint; readonly held: number }
  | {
      /** Messages went on from a way that refused them to the next one. */
      readonly type: 'connector.failover';
      readonly at: number;
      readonly connector: string;
      readonly route: string;
      readonly messages: number;
      readonly reason: string | null;
    }
  | {
      /** The spend guard has held or refused messages of the account. */
      readonly type: 'guard.stopped';
      readonly account: AccountKey;
      readonly at: number;
      readonly rule: string;
      readonly outcome: 'held' | 'refused';
      readonly messages: number;
      readonly detail: string;
    };

/**
 * Writes an event for every webhook that wants it. Call it inside the transaction of the change, so
 * that either both the event and the change are on disk, or neither is. If no webhook wants the
 * event, this is one statement that writes nothing. `at` is the current time, from which on the
 * event is delivered.
 */
export async function emitEvent(queries: Pick<Queries, 'run'>, event: OutgoingEvent): Promise<void> {
  const { type, at, ...rest } = event;
  const { account = null, ...data } = rest as typeof rest & { account?: AccountKey };
  await emit(queries, { type, at, account }, [data]);
}

/** Emits new statuses of messages: one statement for all of them, none for an empty list. */
export async function emitStatuses(
  { queries, account, at }: Transaction,
  type: 'message.status' | 'message.needs_decision',
  statuses: readonly { readonly messageId: bigint; readonly status: string }[],
): Promise<void> {
  if (statuses.length > 0) await emit(queries, { type, at, account }, statuses);
}

async function emit(
  queries: Pick<Queries, 'run'>,
  { type, at, account }: { type: EventType; at: number; account: AccountKey | null },
  all: readonly object[],
): Promise<void> {
  for (const name of [type, ...formerTypesOf(type)]) {
    const rows = all.map((data) => [randomId(), jsonOf(data)]);
    await queries.run(sql.emit, { rows: recordsOf(rows), account, type: name, at, wanted: `%,${name},%` });
  }
}

const jsonOf = (data: object): string =>
  JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? String(value) : value));
