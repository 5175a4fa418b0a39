import { claimRules } from './claim-rules.ts';
import { type Event, FINAL, type History, type Outcome } from './history.ts';
import { wholeRules, withoutLostTime } from './lost-time.ts';
import { snapshotRules } from './snapshot-rules.ts';

/** A promise that was broken: the name of the rule, and a sentence that begins with the message. */
export interface Fault {
  readonly rule: string;
  readonly text: string;
}

/**
 * Reads the history of a run with real processes or of a simulated one, and names every promise
 * that it breaks. The checker knows nothing of the service but what was seen from outside.
 */
export function check(whole: History): Fault[] {
  const history = withoutLostTime(whole);
  const named = (rule: { readonly name: string }, texts: readonly string[]): Fault[] =>
    texts.map((text) => ({ rule: rule.name, text }));
  const messages = byToken(history);
  return [
    ...[...messages.values()].flatMap((message) => RULES.flatMap((rule) => named(rule, rule(message, history)))),
    ...named(balancesAddUp, balancesAddUp(history.events)),
    ...[...claimRules, ...snapshotRules].flatMap((rule) => named(rule, rule(history))),
    ...wholeRules.flatMap((rule) => named(rule, rule(whole))),
  ];
}

type Submission = Extract<Event, { kind: 'submitted' }> & { readonly order: number };

interface Message {
  readonly token: string;
  readonly events: (Event & { readonly order: number })[];
  readonly outcomes: Outcome[];
}

type Rule = (message: Message, history: History) => string[];

function byToken({ events, outcomes }: History): Map<string, Message> {
  const messages = new Map<string, Message>();
  const messageOf = (token: string) => {
    const known = messages.get(token) ?? { token, events: [], outcomes: [] };
    messages.set(token, known);
    return known;
  };
  for (const [order, event] of events.entries()) {
    if ('token' in event) messageOf(event.token).events.push({ ...event, order });
  }
  for (const outcome of outcomes) messageOf(outcome.token).outcomes.push(outcome);
  return messages;
}

const of = <K extends Event['kind']>({ events }: Message, kind: K) =>
  events.filter((event): event is Extract<Event, { kind: K }> & { order: number } => event.kind === kind);

/** Asked for, and not refused: it may be there. */
const mayExist = (message: Message): boolean =>
  of(message, 'send-asked').length > 0 && of(message, 'refused').length === 0;
const isCancelled = (message: Message): boolean => of(message, 'cancelled').length > 0;
/** The opt-outs of its number, by its account. */
const optOutsOf = <K extends 'opt-out-asked' | 'opted-out'>(message: Message, { events }: History, kind: K) => {
  const [asked] = of(message, 'send-asked');
  return [...events.entries()].flatMap(([order, event]) =>
    event.kind === kind && 'number' in event && event.account === asked?.account && event.number === asked?.number
      ? [{ ...(event as Extract<Event, { kind: K }>), order }]
      : [],
  );
};
/** A cancel whose answer was lost: either is right. */
const mayBeCancelled = (message: Message): boolean =>
  of(message, 'cancel-asked').length > of(message, 'cancel-refused').length;

/** Somebody may have ended it while it waited: by a cancel, an opt-out or an erasure. */
function mayBeEnded(message: Message, history: History): boolean {
  const [asked] = of(message, 'send-asked');
  const isErased = history.events.some((event) => event.kind === 'erase-asked' && event.number === asked?.number);
  return isErased || mayBeCancelled(message) || optOutsOf(message, history, 'opt-out-asked').length > 0;
}

const isDecided = (message: Message): boolean => of(message, 'decision-asked').length > 0;

/**
 * Whether the service knows the answer for certain before it acts again. It does not where the
 * answer was lost, or where the clock jumped before it came: the lease may have ended.
 */
export function isKnown(submission: Submission, events: readonly Event[], next?: Submission): boolean {
  const { answered, order, answeredAt = order, settledAt } = submission;
  if (submission.nodeAt === undefined) {
    return answered && !events.slice(order, answeredAt).some(({ kind }) => kind === 'clock-jumped');
  }
  if (settledAt === undefined) return false;
  const isClaim = (event: Event) => event.kind === 'claimed' && event.attemptId === next?.attemptId;
  return !next || settledAt <= events.findIndex(isClaim);
}

const policyOf = (message: Message, { unknownOutcomePolicy }: History) =>
  typeof unknownOutcomePolicy === 'string'
    ? unknownOutcomePolicy
    : unknownOutcomePolicy(of(message, 'send-asked')[0]?.account ?? '');

/**
 * The word of the operator counts: what was not submitted costs nothing, unless an answer or a
 * receipt had said otherwise before.
 */
function usedDespiteDecision(message: Message, history: History): string[] {
  if (of(message, 'decision-asked').some(({ decision }) => decision !== 'not-submitted')) return [];
  const decidedAt = of(message, 'decided')[0]?.order ?? Number.POSITIVE_INFINITY;
  const answered = of(message, 'submitted').filter(
    ({ taken, settledAt }) => taken === 'yes' && settledAt !== undefined && settledAt <= decidedAt,
  );
  const receipts = of(message, 'receipt-taken').filter(({ order }) => order <= decidedAt);
  const proven = new Set([...answered, ...receipts].map(({ part }) => part)).size;
  const dearest = Math.max(1, ...of(message, 'submitted').map((each) => priceOf(message, each, history)));
  return message.outcomes
    .filter(({ status, captured }) => status === 'REJECTED' && captured > proven * dearest)
    .map(
      ({ token, captured }) => `${token}: ${captured} credits are used, and an operator said that it was not submitted`,
    );
}

const UNANSWERED = new Set(['no answer in time', 'the process that submitted it ended without an answer']);

const RULES: readonly Rule[] = [
  function listedOnce(message, history) {
    const { token, outcomes } = message;
    const [outcome] = outcomes;
    if (outcomes.length > 1) return [`${token} is listed ${outcomes.length} times`];
    // One that was due stays as DELETED. What was submitted before may have another end.
    const mayStay = outcome?.status === 'DELETED' || of(message, 'submitted').length > 0;
    if (outcome && isCancelled(message) && !mayStay) return [`${token} was cancelled and is still listed`];
    const isAccepted = of(message, 'accepted').length > 0;
    const mayBeGone = mayBeEnded(message, history) || of(message, 'delete-asked').length > 0;
    if (!outcome && isAccepted && !mayBeGone) return [`${token} was accepted and is lost`];
    return [];
  },

  function deletedOnlyIfAsked(message, history) {
    const isDeleted = message.outcomes.some(({ status }) => status === 'DELETED');
    return isDeleted && !mayBeEnded(message, history) ? [`${message.token} is DELETED, and nobody asked for that`] : [];
  },

  /** What was claimed at the opt-out may leave, in one attempt for each of its parts. */
  function notAfterOptOut(message, history) {
    const [optOut] = optOutsOf(message, history, 'opted-out');
    if (!optOut?.claimed) return [];
    const parts = new Set<number>();
    return of(message, 'submitted')
      .filter(({ order, part }) => {
        if (order < optOut.order) return false;
        const isFirst = !parts.has(part);
        parts.add(part);
        return !optOut.claimed?.includes(message.token) || !isFirst;
      })
      .map(({ token, part }) => `${token}, part ${part}, was submitted after its number had opted out`);
  },

  function endedHoldsNothing({ outcomes }) {
    return outcomes
      .filter(({ status, held = 0 }) => status !== null && FINAL.has(status) && held !== 0)
      .map(({ token, status, held }) => `${token} has ended (${status}), and ${held} credits are held for it`);
  },

  function settledOrPending({ token, outcomes }, { pendingReason }) {
    return outcomes.flatMap(({ status, list }) => {
      if (status !== null && FINAL.has(status)) return [];
      if (pendingReason?.(token)) return [];
      return [`${token} is pending (${list}, ${status ?? 'no status'}) for no reason`];
    });
  },

  function submittedOnlyIfAccepted(message) {
    return of(message, 'submitted').length > 0 && !mayExist(message)
      ? [`${message.token} was submitted and never accepted`]
      : [];
  },

  function notAfterCancel(message) {
    const cancelled = of(message, 'cancelled')[0];
    if (!cancelled) return [];
    return of(message, 'submitted')
      .filter(({ order }) => order > cancelled.order)
      .map(({ token, part }) => `${token}, part ${part}, was submitted after its cancel was acknowledged`);
  },

  function neverTwice(message, history) {
    const faults: string[] = [];
    const taken = new Map<number, Submission>();
    const policy = policyOf(message, history);
    for (const submission of of(message, 'submitted')) {
      const { token, part } = submission;
      const earlier = taken.get(part);
      const isAllowed = policy === 'submit-again' && earlier && !isKnown(earlier, history.events, submission);
      const isDecidedSo = of(message, 'decision-asked').some(({ decision }) => decision === 'submit-again');
      if (earlier && !isAllowed && !isDecidedSo)
        faults.push(`${token}, part ${part}, was submitted again after the carrier took it`);
      if (submission.taken === 'yes') taken.set(part, submission);
    }
    return faults;
  },

  /** Another way is tried only where the carriers asked before certainly have no part of the message. */
  function oneWayAtATime(message, history) {
    const [asked] = of(message, 'send-asked');
    if (isDecided(message) || !asked) return [];
    const isRouted = (connector = '') =>
      (history.priceByRoute?.(asked.account, asked.number ?? '', connector) ?? null) !== null;
    const submitted = of(message, 'submitted').filter(({ connector }) => isRouted(connector));
    return submitted.flatMap((later) => {
      const isUnknown = ({ settledAt, forgottenAt = 0 }: Submission) =>
        settledAt === undefined && later.order >= forgottenAt;
      const isOpen = (each: Submission) => each.taken === 'yes' || isUnknown(each);
      const claimedAt = history.events.findIndex(
        (event) => event.kind === 'claimed' && event.attemptId === later.attemptId,
      );
      const other = submitted.find(
        (each) => each.order < claimedAt && each.connector !== later.connector && isOpen(each),
      );
      return other
        ? [`${message.token} was submitted by ${later.connector}, and ${other.connector} may have a part of it`]
        : [];
    });
  },

  /** Where the policy allows it, an operator is not asked after a first try that had no answer. */
  function submittedAgain(message, history) {
    const [asked] = of(message, 'send-asked');
    if (policyOf(message, history) !== 'submit-again' || typeof asked?.notAfter === 'number') return [];
    return message.outcomes
      .filter(
        ({ needsDecision, attempts, reason }) =>
          needsDecision === true && attempts === 1 && UNANSWERED.has(String(reason)) && !isDecided(message),
      )
      .map(({ token }) => `${token} waits for an operator, and its account wants it to be submitted again`);
  },

  /** Only a carrier that refuses for good, its receipt or an operator rejects a message. */
  function rejectedOnlyIfRefused(message) {
    const seen = of(message, 'submitted').filter(({ nodeAt }) => nodeAt !== undefined);
    const isRefused = seen.some(({ refusal }) => refusal === 'permanent') || isDecided(message);
    const isReported = of(message, 'receipt-taken').some(({ status }) => status === 'REJECTED');
    return seen.length > 0 && !isRefused && !isReported
      ? message.outcomes
          .filter(({ status }) => status === 'REJECTED')
          .map(({ token }) => `${token} is REJECTED, and no carrier has refused it for good`)
      : [];
  },

  /** While nobody knows whether a carrier has a part, an operator is asked before the message ends without it. */
  function notEndedWhileUnknown(message) {
    if (isDecided(message)) return [];
    const reported = new Set(of(message, 'receipt-taken').map(({ status }) => status));
    const proven = new Set(of(message, 'receipt-taken').map(({ part }) => part));
    const open = of(message, 'submitted').filter(
      ({ nodeAt, settledAt, part }) => nodeAt !== undefined && settledAt === undefined && !proven.has(part),
    );
    return message.outcomes
      .filter(({ status }) => status !== null && FINAL.has(status) && !reported.has(status) && status !== 'DELIVERED')
      .filter(({ captured }) => captured < (of(message, 'send-asked')[0]?.parts ?? 1) && open.length > 0)
      .map(({ token, status }) => `${token} has ended (${status}), and part ${open[0]?.part} had no answer`);
  },

  function attemptIdsAreNew(message) {
    const ids = of(message, 'submitted').map(({ attemptId }) => attemptId);
    return new Set(ids).size === ids.length ? [] : [`${message.token} used an attempt id twice`];
  },

  function receiptsCount(message, { pendingReason }) {
    // The word of the operator counts: also against a later receipt, and for a part without one.
    if (isDecided(message)) return [];
    const { token, outcomes } = message;
    const [outcome] = outcomes;
    const lost = new Set(
      of(message, 'submitted').flatMap(({ attemptId, settledAt }) => (settledAt === undefined ? [attemptId] : [])),
    );
    const told = of(message, 'receipt-taken').filter(({ answerTo }) => answerTo === undefined || !lost.has(answerTo));
    const receipts = told.filter(({ status }) => FINAL.has(status));
    const parts = new Set(told.map(({ part }) => part));
    const asked = of(message, 'send-asked')[0]?.parts ?? 1;
    if (!outcome || receipts.length === 0) return [];
    const finalParts = new Set(receipts.map(({ part }) => part));
    const isWhole = finalParts.size === asked && parts.size === asked;
    if (!isWhole) return [];
    // Two final receipts of one part may have overtaken one another: either may stand.
    const possible = worstOf(receipts, of(message, 'submitted')) ?? new Set(receipts.map(({ status }) => status));
    if (outcome.status !== null && possible.has(outcome.status)) return [];
    // A failure is not final while the outcome of a newer attempt is unknown.
    if (outcome.status === 'UNKNOWN' && pendingReason?.(token)) return [];
    return [`${token} has the status ${outcome.status}, and its receipts said ${[...possible].join(' or ')}`];
  },

  /**
   * What was taken by the carrier for certain is the least, what may have been is the most. While an
   * operator has to decide, all is held.
   */
  function capturedIsTaken(message, history) {
    if (isDecided(message)) return usedDespiteDecision(message, history);
    const submitted = of(message, 'submitted').filter(({ taken }) => taken === 'yes');
    const known = submitted.filter((each) => isKnown(each, history.events));
    const most = creditsOf(message, submitted, history);
    const least = creditsOf(message, known, history);
    return message.outcomes
      .filter(({ captured, needsDecision }) => (needsDecision ? captured > 0 : captured < least || captured > most))
      .map(
        ({ token, captured, status }) =>
          `${token} (${status}): ${captured} credits are used, and the carrier took parts for ${least} to ${most}`,
      );
  },
];

const priceOf = (message: Message, { connector = '' }: Submission, { priceByRoute }: History): number => {
  const [asked] = of(message, 'send-asked');
  return (asked && priceByRoute?.(asked.account, asked.number ?? '', connector)) ?? 1;
};
/** Each part once, by the way that took it. */
const creditsOf = (message: Message, submitted: readonly Submission[], history: History): number =>
  [...new Map(submitted.map((each) => [each.part, priceOf(message, each, history)])).values()].reduce(
    (sum, price) => sum + price,
    0,
  );

const FROM_WORST = ['REJECTED', 'UNDELIVERABLE', 'EXPIRED', 'DELETED', 'DELIVERED'];

/** The status of the worst part, where each part was submitted once and has one end; else undefined. */
function worstOf(
  receipts: readonly { readonly part: number; readonly status: string }[],
  submitted: readonly Submission[],
): Set<string> | undefined {
  const ends = new Set(receipts.map(({ part, status }) => `${part} ${status}`)).size;
  const parts = new Set(receipts.map(({ part }) => part)).size;
  if (ends !== parts || submitted.length !== parts) return undefined;
  const worst = FROM_WORST.find((status) => receipts.some((receipt) => receipt.status === status));
  return worst === undefined ? undefined : new Set([worst]);
}

function balancesAddUp(events: readonly Event[]): string[] {
  return events.flatMap((event) => {
    if (event.kind !== 'balances') return [];
    const { account, granted, free, held, used } = event;
    if (free + held + used === granted) return [];
    return [`${account}: ${free} free, ${held} held and ${used} used are not the ${granted} that were granted`];
  });
}
