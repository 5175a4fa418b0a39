import { createHash } from 'node:crypto';

/**
 * Where a message goes. An outbound route names the messages that it is about, and the connectors
 * ("ways") that may carry them. Everything here is computed from values: no database, no clock.
 */
export interface Way {
  readonly connector: string;
  /** The share of the messages in the mode `spread`. */
  readonly weight: number;
  /** Credits for a part. */
  readonly price: number;
  /** What the carrier asks for a part, such as `0.0125 EUR`. It is shown and never counted. */
  readonly cost: string | null;
  /** A permanent refusal whose reason contains one of these texts is tried by the next way. */
  readonly ifRefused: readonly string[];
}
export interface OutboundRoute {
  readonly name: string;
  readonly priority: number;
  /** The account whose messages it is about; null for all accounts. */
  readonly account: { readonly id: bigint; readonly username: string } | null;
  /** The number that an operator gives to accounts; null for any. */
  readonly tag: number | null;
  /** Digits with which the number of the recipient begins, after its plus sign; none for any. */
  readonly prefixes: readonly string[];
  /** Senders that the message names; none for any. */
  readonly senders: readonly string[];
  /** Hours such as 08:00-18:00 in the zone of the account; null for all. */
  readonly hours: string | null;
  readonly from: number | null;
  readonly until: number | null;
  readonly ways: readonly Way[];
  /** order: the first way that works. spread: by weight, and the same number keeps its way. */
  readonly mode: 'order' | 'spread';
  /** Whether a carrier that asks to be called later is waited for, or passed over. */
  readonly onThrottle: 'wait' | 'next';
  /** Senders for messages that name none. A recipient always gets the same one. */
  readonly senderPool: readonly string[];
  readonly updatedAt: number;
}

export interface RoutedMessage {
  readonly account: bigint;
  readonly tag: number | null;
  /** E.164. */
  readonly recipient: string;
  readonly sender: string | null;
  /** When it is due. */
  readonly at: number;
  /** Whether that is within these hours, in the zone of the account. */
  readonly isWithin: (hours: string) => boolean;
}

/** Why a route is not about a message, in words; null if it is. */
export function misfitOf(route: OutboundRoute, message: RoutedMessage): string | null {
  const digits = digitsOf(message.recipient);
  const fits = route.prefixes.length === 0 || route.prefixes.some((prefix) => digits.startsWith(prefix));
  return fits ? misfitBesidesNumber(route, message) : 'the number begins with none of its prefixes';
}

function misfitBesidesNumber(route: OutboundRoute, message: Omit<RoutedMessage, 'recipient'>): string | null {
  const { account, tag, senders, hours, from, until } = route;
  if (account !== null && account.id !== message.account) return `it is for the account ${account.username}`;
  if (tag !== null && tag !== message.tag) return `it is for accounts with the tag ${tag}`;
  if (senders.length > 0 && !senders.includes(message.sender ?? '')) return 'the sender is none of its senders';
  if (from !== null && message.at < from) return 'it is not valid yet';
  if (until !== null && message.at >= until) return 'it is not valid any more';
  return hours === null || message.isWithin(hours) ? null : `it is for the hours ${hours}`;
}

const digitsOf = (recipient: string): string => recipient.replace(/^\+/, '');
/** E.164 has at most so many digits. */
export const PREFIX_LENGTH_MAX = 15;

/**
 * Finds the routes of the messages of one request. Among those that are about a message, the one
 * with the highest priority counts; then the longest prefix, then one for the account, then one
 * with a sender, then the first by name. The routes are sorted by prefix first: a request of 1,000
 * recipients takes 16 lookups for each, however many routes there are.
 */
export function createRouteFinder(
  routes: readonly OutboundRoute[],
  message: Omit<RoutedMessage, 'recipient'>,
): (recipient: string) => OutboundRoute | null {
  const byPrefix = new Map<string, OutboundRoute>();
  for (const route of routes) {
    if (misfitBesidesNumber(route, message) !== null) continue;
    for (const prefix of route.prefixes.length > 0 ? route.prefixes : ['']) {
      const known = byPrefix.get(prefix);
      if (!known || isBefore(route, known)) byPrefix.set(prefix, route);
    }
  }
  return (recipient) => {
    const digits = digitsOf(recipient);
    let best: OutboundRoute | null = null;
    // The longest prefix first: a shorter one wins by a higher priority alone.
    for (let length = Math.min(digits.length, PREFIX_LENGTH_MAX); length >= 0; length--) {
      const found = byPrefix.get(digits.slice(0, length));
      if (found && (best === null || found.priority > best.priority)) best = found;
    }
    return best;
  };
}

/** Whether a route goes before another one with the same prefix. */
function isBefore(one: OutboundRoute, other: OutboundRoute): boolean {
  const order =
    other.priority - one.priority ||
    Number(other.account !== null) - Number(one.account !== null) ||
    Number(other.senders.length > 0) - Number(one.senders.length > 0);
  return order < 0 || (order === 0 && one.name < other.name);
}

/** A number above 0 and below 1 that is always the same for these texts. */
function fraction(...texts: readonly string[]): number {
  const bits = createHash('sha256').update(texts.join('\0')).digest().readUIntBE(0, 6);
  return (bits + 1) / (2 ** 48 + 1);
}

/**
 * The ways of a route in the order in which a message tries them. In the mode `spread` each way has
 * a number by the hash of the key and itself (rendezvous hashing): the first place goes to each way
 * as often as its weight says, and a way that is added or removed moves only its own share.
 */
export function orderedWays({ mode, ways }: OutboundRoute, key: string): Way[] {
  if (mode === 'order') return [...ways];
  const scored = ways.map((way) => ({ way, score: -Math.log(fraction(key, way.connector)) / way.weight }));
  return scored.sort((one, other) => one.score - other.score).map(({ way }) => way);
}

/** The sender of the pool for a recipient: the same one each time, as long as it is in the pool. */
export function senderFor({ senderPool, name }: OutboundRoute, account: bigint, recipient: string): string | null {
  const scored = senderPool.map((sender) => ({ sender, score: fraction(name, String(account), recipient, sender) }));
  return scored.sort((one, other) => one.score - other.score)[0]?.sender ?? null;
}

/** The credits that are held for a part, so that they suffice for each way. */
export const dearestPrice = ({ ways }: OutboundRoute): number => Math.max(...ways.map(({ price }) => price));

/** What is known of a connector when a way is chosen. */
export interface WayState {
  readonly isPaused: boolean;
  readonly isDown: boolean;
  /** Routes pass over it until then, because it refused most; null if it does not. */
  readonly avoidedUntil: number | null;
}

/** Why a way is passed over, in words; null if it is used. */
export function stopOf(state: WayState | undefined, at: number): string | null {
  if (!state) return 'there is no such connector';
  if (state.isPaused) return 'paused';
  if (state.isDown) return 'down';
  return state.avoidedUntil !== null && state.avoidedUntil > at ? 'avoided, because it refused most messages' : null;
}

/** Whether a carrier that certainly does not have the message leaves it to the next way. */
export type Refusal = 'temporary' | 'throttled' | 'permanent';

export function movesOn(route: OutboundRoute, connector: string, refusal: Refusal, reason: string): boolean {
  if (refusal === 'temporary') return true;
  if (refusal === 'throttled') return route.onThrottle === 'next';
  const way = route.ways.find((each) => each.connector === connector);
  return way?.ifRefused.some((text) => reason.includes(text)) ?? false;
}
