import { ACCOUNTS, MESSAGES, messageIdOf, userIdOf } from './data.ts';
import { type Driven, drive } from './load.ts';
import type { Running } from './processes.ts';
import { type Call, type Protocol, requestBytes } from './requests.ts';

/** The four operations that are measured everywhere: reading one row, twenty rows and a number, and a change. */
export type Name = 'Profile' | 'Unread' | 'CountUnread' | 'MarkMessageAsRead';
export const NAMES: readonly Name[] = ['Profile', 'Unread', 'CountUnread', 'MarkMessageAsRead'];

export const CONNECTIONS = 32;

/**
 * The nth call. Consecutive ones are about different accounts, which the prime 7,919 spreads. Those
 * that mark name each message once before any comes again. Every account has its turn, with its
 * oldest unread message, as clients that poll do.
 */
export function callOf(operation: Name, number: number): Call {
  const account = (number * 7_919) % ACCOUNTS;
  const user_id = userIdOf(account);
  if (operation === 'Profile') return { group: 'account', operation, args: { user_id } };
  if (operation === 'Unread') return { group: 'inbox', operation, args: { user_id, max_count: '20' } };
  if (operation === 'CountUnread') return { group: 'inbox', operation, args: { user_id } };
  const message = Math.floor(number / ACCOUNTS) % MESSAGES;
  return { group: 'inbox', operation, args: { user_id, message_id: String(messageIdOf(message)) } };
}

/** How many calls of each operation a server has had: what was marked once is not marked again. */
const counts = new WeakMap<object, Map<Name, number>>();

/** The number of the next call, and so many after it. */
export function take(server: object, operation: Name, requests: number): number {
  const own = counts.get(server) ?? new Map<Name, number>();
  counts.set(server, own);
  const first = own.get(operation) ?? 0;
  own.set(operation, first + requests);
  return first;
}

export interface OperationLoad {
  readonly server: Running;
  readonly behind?: () => number[];
  readonly protocol: Protocol;
  readonly operation: Name;
  readonly requests: number;
  readonly connections?: number;
  /** Where it is not the operation's own. */
  readonly path?: string;
}

export function driveOperation(load: OperationLoad): Promise<Driven> {
  const { server, behind, protocol, operation, requests, connections = CONNECTIONS, path } = load;
  const first = take(server, operation, requests);
  const request = (number: number) => requestBytes(protocol, callOf(operation, first + number), path);
  return drive({ server, connections, requests, request, ...(behind && { behind }) });
}
