import { createBackOff, spread } from '../../base/back-off.ts';
import { readAddress, readPart } from '../../sms/user-data.ts';
import type { CarrierEvents } from '../connector.ts';
import { type BoxLink, openBoxLink } from './box-link.ts';
import { ACK, ADMIN, type BoxFrame, type BoxSms, SMS_TYPE, textOf } from './box-protocol.ts';
import type { BoxAnswer, Unanswered } from './box-unanswered.ts';
import type { KannelBoxConfig, KannelDependencies } from './config.ts';
import { readText } from './incoming.ts';
import { readReceipt, readUnixTime } from './receipts.ts';
import type { Refusals } from './refusals.ts';

/** The connection to bearerbox, which is reopened whenever it ends. */
export interface BoxConnection {
  /** Opens the connection again and again. Resolves when the connector is stopped. */
  keepConnected(events: CarrierEvents, firstTried: () => void): Promise<void>;
  /** The link on which submissions are sent now, or the reason why there is none. */
  linkOrReason(): BoxLink | string;
  /** The link while it is open, even while bearerbox shuts down. */
  readonly link: BoxLink | null;
  /** Whether bearerbox has answered, and so understands us. Until then one message is risked. */
  readonly isProved: boolean;
  /** Resolves when everything that is being stored is acknowledged. */
  stored(): Promise<unknown>;
}

export interface BoxParts {
  readonly name: string;
  readonly config: KannelBoxConfig;
  readonly deps: KannelDependencies;
  readonly refusals: Refusals;
  readonly unanswered: Unanswered;
  readonly stopping: AbortSignal;
  readonly onProved: () => void;
}

const BACK_OFF_MIN_MS = 250;
const BACK_OFF_MAX_MS = 15_000;
const LEAVE_MS_MAX = 2_000;
const LEAVE_STEP_MS = 50;

export function createBoxConnection(parts: BoxParts): BoxConnection {
  const { name, config, deps, unanswered, stopping, onProved } = parts;
  const receiver = createReceiver(parts);
  let link: BoxLink | null = null;
  let linkFault = 'not connected yet';
  let isProved = false;
  let isShuttingDown = false;

  function received(from: BoxLink, frame: BoxFrame, events: CarrierEvents): void {
    if (!isProved && frame.type !== 'heartbeat') {
      isProved = true;
      onProved();
    }
    if (frame.type === 'ack') unanswered.settle((textOf(frame.id) ?? '').toLowerCase(), answerOf(frame.nack));
    else if (frame.type === 'admin' && endsBearerbox(frame.command) && !isShuttingDown) {
      isShuttingDown = true;
      void leave(from, parts, receiver.stored);
    } else if (frame.type === 'sms') receiver.receive(from, frame, events);
  }

  /** Resolves with the reason when the connection has ended. */
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
    if (stopping.aborted) own.close();
    else deps.log.info({ connector: name }, 'kannel: connected to bearerbox');
    opened();
    const reason = await own.ended;
    link = null;
    unanswered.settleAll({ kind: 'unknown-outcome', reason: `the connection ended (${reason})` });
    return reason;
  }

  return {
    async keepConnected(events, firstTried) {
      for (const backOff = createBackOff(BACK_OFF_MIN_MS, BACK_OFF_MAX_MS); !stopping.aborted; ) {
        const reason = await connection(events, firstTried);
        firstTried();
        if (stopping.aborted) return;
        if (isProved) backOff.reset();
        const waitMs = backOff.next();
        linkFault = `bearerbox is not connected (${reason})`;
        deps.log.warn({ connector: name, reason, waitMs }, 'kannel: bearerbox is not connected');
        isProved = false;
        await deps.sleep(spread(waitMs, deps.random), stopping);
      }
    },
    linkOrReason: () => (isShuttingDown ? 'bearerbox is shutting down' : (link ?? linkFault)),
    get link() {
      return link;
    },
    get isProved() {
      return isProved;
    },
    stored: receiver.stored,
  };
}

/**
 * Leaves a bearerbox that shuts down: it takes nothing new, and ends when its boxes have left.
 * Until then it still answers what it has, and what is stored here is acknowledged.
 */
async function leave(
  from: BoxLink,
  { unanswered, deps, stopping }: BoxParts,
  stored: BoxConnection['stored'],
): Promise<void> {
  for (let waited = 0; unanswered.size > 0 && waited < LEAVE_MS_MAX; waited += LEAVE_STEP_MS) {
    await deps.sleep(LEAVE_STEP_MS, stopping);
  }
  await stored();
  from.close();
}

/** By default bearerbox sends 100 messages without an acknowledgement (smsbox-max-pending). */
const EVENTS_MAX = 1_000;
/** A temporary refusal is sent late, because bearerbox repeats a refused message at once. */
const REFUSAL_DELAY_MS = 1_000;

/** Stores receipts and messages from phones, and acknowledges them. */
function createReceiver({ name, deps, refusals, stopping }: BoxParts) {
  const underWay = new Set<Promise<void>>();

  /** Stores a message and acknowledges it when it is on disk. */
  async function store(from: BoxLink, frame: BoxSms, events: CarrierEvents): Promise<void> {
    let nack: number = ACK.success;
    try {
      const isKnown = await receiveSms(name, frame, events, refusals, deps.now());
      if (!isKnown)
        deps.log.warn({ connector: name, type: frame.smsType }, 'kannel: received a message that is not for a box');
    } catch (error) {
      deps.log.warn({ connector: name, err: error }, 'kannel: a message could not be stored; bearerbox will repeat it');
      await deps.sleep(REFUSAL_DELAY_MS, stopping);
      nack = ACK.failedTemporarily;
    }
    if (frame.id) from.send({ type: 'ack', nack, time: frame.time, id: frame.id });
  }

  return {
    receive(from: BoxLink, frame: BoxSms, events: CarrierEvents): void {
      const work = store(from, frame, events).finally(() => {
        underWay.delete(work);
        if (underWay.size < EVENTS_MAX) from.hold(false);
      });
      underWay.add(work);
      if (underWay.size >= EVENTS_MAX) from.hold(true);
    },
    stored: () => Promise.allSettled(underWay),
  };
}

/**
 * Passes a frame of bearerbox on to the domain, and resolves when it is on disk. Returns false if
 * the frame is neither a receipt nor a message from a phone.
 */
async function receiveSms(
  connector: string,
  frame: BoxSms,
  events: CarrierEvents,
  refusals: Refusals,
  now: number,
): Promise<boolean> {
  if (frame.smsType === SMS_TYPE.receipt) {
    const read = readReceipt(frame.receiptMask ?? 0, textOf(frame.body) ?? '');
    const attemptId = textOf(frame.receiptUrl);
    if (read === null || attemptId === null) return false;
    if (await refusals.explains(attemptId, read)) return true;
    await events.receipt({
      connector,
      attemptId,
      gatewayId: textOf(frame.foreignId),
      status: read.status,
      at: readUnixTime(frame.time, now),
      detail: read.detail,
    });
    return true;
  }
  if (frame.smsType !== SMS_TYPE.incoming) return false;
  await events.incoming({
    connector,
    gatewayId: textOf(frame.id),
    sender: readAddress(textOf(frame.sender)),
    destination: readAddress(textOf(frame.receiver)),
    text: readText({ coding: frame.coding, charset: textOf(frame.charset), body: frame.body ?? new Uint8Array() }),
    receivedAt: readUnixTime(frame.time, now),
    part: readPart(frame.udh),
  });
  return true;
}

const endsBearerbox = (command: number | null): boolean => command === ADMIN.shutdown || command === ADMIN.restart;

function answerOf(nack: number | null): BoxAnswer {
  if (nack === ACK.success || nack === ACK.buffered) return { kind: 'accepted', gatewayId: null };
  if (nack === ACK.failedTemporarily) {
    return { kind: 'temporary', reason: 'the queue of Kannel is full', retryAfterMs: 5_000 };
  }
  return 'no route';
}
