import { createSemaphore } from '../../base/semaphore.ts';
import { createAdaptiveRate } from '../adaptive-rate.ts';
import type {
  CarrierAnswer,
  CarrierEvents,
  CarrierQuestion,
  Connector,
  Submission,
  SubmitResult,
} from '../connector.ts';
import { submitWithin } from '../submit-within.ts';
import { createBinds } from './binds.ts';
import type { SmppConfig, SmppDependencies } from './config.ts';
import { createDeliveries } from './deliveries.ts';
import { createJudge } from './judge.ts';
import { probeSmpp } from './probe.ts';
import { createForms, readAnswer } from './query.ts';
import type { Answer } from './requests.ts';
import type { Session } from './session.ts';
import { isRefusal, type Prepared, prepare, sourceOf } from './submission.ts';
import { type OpenWire, openSocket } from './wire.ts';

/** Straight to a carrier by SMPP 3.4. */

/** The dispatcher gives a submission up later than the connector itself, which says why. */
const MARGIN_MS = 5_000;
const LATE_TRIES = 60;
const LATE_RETRY_MS = 1_000;

export function createSmpp(
  name: string,
  config: SmppConfig,
  deps: SmppDependencies,
  openWire: OpenWire = openSocket,
): Connector {
  const { clock, log } = deps;
  const rate = createAdaptiveRate(clock);
  const judge = createJudge(config, rate);
  const deliveries = createDeliveries(name, config, deps);
  const window = createSemaphore(() => Math.max(1, binds.ready().length * config.window));
  const forms = createForms();
  let events: CarrierEvents | undefined;

  const binds = createBinds({
    name,
    config,
    deps,
    openWire,
    onReady: window.widened,
    newReceiver: deliveries.newReceiver,
    onLate: (attemptId, answer) => void settleLate(attemptId, answer),
  });

  /** The answer is known here alone, so it is tried again where the database does not take it. */
  async function settleLate(attemptId: string, answer: Answer & { kind: 'answered' }): Promise<void> {
    const result = judge.resultOf(answer, attemptId, null);
    if (result.kind === 'unknown-outcome') return;
    for (let tries = 0; tries < LATE_TRIES && !binds.isStopped; tries++) {
      try {
        await events?.late({ connector: name, attemptId, result });
        return;
      } catch (thrown) {
        log.warn({ connector: name, err: thrown }, 'smpp: a late answer was not stored yet');
        await clock.sleep(LATE_RETRY_MS);
      }
    }
  }

  async function send(part: Submission, prepared: Prepared, signal: AbortSignal): Promise<SubmitResult> {
    const session = leastBusy(binds.ready(), config.window);
    if (typeof session === 'string') return away(binds.fault() ?? session, binds.ready().length === 0);
    const answer = await session.submit(prepared, part.attemptId, signal);
    return judge.resultOf(answer, part.partKey ?? part.attemptId, session);
  }

  function submitOne(part: Submission, prepared: Prepared, signal: AbortSignal): Promise<SubmitResult> {
    const fault = binds.fault();
    if (fault !== null) return Promise.resolve(away(fault, true));
    const inTurn = async () => {
      await rate.wait(signal);
      return null;
    };
    return submitWithin(window, part, signal, () => send(part, prepared, signal), inTurn);
  }

  /** Takes a place of the window, and its turn in the rate, as a submission does. */
  async function ask(messageId: string, sender: string | null, signal: AbortSignal): Promise<CarrierAnswer> {
    const source = sourceOf(sender ?? config.defaultSender ?? null, config);
    if (source === null) return { kind: 'unknown', reason: 'no sender that a carrier takes' };
    const leave = await window.enter(signal);
    if (leave === null) return { kind: 'unsent', reason: 'stopped' };
    try {
      await rate.wait(signal);
      const [session] = binds.ready().sort((one, other) => one.open - other.open);
      if (!session || signal.aborted) return { kind: 'unsent', reason: binds.fault() ?? 'stopped' };
      const answer = await session.query({ messageId, source }, signal);
      return readAnswer(answer, clock.now(), config.statusMeanings);
    } finally {
      leave();
    }
  }

  async function query({ gatewayId, sender }: CarrierQuestion, signal: AbortSignal): Promise<CarrierAnswer> {
    let answer: CarrierAnswer = { kind: 'unsent', reason: binds.fault() ?? 'stopped' };
    if (binds.fault() !== null) return answer;
    for (const form of forms.of(gatewayId)) {
      answer = await ask(form, sender, signal);
      if (answer.kind === 'told') forms.onKnown(gatewayId, form);
      if (answer.kind !== 'unknown') return answer;
    }
    forms.onStranger();
    return answer;
  }

  return {
    name,
    kind: 'smpp',
    query,
    partsAs: PARTS_AS[config.parts],
    windowTotal: config.window * config.binds,
    submitTimeoutMs: config.answerSeconds * 1_000 + MARGIN_MS,
    async start(given) {
      events = given;
      deliveries.start(given);
      await binds.start();
    },
    async submit(parts, signal) {
      const prepared = parts.map((part) => prepare(part, config, clock.now()));
      // A message of which one part cannot go must not go in pieces.
      const refusal = prepared.find(isRefusal);
      if (refusal) return parts.map(() => refusal);
      return Promise.all(parts.map((part, index) => submitOne(part, prepared[index] as Prepared, signal)));
    },
    async stop() {
      // What is being stored is acknowledged before the connections end.
      await deliveries.stored();
      await binds.stop();
    },
    probe: (note) => probeSmpp(config, deps, openWire, note),
  };
}

const PARTS_AS = { udh8: 'udh8', udh16: 'udh16', sar: 'bare', payload: 'whole' } as const;

/** Or the reason why there is none. */
function leastBusy(ready: readonly Session[], window: number): Session | string {
  const [first] = ready.filter(({ open }) => open < window).sort((a, b) => a.open - b.open);
  return first ?? 'the connections have as much under way as the window allows';
}

const AWAY_MS = 1_000;
const away = (reason: string, connectorDown: boolean): SubmitResult => ({
  kind: 'temporary',
  reason,
  retryAfterMs: AWAY_MS,
  connectorDown,
});
