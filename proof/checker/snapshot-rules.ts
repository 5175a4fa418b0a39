import type { AccountCredits, Event, History } from './history.ts';

/** What the database holds after a run, against what clients, carriers and webhooks were told. */

const creditsOf = ({ snapshot }: History): readonly AccountCredits[] => snapshot?.credits ?? [];
const of = <K extends Event['kind']>({ events }: History, kind: K) =>
  events.filter((event): event is Event & { readonly kind: K } => event.kind === kind);

/** Balances are the sums of movements, none is negative, and what is held is held by messages. */
export function ledgerAddsUp(history: History): string[] {
  return creditsOf(history).flatMap(({ account, free, held, used, movements, heldByMessages }) => {
    const counted: Record<string, bigint> = { free: 0n, held: 0n, used: 0n, operator: 0n };
    for (const { from, to, amount } of movements) {
      counted[from] = (counted[from] ?? 0n) - amount;
      counted[to] = (counted[to] ?? 0n) + amount;
    }
    const stored = { free, held, used };
    const faults = Object.entries(stored)
      .filter(([side, amount]) => amount !== counted[side] || amount < 0n)
      .map(([side, amount]) => `${account}: ${amount} credits are ${side}, and movements give ${counted[side]}`);
    if (held !== heldByMessages)
      faults.push(`${account}: ${held} credits are held, and messages hold ${heldByMessages}`);
    return faults;
  });
}

/** Each message holds once, and what it held is used or free again exactly once. */
export function heldOnce(history: History): string[] {
  return creditsOf(history).flatMap(({ account, movements }) => {
    const sums = new Map<string, { held: bigint; gone: bigint }>();
    for (const { from, to, amount, messageId } of movements) {
      if (messageId === null) continue;
      const sum = sums.get(messageId) ?? { held: 0n, gone: 0n };
      if (to === 'held') sum.held += amount;
      if (from === 'held') sum.gone += amount;
      sums.set(messageId, sum);
    }
    return [...sums]
      .filter(([, { held, gone }]) => gone > held)
      .map(([id, { held, gone }]) => `${account}, message ${id}: ${held} credits were held, and ${gone} left`);
  });
}

/** The credits that were granted are at least those acknowledged, and at most those asked for. */
export function grantsCount(history: History): string[] {
  const asked = of(history, 'credits-asked');
  const moved = new Set(of(history, 'credits-moved').map(({ act }) => act));
  return creditsOf(history).flatMap(({ account, movements }) => {
    const total = movements.reduce(
      (sum, { from, to, amount }) => sum + (from === 'operator' ? amount : 0n) - (to === 'operator' ? amount : 0n),
      0n,
    );
    const own = asked.filter((event) => event.account === account);
    const certain = own.filter(({ act }) => moved.has(act)).reduce((sum, { amount }) => sum + amount, 0n);
    const open = own.filter(({ act }) => !moved.has(act)).map(({ amount }) => amount);
    const least = open.filter((amount) => amount < 0n).reduce((sum, amount) => sum + amount, certain);
    const most = open.filter((amount) => amount > 0n).reduce((sum, amount) => sum + amount, certain);
    return total < least || total > most
      ? [`${account} was given ${total} credits, and ${least} to ${most} were asked for`]
      : [];
  });
}

/** A webhook is told each time that free credits fall below the limit, and no other time. */
export function lowCreditsAreTold(history: History): string[] {
  if (of(history, 'restored').length > 0) return []; // what was told may have been undone
  return creditsOf(history).flatMap(({ account, low, movements }) => {
    if (low === null) return [];
    let free = 0n;
    let falls = 0;
    for (const { from, to, amount } of movements) {
      const before = free;
      if (from === 'free') free -= amount;
      if (to === 'free') free += amount;
      if (before >= low && free < low) falls += 1;
    }
    const told = new Map<string, Set<string>>();
    for (const { webhook, event, type, of: subject } of of(history, 'event-delivered')) {
      if (type !== 'credits.low' || !subject.startsWith(`${account} `)) continue;
      told.set(webhook, (told.get(webhook) ?? new Set()).add(event));
    }
    const count = Math.max(0, ...[...told.values()].map(({ size }) => size));
    return count === falls
      ? []
      : [`${account}: credits fell below the limit ${falls} times, and ${count} events told it`];
  });
}

/** Acknowledged to the carrier: stored exactly once. Not acknowledged: at most once. */
export function incomingOnce(history: History): string[] {
  if (!history.snapshot) return [];
  const { received } = history.snapshot;
  const taken = new Set(of(history, 'incoming-taken').map(({ incoming }) => incoming));
  const erased = new Set(of(history, 'erase-asked').map(({ number }) => number));
  const all = new Map(of(history, 'incoming').map((event) => [event.incoming, event]));
  return [...all.values()].flatMap(({ incoming, account, sender }) => {
    const rows = received.filter(({ text }) => text.includes(`<${incoming}>`));
    if (rows.length > 1) return [`the incoming message ${incoming} is stored ${rows.length} times`];
    if (rows.length === 0) {
      return taken.has(incoming) && !erased.has(sender)
        ? [`the incoming message ${incoming} was acknowledged and is lost`]
        : [];
    }
    return rows[0]?.account === account
      ? []
      : [`the incoming message ${incoming} is stored for ${rows[0]?.account}, not for ${account}`];
  });
}

/** An acknowledged mark stays, unless the status changed after it. */
export function marksStay(history: History): string[] {
  const { snapshot } = history;
  if (!snapshot) return [];
  return of(history, 'marked').flatMap(({ list, account, id, updatedAt }) => {
    const key = `${account} ${id}`;
    if (list === 'inbox') return snapshot.unread.has(key) ? [`${key} was marked as read, and is unread`] : [];
    const row = snapshot.marked.get(key);
    return row && !row.isMarked && row.updatedAt === updatedAt ? [`${key} was marked, and is not any more`] : [];
  });
}

/** Every end of a message was told to a webhook that wants it. */
export function statusesAreTold(history: History): string[] {
  const { snapshot } = history;
  if (!snapshot) return [];
  const told = new Set(
    of(history, 'event-delivered')
      .filter(({ type }) => type === 'message.status')
      .map((event) => event.of),
  );
  return snapshot.statuses.filter((status) => !told.has(status)).map((status) => `${status}: no webhook was told`);
}

/** Nothing of an erased person is stored, unless somebody wrote to or from the number afterwards. */
export function erasedStaysErased(history: History): string[] {
  const { snapshot, events } = history;
  if (!snapshot) return [];
  return of(history, 'erased').flatMap(({ number }) => {
    const asked = events.findIndex((event) => event.kind === 'erase-asked' && event.number === number);
    const isOpen = events.some((event, order) => usesAfter(event, order, asked, number, events));
    return !isOpen && snapshot.numbers.has(number) ? [`${number} was erased, and is stored`] : [];
  });
}

/** Written to or from the number after the erasure was asked for, or a request that was open then. */
function usesAfter(event: Event, order: number, asked: number, number: string, events: readonly Event[]): boolean {
  if (event.kind === 'incoming' && event.sender === number) {
    const taken = events.findIndex((each) => each.kind === 'incoming-taken' && each.incoming === event.incoming);
    return order > asked || taken < 0 || taken > asked;
  }
  if (event.kind === 'opt-out-asked' && event.number === number) return true; // a hash of it stays
  if (event.kind !== 'send-asked' || event.number !== number) return false;
  const answer = events.findIndex(
    (each) => (each.kind === 'accepted' || each.kind === 'refused') && each.token === event.token,
  );
  return order > asked || answer < 0 || answer > asked;
}

/** A read that begins after an acknowledgement sees the acknowledged write, on every node. */
export function readsSeeWrites(history: History): string[] {
  return of(history, 'read').flatMap(({ what, fault }) => (fault === null ? [] : [`${what}: ${fault}`]));
}

/** After every commit, the queue was in a state that its rules allow. */
export const queueIsRight = (history: History): string[] => of(history, 'queue-fault').map(({ text }) => text);

/** Nothing fails but for a reason of the world around. */
export function noInternalErrors(history: History): string[] {
  return [...new Set(of(history, 'internal-error').map(({ text }) => text))];
}

export const snapshotRules = [
  ledgerAddsUp,
  heldOnce,
  grantsCount,
  lowCreditsAreTold,
  incomingOnce,
  marksStay,
  statusesAreTold,
  erasedStaysErased,
  readsSeeWrites,
  queueIsRight,
  noInternalErrors,
];
