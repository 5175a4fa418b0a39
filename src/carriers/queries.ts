import type { Clock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { createRepeat } from '../base/repeat.ts';
import { timeOfAttempts } from '../domain/sending/attempts.ts';
import type { Asked, CarrierQueries } from '../domain/sending/carrier-queries.ts';
import type { ConnectorRecord, Connectors } from '../domain/sending/connectors.ts';
import type { CarrierAnswer, CarrierEvents, Connector } from './connector.ts';
import type { ConnectorDependencies } from './dependencies.ts';

/**
 * After a restore: asks the carrier of a connector about the parts that it had before, slowly, and
 * applies what it tells as a receipt. In a process whose database was never restored it does
 * nothing.
 */
export interface Querying {
  start(): void;
  /** Called when the connector was changed, paused or resumed. */
  configure(record: ConnectorRecord): void;
  stop(): Promise<void>;
}

export interface QueryingParts {
  readonly connector: Connector;
  readonly record: ConnectorRecord;
  readonly queries: CarrierQueries;
  readonly connectors: Pick<Connectors, 'takePermits'>;
  readonly events: Pick<CarrierEvents, 'receipt'>;
  readonly restoredAt: () => Promise<number | null>;
  readonly clock: Clock;
  readonly log?: ConnectorDependencies['log'];
  readonly failed: (thrown: unknown) => void;
}

const EVERY_MS = 1_000;
/** Between two questions: five a second at most, and a tenth of the connector's rate. */
const APART_MS = 200;
const RATE_SHARE = 10;
/**
 * While none was ever told: after so many in a row without an answer, or refused, it is given up.
 * A refusal counts where the carrier should know the part, and the sender is known.
 */
const UNANSWERED_MAX = 3;
const REFUSED_MAX = 20;
const RECENT_MS = 24 * 3_600_000;
/** A connection that breaks three times in so long a time breaks because of the questions. */
const UNANSWERED_REST_MS = 60_000;
const UNBOUND_MS = 10_000;

export function createQuerying(parts: QueryingParts): Querying {
  const { connector, queries, connectors, clock, log } = parts;
  let { record } = parts;
  let isDone = connector.query === undefined;
  let restoredAt: number | null = null;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let [unanswered, refused, told] = [0, 0, 0];
  const stopping = new AbortController();

  async function giveUp(reason: string): Promise<void> {
    isDone = true;
    const left = await queries.giveUp();
    log?.warn(
      { connector: connector.name, reason },
      `the carrier cannot be asked what became of messages from before the restore: ${counted(left, 'part')} of them wait for receipts, which may have come before`,
    );
  }

  const apartMs = (): number =>
    Math.max(APART_MS, (1_000 * RATE_SHARE) / (record.ratePerSecond ?? Number.POSITIVE_INFINITY));
  const mayAsk = (): boolean => !isDone && record.pausedAt === null && record.downSince === null;

  /**
   * Settles what follows from an answer, and returns how long nothing is asked. The row of the
   * question stays until the answer is on disk.
   */
  async function settle(asked: Asked, answer: CarrierAnswer): Promise<number> {
    if (answer.kind === 'unsent') {
      const { retryAfterMs = 0 } = answer;
      await queries.giveBack(asked, clock.now() + Math.max(retryAfterMs, UNBOUND_MS));
      return Math.max(retryAfterMs, EVERY_MS);
    }
    const { attemptId } = asked;
    if (answer.kind === 'told') {
      told++;
      const { status, at, detail } = answer;
      await parts.events.receipt({ connector: connector.name, attemptId, gatewayId: null, status, at, detail });
      await queries.done(asked);
      return apartMs();
    }
    const isRecent = attemptId >= timeOfAttempts((restoredAt ?? 0) - RECENT_MS);
    unanswered = answer.kind === 'silent' ? unanswered + 1 : 0;
    if (answer.kind !== 'unknown') refused = 0;
    else if (isRecent && asked.sender !== null) refused++;
    const isUseless = answer.kind === 'not-offered' || unanswered >= UNANSWERED_MAX || refused >= REFUSED_MAX;
    if (answer.kind === 'unknown' && answer.isDoubtful !== true) await queries.done(asked);
    else if (answer.kind !== 'not-offered' || told > 0) await queries.putOff(asked);
    if (isUseless && told === 0) await giveUp(answer.reason);
    return answer.kind === 'silent' || answer.kind === 'not-offered' ? UNANSWERED_REST_MS : apartMs();
  }

  async function work(isStopping: () => boolean): Promise<void> {
    if (!mayAsk() || clock.monotonic() < restsUntil) return;
    restoredAt ??= await parts.restoredAt();
    const nextAt = restoredAt === null ? null : await queries.nextAt();
    isDone = nextAt === null;
    if (nextAt === null || nextAt > clock.now()) return;
    while (mayAsk() && !isStopping()) {
      const { ratePerSecond } = record;
      if (ratePerSecond !== null && (await connectors.takePermits(connector.name, ratePerSecond, 1)) === 0) return;
      const asked = await queries.take(isStopping);
      if (!asked || isStopping()) return;
      const answer = await connector.query?.(asked, stopping.signal);
      if (!answer || (isStopping() && answer.kind !== 'told')) return;
      const restMs = await settle(asked, answer);
      restsUntil = clock.monotonic() + restMs;
      if (restMs >= EVERY_MS) return;
      await clock.sleep(restMs, stopping.signal);
    }
  }

  const repeat = createRepeat({ clock, everyMs: EVERY_MS, work, failed: parts.failed });
  return {
    start: repeat.start,
    configure(changed) {
      record = changed;
    },
    async stop() {
      stopping.abort();
      await repeat.stop();
    },
  };
}
