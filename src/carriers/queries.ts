import type { Clock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { createRepeat } from '../base/repeat.ts';
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
/** So many questions a second at most, and a tenth of the connector's rate. */
const QUESTIONS_MAX = 5;
const RATE_SHARE = 10;
/** So many in a row without an answer, or refused while none was ever told: it is given up. */
const UNANSWERED_MAX = 3;
const REFUSED_MAX = 20;
const UNBOUND_MS = 10_000;

export function createQuerying(parts: QueryingParts): Querying {
  const { connector, queries, connectors, clock, log } = parts;
  let { record } = parts;
  let isDone = connector.query === undefined;
  let isRestored = false;
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

  /** What an answer settles. The row of the question stays until the answer is on disk. */
  async function settle(asked: Asked, answer: CarrierAnswer): Promise<void> {
    if (answer.kind === 'unsent') return queries.giveBack(asked, clock.now() + UNBOUND_MS);
    unanswered = answer.kind === 'silent' ? unanswered + 1 : 0;
    refused = answer.kind === 'unknown' ? refused + 1 : 0;
    if (answer.kind === 'told') {
      told++;
      const { status, at, detail } = answer;
      const { attemptId } = asked;
      await parts.events.receipt({ connector: connector.name, attemptId, gatewayId: null, status, at, detail });
    }
    if (answer.kind === 'later' || answer.kind === 'silent') await queries.putOff(asked);
    else if (answer.kind !== 'not-offered') await queries.done(asked);
    const isUseless = unanswered >= UNANSWERED_MAX || (refused >= REFUSED_MAX && told === 0);
    if (answer.kind === 'not-offered' || (isUseless && answer.kind !== 'told')) await giveUp(answer.reason);
  }

  async function work(isStopping: () => boolean): Promise<void> {
    if (isDone || record.pausedAt !== null || record.downSince !== null) return;
    isRestored ||= (await parts.restoredAt()) !== null;
    const nextAt = isRestored ? await queries.nextAt() : null;
    isDone = nextAt === null;
    if (nextAt === null || nextAt > clock.now()) return;
    const { ratePerSecond } = record;
    const most = Math.ceil(Math.min(QUESTIONS_MAX, (ratePerSecond ?? Number.POSITIVE_INFINITY) / RATE_SHARE));
    for (let count = 0; count < most && !isDone && !isStopping(); count++) {
      if (ratePerSecond !== null && (await connectors.takePermits(connector.name, ratePerSecond, 1)) === 0) return;
      const asked = await queries.take();
      if (!asked || isStopping()) return;
      const answer = await connector.query?.(asked, stopping.signal);
      if (!answer || (isStopping() && answer.kind !== 'told')) return;
      await settle(asked, answer);
      if (answer.kind === 'unsent') return;
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
