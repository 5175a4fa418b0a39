import { randomUuid } from '../../base/random.ts';
import { createSemaphore } from '../../base/semaphore.ts';
import type { Connector, Submission, SubmitResult } from '../connector.ts';
import { submitWithin } from '../submit-within.ts';
import { createBoxConnection } from './box-connection.ts';
import { probeBox } from './box-probe.ts';
import { type BoxSms, octetsOf, SMS_TYPE, smsFrame } from './box-protocol.ts';
import { createUnanswered } from './box-unanswered.ts';
import type { KannelBoxConfig, KannelDependencies } from './config.ts';
import { RECEIPT_MASK } from './receipts.ts';
import { createRefusals } from './refusals.ts';
import { isRefusal, type Prepared, prepare } from './submission.ts';

/**
 * The recommended connection to Kannel: Columba is a box at bearerbox's box port. bearerbox keeps
 * receipts and incoming messages in its store until we acknowledge them.
 */

const TICK_MS = 1_000;

export function createKannelBox(name: string, config: KannelBoxConfig, deps: KannelDependencies): Connector {
  const stopping = new AbortController();
  const unanswered = createUnanswered();
  const deadline = Math.ceil(config.answerTimeoutMs / TICK_MS);
  const refusals = createRefusals(config, deps);
  const places = createSemaphore(() => (connection.isProved ? config.window : 1));
  const connection = createBoxConnection({
    name,
    config,
    deps,
    refusals,
    unanswered,
    stopping: stopping.signal,
    onProved: places.widened,
  });
  let running: Promise<unknown> = Promise.resolve();

  async function submitOne(part: Submission, signal: AbortSignal): Promise<SubmitResult> {
    const prepared = prepare(part, config, deps.now());
    if (isRefusal(prepared)) return prepared;
    return submitWithin(places, part, signal, async () => {
      const to = connection.linkOrReason();
      if (typeof to === 'string') return away(to);
      return refusals.during(part.attemptId, signal, async () => {
        const id = uuidOf(part.attemptId);
        const isSent = to.send(outgoingFrame(config, part, prepared, id, deps.now()));
        return isSent ? unanswered.answerTo(id, signal) : away('the connection has ended');
      });
    });
  }

  /** Sends heartbeats, and closes a connection on which an acknowledgement is overdue. */
  async function watch(): Promise<void> {
    for (let tick = 1; ; tick++) {
      await deps.sleep(TICK_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      if (tick % config.heartbeatSeconds === 0) connection.link?.send({ type: 'heartbeat', load: 0 });
      if (unanswered.tick() > deadline) connection.link?.close();
    }
  }

  return {
    name,
    kind: 'kannel-box',
    async start(events) {
      const { promise, resolve } = Promise.withResolvers<void>();
      running = Promise.all([connection.keepConnected(events, resolve), watch()]);
      await promise;
    },
    submit: (parts, signal) =>
      Promise.all(parts.map((part) => submitOne(part, AbortSignal.any([signal, stopping.signal])))),
    async stop() {
      // Messages that are being stored are acknowledged before the connection ends.
      await connection.stored();
      stopping.abort();
      connection.link?.close();
      await running;
    },
    probe: () => probeBox(config, deps),
  };
}

function outgoingFrame(
  config: KannelBoxConfig,
  part: Submission,
  { sender, coding, validUntil }: Prepared,
  id: string,
  now: number,
): BoxSms {
  return smsFrame({
    sender: octetsOf(sender),
    receiver: octetsOf(part.recipient),
    udh: part.udh,
    // bearerbox itself converts UTF-8 to GSM 7-bit.
    body: coding === 2 ? part.body : octetsOf(part.text),
    time: Math.floor(now / 1000),
    smscId: config.smscId === undefined ? null : octetsOf(config.smscId),
    id: octetsOf(id),
    smsType: SMS_TYPE.outgoing,
    coding,
    validity: Math.min(Math.floor(validUntil / 1000), 0x7fff_ffff),
    receiptMask: RECEIPT_MASK,
    receiptUrl: octetsOf(part.attemptId),
    boxId: octetsOf(config.boxId),
    priority: part.priority,
  });
}

const away = (reason: string): SubmitResult => ({
  kind: 'temporary',
  reason,
  retryAfterMs: 1_000,
  connectorDown: true,
});

/** bearerbox takes an id only as a UUID. */
const uuidOf = (attemptId: string): string =>
  /^[0-9a-f]{32}$/.test(attemptId)
    ? attemptId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    : randomUuid();
