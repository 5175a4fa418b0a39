import type { Random } from '../../test/support/random.ts';
import type { SubmittedEvent } from '../checker/history.ts';
import type { SimulatedNode } from './node.ts';
import { createOwner, type Owner } from './scheduler.ts';

/** A place for a process: one that dies is followed by another in the same place. */
export interface Slot {
  readonly index: number;
  owner: Owner;
  /** Undefined while none serves here. */
  node: SimulatedNode | undefined;
  skewMs: number;
  /** Dies after so many half steps of statements. */
  deathIn: number | undefined;
  /** So many more times it dies soon after its start. */
  crashes: { left: number; readonly random: Random } | undefined;
  /** The disk refuses a statement after so many. */
  refusal: { in: number; readonly code: number } | undefined;
  /** Requests that it has not answered. */
  readonly unanswered: Set<() => void>;
  /** Answers of carriers that it has heard and not written. */
  readonly unsettled: Map<string, SubmittedEvent>;
  incarnations: number;
}

export const emptySlot = (index: number): Slot => ({
  index,
  owner: { ...createOwner(`node ${index}`), isAlive: false },
  node: undefined,
  skewMs: 0,
  deathIn: undefined,
  crashes: undefined,
  refusal: undefined,
  unanswered: new Set(),
  unsettled: new Map(),
  incarnations: 0,
});

/** What a statement tells about the process that runs it. */
export const ACTIVE =
  /^\s*(?:insert into (?:attempt|movement|sent|scheduled|received|webhook_delivery|held_receipt|incoming_once|unrouted)|update (?:dispatch set|attempt set|webhook_delivery set))/i;
/** Every process sees within a second that a connector was paused or resumed, or is not the default any more. */
export const SEEN_BY_ALL = /^\s*update carrier_connector set (?:paused_at|is_default)/i;
export const CLAIM = /^\s*insert into attempt /i;
/** Of each row: account_id, message_id, attempt, part, attempt_id, connector, submitted_at and sender. */
export const CLAIM_VALUES = 8;
/** What the invariants of the queue depend on. */
export const QUEUE = /^\s*(?:insert into (?:dispatch|blocked_number|attempt)|update (?:dispatch|attempt) set)/i;
/** What waits for a look, see DUE in world.ts. */
export const WAITS = /\b(?:dispatch|dispatch_account|webhook_delivery|delete from)\b/i;

/** done: with a value. lost: nobody knows whether it was done, or the node says that it was not. */
export type Answer<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'lost' };
