import { createBackOff } from '../base/back-off.ts';
import type { Clock } from '../base/clock.ts';
import { createPauses } from '../base/event-loop.ts';
import { type ClaimedMessage, type Claiming, partsSubmitted } from '../domain/sending/claim.ts';
import type { ConnectorRecord, Connectors, LastResults } from '../domain/sending/connectors.ts';
import type { Connector, SubmitResult } from './connector.ts';
import { createOptOutCheck } from './opt-out-check.ts';
import type { Settler } from './settler.ts';
import { NO_ANSWER, outcomeOf, partResults, refusalOf, submissionsOf } from './submissions.ts';
import type { Throttle } from './throttle.ts';
import type { WaysOut } from './ways-out.ts';

/**
 * Claims messages of one connector, submits them and settles their results, over and over. Several
 * services on one database do the same and share the work through it.
 */
export interface Dispatcher {
  /** Looks for due messages at once. */
  wake(): void;
  /** Called when the connector was changed, paused or resumed. */
  configure(record: ConnectorRecord): void;
  /** Claims nothing more, and settles the submissions that are under way. */
  stop(): Promise<void>;
  readonly underWay: number;
}

export interface DispatcherParts {
  readonly connector: Connector;
  readonly record: ConnectorRecord;
  readonly claiming: Claiming;
  readonly settler: Settler;
  readonly connectors: Connectors;
  readonly clock: Clock;
  readonly throttle: Throttle;
  readonly waysOut?: Pick<WaysOut, 'onResults'>;
  readonly settings: DispatcherSettings;
  readonly failed: (thrown: unknown) => void;
  readonly connectorChanged: (name: string, downReason: string | null) => void;
}
export interface DispatcherSettings {
  /** How often a process looks for messages that others have accepted. */
  readonly pollMs: number;
  /** A connector answers within this time, or the submission has an unknown outcome. */
  readonly submitTimeoutMs: number;
  readonly unknownOutcomeMs: number;
  /** How long a stop waits for answers. */
  readonly stopTimeoutMs: number;
}

// The most messages of one claim: enough that the transaction of a claim costs little.
const CLAIM_MAX = 250;
// The wait if another process is in the account's transaction or has just claimed the same.
const AGAIN_MS = 20;
// Calls are answered after this much work.
const PAUSE_AFTER_MS = 0.5;
const DOWN_FIRST_MS = 1_000;
const DOWN_LAST_MS = 30_000;
// After this many unanswered submissions in a row the carrier counts as down, because an operator
// may have to decide about each of them.
const UNANSWERED_MAX = 20;

export function createDispatcher(parts: DispatcherParts): Dispatcher {
  const { connectors, clock, settings, failed } = parts;
  const { now } = clock;
  let { record } = parts;
  let stopping = false;
  const idle = createIdle(clock);
  const outage = createOutage(parts, () => record);
  const counts = createCounts(parts);
  const submitting = createSubmitting(parts, {
    onResults: ({ route = null }, all) => {
      const results = all.filter((result) => result.kind !== 'permanent' || !result.isOurs);
      if (results.length === 0) return;
      for (const result of results) counts.add(result, now());
      parts.waysOut?.onResults(parts.connector.name, route, results);
      if (!stopping) outage.onResults(results); // a stop leaves submissions unanswered
    },
    onSettled: idle.wake,
  });
  const claims = createClaims(parts, { record: () => record, outage, submitting });

  async function run(): Promise<void> {
    let waitMs = settings.pollMs;
    while (!stopping) {
      idle.reset();
      try {
        if (waitMs === 0) await parts.throttle(); // only after work, not after a look that found nothing
        waitMs = await claims.claim();
        await counts.write(connectors);
      } catch (thrown) {
        failed(thrown);
        waitMs = settings.pollMs;
      }
      if (waitMs > 0 && !stopping && !(await idle.wait(waitMs))) claims.onNoAnswer();
    }
  }
  const running = run();

  return {
    wake: idle.wake,
    configure(changed) {
      record = changed;
      idle.wake();
    },
    async stop() {
      stopping = true;
      idle.wake();
      await running;
      await submitting.stop();
      await counts.write(connectors, true).catch(failed);
    },
    get underWay() {
      return submitting.count();
    },
  };
}

interface ClaimsState {
  readonly record: () => ConnectorRecord;
  readonly outage: ReturnType<typeof createOutage>;
  readonly submitting: ReturnType<typeof createSubmitting>;
}

/** Claims as many messages as the connector may have now. */
function createClaims(parts: DispatcherParts, { record, outage, submitting }: ClaimsState) {
  const { connector, claiming, connectors, settings } = parts;
  const { now } = parts.clock;
  /** The number of submissions that were under way when a whole wait passed without an answer. */
  let hanging = 0;

  /** How many messages may be claimed now, or how long to wait if none may. */
  async function roomNow(): Promise<{ room: number; waitMs: number }> {
    const { submissionsMax, pausedAt, ratePerSecond } = record();
    const free = submissionsMax - submitting.count();
    const wanted = Math.min(free, CLAIM_MAX, outage.isDown() ? 1 : CLAIM_MAX);
    // A claim of a few messages costs as much as one of many, so it waits until at least half of
    // the places are free. Places of submissions that hang do not count.
    hanging = Math.min(hanging, submitting.count());
    const most = Math.min(CLAIM_MAX, submissionsMax - hanging);
    const isWorthwhile = wanted > 0 && (wanted >= most / 2 || outage.isDown());
    if (pausedAt !== null || !isWorthwhile) return { room: 0, waitMs: settings.pollMs };
    const outageMs = outage.remainingMs();
    if (outageMs > 0) return { room: 0, waitMs: Math.min(outageMs, settings.pollMs) };
    if (ratePerSecond === null) return { room: wanted, waitMs: 0 };
    // To take permits and give them back are two writes, which a look without work has no use for.
    if (!(await claiming.isAnythingDue(shareNow()))) return { room: 0, waitMs: await untilDueMs() };
    const permits = await connectors.takePermits(connector.name, ratePerSecond, wanted);
    return { room: permits, waitMs: permits > 0 ? 0 : Math.ceil(1_000 / ratePerSecond) };
  }

  const shareNow = () => ({
    connector: connector.name,
    isDefault: record().isDefault,
    wholeTexts: connector.partsAs === 'whole',
  });

  /** How long to wait until the next message is due. */
  async function untilDueMs(): Promise<number> {
    const nextAt = await claiming.nextDueAt(shareNow());
    return nextAt === null ? settings.pollMs : Math.min(Math.max(nextAt - now(), AGAIN_MS), settings.pollMs);
  }

  async function claimSome(room: number): Promise<number> {
    const share = shareNow();
    const claimed = await claiming.claim(share, room);
    if (claimed.length > 0) outage.onTry();
    // This comes before everything that may fail: a claimed message that is not submitted has an
    // unknown outcome when its lease runs out.
    await submitting.submit(claimed);
    const { ratePerSecond } = record();
    if (ratePerSecond !== null) {
      const used = claimed.reduce((sum, message) => sum + partsSubmitted(message), 0);
      await connectors.correctPermits(connector.name, ratePerSecond, used - room);
    }
    return claimed.length > 0 ? 0 : untilDueMs();
  }

  return {
    /** Claims and submits. Resolves with the time to wait before the next claim. */
    async claim(): Promise<number> {
      const { room, waitMs } = await roomNow();
      return room > 0 ? claimSome(room) : waitMs;
    },
    /** Called when a whole wait has passed without an answer. */
    onNoAnswer(): void {
      hanging = submitting.count();
    },
  };
}

/** A wait that `wake` ends. A wake during the work before the wait counts too. */
function createIdle(clock: Clock) {
  let isWoken = false;
  let end: (() => void) | undefined;
  return {
    reset(): void {
      isWoken = false;
    },
    wake(): void {
      isWoken = true;
      end?.();
    },
    /** Resolves with whether it was woken before the time was over. */
    async wait(ms: number): Promise<boolean> {
      if (isWoken) return true;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(ms, resolve);
        end = () => {
          cancel();
          resolve();
        };
      });
      end = undefined;
      return isWoken;
    },
  };
}

/** While the connector is down, a single message after each pause tests whether it is up again. */
function createOutage(parts: DispatcherParts, record: () => ConnectorRecord) {
  const { connector, connectors, failed, connectorChanged } = parts;
  const { now } = parts.clock;
  let until: number | null = null;
  const backOff = createBackOff(DOWN_FIRST_MS, DOWN_LAST_MS);
  let isTrying = false;
  let unanswered = 0;
  const pause = (): void => {
    until = now() + backOff.next();
  };
  function onResult(result: SubmitResult): void {
    const outage = outageOf(result, unanswered);
    if (outage !== null) {
      if (until !== null && !isTrying) return; // another result of the same outage
      isTrying = false;
      if (until === null) {
        connectorChanged(connector.name, outage);
        pause();
      }
      connectors.setDown(connector.name, outage).catch(failed);
      return;
    }
    // A carrier that refuses a message permanently has answered, so it is up.
    const hasAnswered = result.kind === 'accepted' || result.kind === 'permanent';
    if (!hasAnswered || (until === null && record().downSince === null)) return;
    if (until !== null) connectorChanged(connector.name, null);
    until = null;
    isTrying = false;
    backOff.reset();
    connectors.setUp(connector.name).catch(failed);
  }

  return {
    isDown: (): boolean => until !== null,
    /** A time that is farther ahead than any pause means that the clock was put back. */
    remainingMs(): number {
      const remaining = until === null ? 0 : until - now();
      return remaining > DOWN_LAST_MS ? 0 : remaining;
    },
    /** Called when a message tests the connector. The next test follows after a pause. */
    onTry(): void {
      if (until === null) return;
      isTrying = true;
      pause();
    },
    /** Takes the results of the parts of one message. */
    onResults(results: readonly SubmitResult[]): void {
      unanswered = results.every(({ kind }) => kind === 'unknown-outcome') ? unanswered + 1 : 0;
      for (const result of results) onResult(result);
    },
  };
}

/** Why the carrier is down, if the result says nothing about the message; else null. */
function outageOf(result: SubmitResult, unanswered: number): string | null {
  if (result.kind === 'temporary' && result.connectorDown) return result.reason;
  return result.kind === 'unknown-outcome' && unanswered >= UNANSWERED_MAX ? result.reason : null;
}

const NO_RESULTS: LastResults = { lastAcceptedAt: null, lastError: null, lastErrorAt: null };

/** Counts the results since the last write. */
function createCounts({ connector, clock: { now }, settings }: DispatcherParts) {
  let counts = { accepted: 0, temporary: 0, permanent: 0, unknownOutcome: 0 };
  let last = NO_RESULTS;
  let writtenAt = now();
  return {
    add(result: SubmitResult, at: number): void {
      counts[result.kind === 'unknown-outcome' ? 'unknownOutcome' : result.kind] += 1;
      if (result.kind === 'accepted') last = { ...last, lastAcceptedAt: at };
      else last = { ...last, lastError: result.reason, lastErrorAt: at };
    },
    /** Writes at most once a second, because all processes write to one row. */
    async write(connectors: Connectors, isLast = false): Promise<void> {
      const sum = counts.accepted + counts.temporary + counts.permanent + counts.unknownOutcome;
      const age = Math.abs(now() - writtenAt);
      if (sum === 0 || (age < settings.pollMs && !isLast)) return;
      const written = counts;
      const lastResults = last;
      last = NO_RESULTS;
      counts = { accepted: 0, temporary: 0, permanent: 0, unknownOutcome: 0 };
      writtenAt = now();
      await connectors.addCounts(connector.name, written, lastResults);
    },
  };
}

interface SubmittingEvents {
  /** Called with the results of the parts of one message. */
  readonly onResults: (message: ClaimedMessage, results: readonly SubmitResult[]) => void;
  readonly onSettled: () => void;
}

type Withheld = ReturnType<typeof createOptOutCheck>;

/** Submits each message by itself, so that a slow one does not delay the others. */
function createSubmitting(parts: DispatcherParts, { onResults, onSettled }: SubmittingEvents) {
  const { connector, claiming, settler, clock, settings, failed } = parts;
  const { now, random } = clock;
  const timeoutMs = connector.submitTimeoutMs ?? settings.submitTimeoutMs;
  const underWay = new Set<Promise<void>>();
  const stopped = new AbortController();

  async function submit(message: ClaimedMessage, withheld: Withheld, signal: AbortSignal): Promise<void> {
    const results = await resultsOf(message, withheld, signal);
    onResults(message, results);
    const times = { now: now(), random, unknownOutcomeMs: settings.unknownOutcomeMs };
    const outcome = outcomeOf(message, results, times);
    const refusal = refusalOf(results);
    const settlement = { message, parts: partResults(message, results), outcome };
    await settler.add(refusal === undefined ? settlement : { ...settlement, refusal });
  }

  async function resultsOf(message: ClaimedMessage, withheld: Withheld, signal: AbortSignal): Promise<SubmitResult[]> {
    try {
      const submissions = submissionsOf(message, connector.partsAs).map((part) => ({
        ...part,
        withheld: () => withheld(message),
      }));
      const results = await connector.submit(submissions, signal);
      return message.parts.map((_, index) => results[index] ?? NO_ANSWER);
    } catch (thrown) {
      failed(thrown); // a bug of the connector: nobody knows what it has sent
      return message.parts.map(() => NO_ANSWER);
    }
  }

  return {
    count: () => underWay.size,
    /** Messages of one claim share a signal, because a signal costs as much as a submission. */
    async submit(messages: readonly ClaimedMessage[]): Promise<void> {
      if (messages.length === 0) return; // most looks find nothing, and need no timer
      const signal = AbortSignal.any([clock.timeout(timeoutMs), stopped.signal]);
      const pause = createPauses(PAUSE_AFTER_MS);
      const withheld = createOptOutCheck(messages, now(), { claiming, now, failed });
      for (const message of messages) {
        await pause();
        const submitted = submit(message, withheld, signal).finally(() => {
          underWay.delete(submitted);
          onSettled();
        });
        underWay.add(submitted);
      }
    },
    async stop(): Promise<void> {
      const cancel = clock.after(settings.stopTimeoutMs, () => stopped.abort());
      while (underWay.size > 0) await Promise.race(underWay);
      cancel();
    },
  };
}
