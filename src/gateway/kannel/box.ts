import { randomUUID } from 'node:crypto';
import type { CarrierEvents, Connector, Submission, SubmitResult } from '../connector.ts';
import { receiveSms } from './box-events.ts';
import { type BoxLink, openBoxLink } from './box-link.ts';
import { probeBox } from './box-probe.ts';
import { ACK, ADMIN, type BoxFrame, type BoxSms, octetsOf, SMS_TYPE, smsFrame, textOf } from './box-protocol.ts';
import type { KannelBoxConfig, KannelDependencies } from './config.ts';
import { RECEIPT_MASK } from './receipts.ts';
import { createRefusals } from './refusals.ts';
import { isRefusal, type Prepared, prepare } from './submission.ts';
import { createWindow } from './window.ts';

/**
 * The recommended way to Kannel: a box of our own at bearerbox's box port. bearerbox keeps receipts
 * and incoming messages in its store until we acknowledge them.
 */

const BACK_OFF_MIN_MS = 250;
const BACK_OFF_MAX_MS = 15_000;
const TICK_MS = 1_000;
/** bearerbox hands over 100 without an acknowledgement (smsbox-max-pending), unless told else. */
const EVENTS_MAX = 1_000;
/** bearerbox repeats what we refuse for the moment at once. So the refusal comes late. */
const REFUSAL_DELAY_MS = 1_000;

interface Pending {
  readonly settle: (result: SubmitResult | 'no route') => void;
  /** In ticks: jumps of the wall clock do not count. */
  age: number;
}

export function createKannelBox(name: string, config: KannelBoxConfig, deps: KannelDependencies): Connector {
  const stopping = new AbortController();
  const pending = new Map<string, Pending>();
  const underWay = new Set<Promise<void>>();
  const deadline = Math.ceil(config.answerTimeoutMs / TICK_MS);
  let link: BoxLink | null = null;
  let linkFault = 'not connected yet';
  /** A bearerbox that has answered understands us. Until then one message at a time is risked. */
  let isProved = false;
  let isShuttingDown = false;
  let running: Promise<unknown> = Promise.resolve();
  const refusals = createRefusals(config, deps);
  const window = createWindow(() => (isProved ? config.window : 1));

  async function submitOne(part: Submission, signal: AbortSignal): Promise<SubmitResult> {
    const prepared = prepare(part, config, deps.now());
    if (isRefusal(prepared)) return prepared;
    const leave = await window.enter(signal);
    if (leave === null) return { kind: 'temporary', reason: 'aborted before it was sent' };
    try {
      const to = link;
      if (to === null || isShuttingDown) return away(isShuttingDown ? 'bearerbox is shutting down' : linkFault);
      return await refusals.during(part.attemptId, signal, () => submitted(to, part, prepared, signal));
    } finally {
      leave();
    }
  }

  async function submitted(
    to: BoxLink,
    part: Submission,
    prepared: Prepared,
    signal: AbortSignal,
  ): Promise<SubmitResult | 'no route'> {
    const id = uuidOf(part.attemptId);
    const { promise, resolve } = Promise.withResolvers<SubmitResult | 'no route'>();
    const aborted = () => settle(id, { kind: 'unsure', reason: 'aborted after it was sent' });
    if (signal.aborted) return { kind: 'temporary', reason: 'aborted before it was sent' };
    if (!to.send(outgoingFrame(part, prepared, id))) return away('the connection has ended');
    signal.addEventListener('abort', aborted, { once: true });
    pending.set(id, {
      age: 0,
      settle(result) {
        signal.removeEventListener('abort', aborted);
        resolve(result);
      },
    });
    return promise;
  }

  function settle(id: string, result: SubmitResult | 'no route'): void {
    const entry = pending.get(id);
    pending.delete(id);
    entry?.settle(result);
  }

  function outgoingFrame(part: Submission, { sender, coding, validUntil }: Prepared, id: string): BoxSms {
    return smsFrame({
      sender: octetsOf(sender),
      receiver: octetsOf(part.recipient),
      udh: part.udh,
      // bearerbox itself makes GSM 7-bit of UTF-8.
      body: coding === 2 ? part.body : octetsOf(part.text),
      time: Math.floor(deps.now() / 1000),
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

  function received(from: BoxLink, frame: BoxFrame, events: CarrierEvents): void {
    if (!isProved && frame.type !== 'heartbeat') {
      isProved = true;
      window.widened();
    }
    if (frame.type === 'ack') settle((textOf(frame.id) ?? '').toLowerCase(), resultOf(frame.nack));
    else if (frame.type === 'admin') onCommand(frame.command);
    else if (frame.type === 'sms') {
      const work = onSms(from, frame, events).finally(() => {
        underWay.delete(work);
        if (underWay.size < EVENTS_MAX) from.hold(false);
      });
      underWay.add(work);
      if (underWay.size >= EVENTS_MAX) from.hold(true);
    }
  }

  function onCommand(command: number | null): void {
    // The connection ends by itself soon. Until then bearerbox takes nothing new.
    if (command === ADMIN.shutdown || command === ADMIN.restart) isShuttingDown = true;
  }

  /** Acknowledges only what is on disk. */
  async function onSms(from: BoxLink, frame: BoxSms, events: CarrierEvents): Promise<void> {
    let nack: number = ACK.success;
    try {
      const isKnown = await receiveSms(name, frame, events, refusals, deps.now());
      if (!isKnown) deps.log.warn({ connector: name, type: frame.smsType }, 'kannel: a message that is not for a box');
    } catch (error) {
      deps.log.warn({ connector: name, err: error }, 'kannel: a message was not stored; bearerbox repeats it');
      await deps.sleep(REFUSAL_DELAY_MS, stopping.signal);
      nack = ACK.failedTemporarily;
    }
    if (frame.id) from.send({ type: 'ack', nack, time: frame.time, id: frame.id });
  }

  /** Connects again and again, until it is stopped. */
  async function keepConnected(events: CarrierEvents, firstTried: () => void): Promise<void> {
    for (let waitMs = BACK_OFF_MIN_MS; !stopping.signal.aborted; ) {
      const reason = await connection(events, firstTried);
      firstTried();
      if (stopping.signal.aborted) return;
      if (isProved) waitMs = BACK_OFF_MIN_MS;
      linkFault = `bearerbox is not connected (${reason})`;
      deps.log.warn({ connector: name, reason, waitMs }, 'kannel: bearerbox is not connected');
      isProved = false;
      await deps.sleep(waitMs * (0.5 + Math.random() / 2), stopping.signal);
      waitMs = Math.min(waitMs * 2, BACK_OFF_MAX_MS);
    }
  }

  /** Resolves with its reason when the connection has ended. */
  async function connection(events: CarrierEvents, opened: () => void): Promise<string> {
    let own: BoxLink | null = null;
    const early: BoxFrame[] = [];
    const take = (frame: BoxFrame) => {
      if (own) received(own, frame, events);
      else early.push(frame);
    };
    try {
      own = await openBoxLink(config, config.boxId, take, deps.sleep);
    } catch (error) {
      return error instanceof Error ? error.message : 'unknown';
    }
    link = own;
    isShuttingDown = false;
    for (const frame of early) received(own, frame, events);
    if (stopping.signal.aborted) own.close();
    else deps.log.info({ connector: name }, 'kannel: connected to bearerbox');
    opened();
    const reason = await own.ended;
    link = null;
    for (const id of [...pending.keys()]) settle(id, { kind: 'unsure', reason: `the connection ended (${reason})` });
    return reason;
  }

  /** Sends heartbeats, and ends a connection on which an acknowledgement does not come. */
  async function watch(): Promise<void> {
    for (let tick = 1; ; tick++) {
      await deps.sleep(TICK_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      if (tick % config.heartbeatSeconds === 0) link?.send({ type: 'heartbeat', load: 0 });
      for (const entry of pending.values()) entry.age++;
      if ([...pending.values()].some(({ age }) => age > deadline)) link?.close();
    }
  }

  return {
    name,
    kind: 'kannel-box',
    async start(events) {
      const { promise, resolve } = Promise.withResolvers<void>();
      running = Promise.all([keepConnected(events, resolve), watch()]);
      await promise;
    },
    submit: (parts, signal) =>
      Promise.all(parts.map((part) => submitOne(part, AbortSignal.any([signal, stopping.signal])))),
    async stop() {
      // What is being stored is acknowledged before the connection ends.
      await Promise.allSettled(underWay);
      stopping.abort();
      link?.close();
      await running;
    },
    probe: () => probeBox(config, deps),
  };
}

const away = (reason: string): SubmitResult => ({
  kind: 'temporary',
  reason,
  retryAfterMs: 1_000,
  connectorDown: true,
});

function resultOf(nack: number | null): SubmitResult | 'no route' {
  if (nack === ACK.success || nack === ACK.buffered) return { kind: 'accepted', gatewayId: null };
  if (nack === ACK.failedTemporarily) {
    return { kind: 'temporary', reason: 'the queue of Kannel is full', retryAfterMs: 5_000 };
  }
  return 'no route';
}

/** bearerbox takes an id only in this form. */
const uuidOf = (attemptId: string): string =>
  /^[0-9a-f]{32}$/.test(attemptId)
    ? attemptId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    : randomUUID();
