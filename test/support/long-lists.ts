import type { App } from '../../src/serve/compose/contract.ts';
import { adopt } from './contract-client.ts';
import type { Arguments } from './protocols.ts';

/** Accounts with many of everything, and what every list of them must hold, in its order. */
export interface Received {
  readonly id: bigint;
  readonly sender: string | null;
  readonly message: string;
  readonly short_code: string | null;
  readonly timestamp: number;
  readonly read: boolean;
}
interface Sent {
  readonly id: bigint;
  readonly user_message_id: string;
  readonly recipient: string | null;
  readonly message: string;
  readonly delivery_status: string;
  readonly timestamp_sent: number;
  readonly timestamp_updated: number;
  readonly marked: boolean;
}
interface Scheduled {
  readonly id: bigint;
  readonly user_message_id: string;
  readonly recipient: string;
  readonly message: string;
  readonly timestamp_scheduled: number;
  readonly timestamp_created: number;
}
interface Contact {
  readonly id: string;
  readonly name: string;
  readonly surname: string | null;
  readonly mobile: string;
  readonly groupid: string | null;
}
export interface Many {
  readonly username: string;
  /** In no order. */
  readonly received: readonly Received[];
  readonly sent: readonly Sent[];
  readonly scheduled: readonly Scheduled[];
  readonly contacts: readonly Contact[];
}

export const FIRST_ID = -(2n ** 63n);
export const LAST_ID = 2n ** 63n - 1n;
export const START = Date.UTC(2026, 9, 1, 8);
/** As many have the same time: each border of two pages, and many a third one, is within them. */
export const TOGETHER = 700;

/** What the nth of all is like. */
interface Shape {
  readonly at: (n: number, count: number) => number;
  /** When the status of what was sent then has changed. */
  readonly changedAt: (n: number, count: number) => number;
  readonly id: (n: number, count: number) => bigint;
  /** Whether it is read, marked, in another group. */
  readonly other: (n: number) => boolean;
}
const at = (n: number) => START + Math.floor(n / TOGETHER) * 1_000;
const plain: Shape = {
  at,
  changedAt: (n, count) => at(count - 1 - n),
  // In another order than their times: 10,007 is a prime, so that each is another one.
  id: (n) => BigInt((n * 1_009) % 10_007) * 7n - 1_000n,
  other: () => false,
};
export const mixed: Shape = { ...plain, other: (n) => n % 3 === 1 };
/**
 * The first page of 1,000 ends with the largest id, and the second begins with the smallest. This
 * holds from either side.
 */
export const ends: Shape = {
  at: (n) => START + (n < 500 ? 0 : 1),
  changedAt: (n) => START + (n < 500 ? 0 : 1),
  id: (n) => (n === 499 ? LAST_ID : n === 500 ? FIRST_ID : BigInt(n)),
  other: () => false,
};

// U+0000 marks a place in the writer of answers, and must not be taken for one in a text.
const TEXTS = ['plain', 'a & b < c', 'ends ]]> 😀', '字字', ' ', 'nothing\0follows', 'line\r\nline'];
const textOf = (n: number): string => `${TEXTS[n % TEXTS.length]} ${n}`;
const numberOf = (n: number): string => `+27825${550_000 + n}`;

/** Neighbours come in far from one another: 1,009 is a prime that no count here is a multiple of. */
const scattered = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(count < 2 ? index : (index * 1_009) % count));

export function manyOf(username: string, count: number, shape: Shape = plain): Many {
  const { other } = shape;
  const id = (n: number) => shape.id(n, count);
  const contactId = (n: number) => (n === 0 ? FIRST_ID : n === count - 1 ? LAST_ID : BigInt(n) * 3n - 700n);
  return {
    username,
    received: scattered(count, (n) => ({
      id: id(n),
      sender: n % 2 ? numberOf(n) : null,
      message: textOf(n),
      short_code: n % 5 ? '31000' : null,
      timestamp: shape.at(n, count),
      read: other(n),
    })),
    sent: scattered(count, (n) => ({
      id: id(n),
      user_message_id: n % 2 ? `order-${n}` : String(id(n)),
      recipient: n % 3 ? numberOf(n) : null,
      message: textOf(n),
      delivery_status: 'DELIVERED',
      marked: other(n),
      timestamp_sent: shape.at(n, count),
      timestamp_updated: shape.changedAt(n, count),
    })),
    scheduled: scattered(count, (n) => ({
      id: id(n),
      user_message_id: `promo-${n}`,
      recipient: numberOf(n),
      message: textOf(n),
      timestamp_scheduled: shape.at(n, count),
      timestamp_created: START - n,
    })),
    contacts: scattered(count, (n) => ({
      id: String(contactId(n)),
      name: textOf(n),
      surname: n % 2 ? 'x' : null,
      mobile: numberOf(n),
      groupid: other(n) ? (n % 2 ? '2' : null) : '1',
    })),
  };
}

const written = (at: number): string => new Date(at).toISOString();

/** Brings it in; its user_id is its username. */
export const load = (app: App, { username, received, sent, scheduled, contacts }: Many): Promise<void> =>
  adopt(app, {
    username,
    userID: username,
    groups: [1, 2].map((id) => ({ id, name: `group ${id}` })),
    inbox: received.map(({ timestamp, ...each }) => ({ ...each, id: String(each.id), timestamp: written(timestamp) })),
    sent: sent.map(({ timestamp_sent, timestamp_updated, ...each }) => ({
      ...each,
      id: String(each.id),
      timestamp_sent: written(timestamp_sent),
      timestamp_updated: written(timestamp_updated),
    })),
    scheduled: scheduled.map(({ timestamp_scheduled, timestamp_created, ...each }) => ({
      ...each,
      id: String(each.id),
      timestamp_scheduled: written(timestamp_scheduled),
      timestamp_created: written(timestamp_created),
    })),
    contacts,
  });

interface Question {
  readonly group: string;
  readonly operation: string;
  /** The parameter that says how many are wanted, where there is one. */
  readonly cap?: 'max' | 'max_count';
  readonly args: Arguments;
  readonly answer: (many: Many) => readonly unknown[];
}

const byTime =
  <T extends { id: bigint }>(time: (item: T) => number) =>
  (items: readonly T[]): T[] =>
    items.toSorted((a, b) => time(a) - time(b) || (a.id < b.id ? -1 : 1));
const received = byTime<Received>(({ timestamp }) => timestamp);
const sentBy = (which: 'timestamp_sent' | 'timestamp_updated') => byTime<Sent>((message) => message[which]);
const scheduledBy = byTime<Scheduled>(({ timestamp_scheduled }) => timestamp_scheduled);
const byId = (contacts: readonly Contact[]) => contacts.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
const ofGroup = (many: Many) => byId(many.contacts.filter(({ groupid }) => groupid === '1'));

const EVER = { from: '0001-01-01T00:00:00Z', to: '9999-12-31T23:59:59.999Z' };

export const QUESTIONS: readonly Question[] = [
  ...[
    { operation: 'Read', args: EVER, answer: (many: Many) => received(many.received) },
    { operation: 'Unread', args: {}, answer: (many: Many) => received(many.received.filter(({ read }) => !read)) },
    { operation: 'InboxDS', args: {}, answer: (many: Many) => received(many.received).reverse() },
  ].map((each) => ({ group: 'inbox', cap: 'max_count' as const, ...each })),
  ...[
    {
      operation: 'FetchUnmarkedDeliveryStatus',
      answer: (many: Many) => sentBy('timestamp_updated')(many.sent.filter(({ marked }) => !marked)),
    },
    { operation: 'FetchSentDS', answer: (many: Many) => sentBy('timestamp_sent')(many.sent).reverse() },
  ].map((each) => ({ group: 'sent', cap: 'max' as const, args: {}, ...each })),
  ...[{ group: 'compose', cap: 'max' as const, operation: 'FetchScheduledDS', args: {} }].map((each) => ({
    ...each,
    answer: (many: Many) => scheduledBy(many.scheduled),
  })),
  ...[
    { operation: 'FetchContacts', args: {}, answer: (many: Many) => byId(many.contacts) },
    { operation: 'FetchContactsDS', args: {}, answer: (many: Many) => byId(many.contacts) },
    { operation: 'FetchContactsByGroupId', args: { groupid: 1 }, answer: ofGroup },
    { operation: 'FetchContactsByGroupIdDS', args: { groupid: 1 }, answer: ofGroup },
  ].map((each) => ({ group: 'account', ...each })),
];
