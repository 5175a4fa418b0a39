import type { Event, History } from './history.ts';

/**
 * What may be submitted, and when. A part is judged by its claim: the claim is a transaction, so it
 * sees everything that was acknowledged before it was committed.
 */
type Claim = Extract<Event, { kind: 'claimed' }>;
type Submission = Extract<Event, { kind: 'submitted' }>;

interface Left {
  readonly claim: Claim;
  readonly claimOrder: number;
  readonly submission: Submission;
  readonly order: number;
  readonly asked: Extract<Event, { kind: 'send-asked' }>;
}

/** Every part that left, with its claim. A run that sees no claims has none. */
function partsThatLeft({ events }: History): Left[] {
  const claims = new Map<string, { claim: Claim; claimOrder: number }>();
  const asked = new Map<string, Left['asked']>();
  const left: Left[] = [];
  for (const [order, event] of events.entries()) {
    if (event.kind === 'claimed') claims.set(event.attemptId, { claim: event, claimOrder: order });
    if (event.kind === 'send-asked') asked.set(event.token, event);
    if (event.kind !== 'submitted') continue;
    const found = claims.get(event.attemptId);
    const request = asked.get(event.token);
    if (found && request) left.push({ ...found, submission: event, order, asked: request });
  }
  return left;
}

const nameOf = ({ submission: { token, part } }: Left): string => `${token}, part ${part},`;

/**
 * The claim looks at its own time, so a jump of the clock after it changes nothing. A message that
 * was claimed when it was due by the clock of one node goes on at a node whose clock is slower.
 */
export function notEarly({ events, ...history }: History): string[] {
  return partsThatLeft({ events, ...history })
    .filter(({ claim, claimOrder, asked }) => {
      const isDue = (each: Event, order: number) =>
        each.kind === 'claimed' &&
        each.account === claim.account &&
        messageOf(each) === messageOf(claim) &&
        each.nodeAt >= Math.min(...timesOf(events.slice(0, order), asked));
      return !isDue(claim, claimOrder) && !events.slice(0, claimOrder).some(isDue);
    })
    .map((left) => `${nameOf(left)} was submitted before its time`);
}

/** The id of an attempt has ten digits of its message: see domain/sending/attempts.ts. */
const messageOf = ({ attemptId }: Claim): string =>
  /^[0-9a-f]{32}$/.test(attemptId) ? attemptId.slice(12, 22) : attemptId;

/**
 * The times that a message may have. A new time that was acknowledged takes the place of those that
 * stood when it was asked for.
 */
export function timesOf(
  events: readonly Event[],
  { token, sendAt }: Pick<Left['asked'], 'token' | 'sendAt'>,
): readonly number[] {
  let standing = [sendAt ?? Number.NEGATIVE_INFINITY];
  const open: { readonly at: number; readonly before: readonly number[] }[] = [];
  for (const event of events) {
    if (!('token' in event) || event.token !== token) continue;
    if (event.kind === 'reschedule-asked') {
      open.push({ at: event.sendAt, before: standing });
      standing = [...standing, event.sendAt];
    }
    if (event.kind !== 'rescheduled') continue;
    const asked = open.findLast(({ at }) => at === event.sendAt);
    standing = standing.filter((at) => at === event.sendAt || !asked?.before.includes(at));
  }
  return standing;
}

/** What the spend guard holds leaves only when an operator has released it, or has decided about it. */
export function notWhileHeld(history: History): string[] {
  const { events } = history;
  const held = new Set(events.flatMap((event) => (event.kind === 'accepted' && event.isHeld ? [event.token] : [])));
  const isFreed = (event: Event, token: string): boolean =>
    (event.kind === 'release-asked' || event.kind === 'decision-asked') && event.token === token;
  return partsThatLeft(history)
    .filter(({ submission: { token } }) => held.has(token))
    .filter(
      ({ submission: { token }, claimOrder }) => !events.slice(0, claimOrder).some((each) => isFreed(each, token)),
    )
    .map((left) => `${nameOf(left)} was held by the spend guard, and submitted before its release`);
}

/** What an operator has refused ends there. */
export function notAfterRefusal(history: History): string[] {
  const { events } = history;
  return partsThatLeft(history)
    .filter(({ submission: { token }, claimOrder }) =>
      events.slice(0, claimOrder).some((event) => event.kind === 'held-refused' && event.token === token),
    )
    .map((left) => `${nameOf(left)} was refused by an operator, and submitted`);
}

export function notTooLate(history: History): string[] {
  return partsThatLeft(history)
    .filter(({ claim, asked }) => typeof asked.notAfter === 'number' && claim.nodeAt >= asked.notAfter)
    .map((left) => `${nameOf(left)} was submitted after its notAfter`);
}

export function notInQuietHours(history: History): string[] {
  return partsThatLeft(history)
    .filter(({ claim, asked }) => history.isQuiet?.(asked.account, claim.nodeAt))
    .map((left) => `${nameOf(left)} was submitted in the quiet hours of ${left.asked.account}`);
}

/** Of an account that is disabled, or by a connector that is paused. */
export function notWhileClosed(history: History): string[] {
  const { events } = history;
  const faults: string[] = [];
  for (const left of partsThatLeft(history)) {
    const names = { account: left.asked.account, connector: left.submission.connector };
    for (const what of ['account', 'connector'] as const) {
      const last = events
        .slice(0, left.claimOrder)
        .findLast(
          (event) =>
            (event.kind === 'closed' || event.kind === 'opening') && event.what === what && event.name === names[what],
        );
      if (last?.kind === 'closed')
        faults.push(`${nameOf(left)} was submitted while the ${what} ${names[what]} was closed`);
    }
  }
  return faults;
}

// A submission that waits for longer asks once more whether its recipient has opted out; the rest is
// for the time between the claim and that question's clock.
const FRESH_MS = 50;
const MARGIN_MS = 2_000;

/** A message that was claimed before the opt-out may still leave within a moment, but not later. */
export function notAfterOptOutOfItsNumber(history: History): string[] {
  const { events } = history;
  const faults: string[] = [];
  for (const left of partsThatLeft(history)) {
    const isIts = (event: Event): boolean =>
      'number' in event &&
      'account' in event &&
      event.account === left.asked.account &&
      event.number === left.asked.number;
    const before = events.slice(0, left.order);
    const lastAsk = before.findLastIndex((event) => event.kind === 'opt-out-asked' && isIts(event));
    const done = before.findLastIndex((event) => event.kind === 'opted-out' && isIts(event));
    const isUndone = before.some(
      (event, order) => event.kind === 'opt-in-asked' && isIts(event) && order > firstAsk(events, done, isIts),
    );
    if (done < 0 || lastAsk < 0 || isUndone) continue;
    const hasJumped = events.slice(left.claimOrder, left.order).some(({ kind }) => kind === 'clock-jumped');
    const waitedMs = (left.submission.nodeAt ?? 0) - left.claim.nodeAt;
    const mayLeave = left.claimOrder < done && (hasJumped || waitedMs < FRESH_MS + MARGIN_MS);
    if (!mayLeave) faults.push(`${nameOf(left)} was submitted after its number had opted out`);
  }
  return faults;
}

/** When the opt-out that was acknowledged there was asked for: the earliest that it can be. */
const firstAsk = (events: readonly Event[], done: number, isIts: (event: Event) => boolean): number => {
  const earlier = events
    .slice(0, Math.max(0, done))
    .findLastIndex((event) => event.kind === 'opted-out' && isIts(event));
  return events.findIndex((event, order) => order > earlier && event.kind === 'opt-out-asked' && isIts(event));
};

/** The account has deleted it from its view before it was claimed. */
export function notAfterDeletion(history: History): string[] {
  const { events } = history;
  return partsThatLeft(history)
    .filter(({ submission, claimOrder }) =>
      events.slice(0, claimOrder).some((event) => event.kind === 'deleted' && event.token === submission.token),
    )
    .map((left) => `${nameOf(left)} was submitted after its account had deleted it`);
}

/** Another server has what was imported, until an operator activates it here. */
export function notBeforeActivation(history: History): string[] {
  const { events } = history;
  return partsThatLeft(history)
    .filter(({ asked }) => asked.imported === true)
    .filter(
      ({ asked, claimOrder }) =>
        !events
          .slice(0, claimOrder)
          .some((event) => event.kind === 'activation-asked' && event.account === asked.account),
    )
    .map((left) => `${nameOf(left)} was imported, and submitted before it was activated`);
}

export const claimRules = [
  notEarly,
  notWhileHeld,
  notAfterRefusal,
  notTooLate,
  notInQuietHours,
  notWhileClosed,
  notAfterOptOutOfItsNumber,
  notAfterDeletion,
  notBeforeActivation,
];
