import type { Clock } from '../../base/clock.ts';
import { afterPoll } from '../../base/event-loop.ts';
import type { Oddity } from '../dependencies.ts';
import type { BindKind, SmppConfig } from './config.ts';
import { BadFrame, FrameReader } from './frames.ts';
import { answerTo, COMMAND, decodePdu, encodePdu, headerOf, isAnswer, MalformedPdu, type Pdu, TLV } from './pdu.ts';
import { type Asked, createQuery, type QueryAnswer, queryBody } from './query.ts';
import { type Answer, createRequests } from './requests.ts';
import { STATUS, statusWords } from './status.ts';
import type { Prepared } from './submission.ts';
import type { OpenWire, Wire } from './wire.ts';

/**
 * One connection to an SMSC, from the bind to its end. It is never opened again: whoever wants
 * another connection makes another session.
 */
export interface Session {
  /** Whether it takes submissions. */
  readonly isBound: boolean;
  /** Submissions without an answer. */
  readonly open: number;
  /** Never rejects. */
  submit(prepared: Prepared, attemptId: string, signal: AbortSignal): Promise<Answer>;
  /** Asks what became of a message, one at a time. Never rejects. */
  query(asked: Asked, signal: AbortSignal): Promise<QueryAnswer>;
  /** Resolves when the SMSC has sent a PDU since; false where it did not in time. */
  enquire(): Promise<boolean>;
  /** Says goodbye, and closes when the SMSC has answered or after 2 seconds. */
  unbind(): Promise<void>;
  close(reason: string): void;
  readonly ended: Promise<SessionEnd>;
}

export interface SessionEnd {
  readonly reason: string;
  /** The status with which a bind was refused; null for every other end. */
  readonly refusal: number | null;
  /** How long it was bound; null where it never was. */
  readonly boundMs: number | null;
  /** Nothing was open, and the SMSC ended it. */
  readonly isIdle: boolean;
}

export interface BoundTo {
  readonly systemId: string;
  /** Such as 0x34; null where the SMSC does not tell it. */
  readonly version: number | null;
}

export interface SessionParts {
  readonly kind: BindKind;
  readonly config: SmppConfig;
  readonly clock: Clock;
  readonly openWire: OpenWire;
  readonly onBound: (to: BoundTo) => void;
  /** Stores a receipt or a message, and resolves to the command_status of the answer. */
  readonly receive: (pdu: Pdu) => Promise<number>;
  readonly onLate: (attemptId: string, answer: Answer & { readonly kind: 'answered' }) => void;
  readonly noticed?: (what: Oddity) => void;
  /** For the log: the direction and the header of each PDU. */
  readonly trace?: (direction: 'in' | 'out', frame: Buffer) => void;
}

const TICK_MS = 1_000;
const UNBIND_WAIT_MS = 2_000;
/** How long the SMSC may answer what is open after it said goodbye. */
const LEAVE_WAIT_MS = 5_000;
/** So many submissions in a row without an answer: the SMSC hangs. */
const UNANSWERED_MAX = 20;
/** Receipts and messages that are not on disk yet: where reading stops, and where it goes on. */
const UNCOMMITTED_MAX = 200;
const UNCOMMITTED_LOW = 100;
/** Of a peer that does not read: no submission leaves, and nothing more is read from it. */
const UNSENT_MAX = 1024 * 1024;
const MALFORMED_MAX = 10;
const UNKNOWN_MAX = 100;
const SEQUENCE_MAX = 0x7fff_ffff;
const BINDS = {
  transceiver: COMMAND.bindTransceiver,
  transmitter: COMMAND.bindTransmitter,
  receiver: COMMAND.bindReceiver,
} as const;
const VERSION = 0x34;

export function openSession(parts: SessionParts): Session {
  const { kind, config, clock, openWire } = parts;
  const { monotonic } = clock;
  const { promise: ended, resolve: onEnded } = Promise.withResolvers<SessionEnd>();
  const requests = createRequests(monotonic, parts.onLate);
  const query = createQuery(monotonic);
  const reader = new FrameReader();
  const malformed = createLimit(MALFORMED_MAX, monotonic);
  const unknown = createLimit(UNKNOWN_MAX, monotonic);
  /** leaving: the SMSC has unbound. unbinding: we have. */
  let state: 'connecting' | 'binding' | 'bound' | 'leaving' | 'unbinding' | 'closed' = 'connecting';
  let stateSince = monotonic();
  let boundAt: number | null = null;
  let wire: Wire | null = null;
  let sequence = 0;
  let receivedAt = monotonic();
  let enquiredAt: number | null = null;
  let enquireSequence = -1;
  let unanswered = 0;
  let uncommitted = 0;
  let isHeld = false;
  let isOverfull = false;
  let onSign: (() => void) | null = null;
  /** Answers to the SMSC leave before submissions. */
  const answers: Buffer[] = [];
  const submissions: { readonly sequence: number; readonly octets: Buffer }[] = [];
  let isFlushing = false;
  let cancelTick = clock.after(TICK_MS, tick, { background: true });

  function enter(next: typeof state): void {
    state = next;
    stateSince = monotonic();
  }

  function nextSequence(): number {
    do sequence = sequence >= SEQUENCE_MAX ? 1 : sequence + 1;
    while (requests.isOpen(sequence) || query.isOpen(sequence));
    return sequence;
  }

  /** What is written in one turn of the event loop leaves as one buffer. */
  function flushSoon(): void {
    if (isFlushing) return;
    isFlushing = true;
    afterPoll(flush);
  }

  function flush(): void {
    isFlushing = false;
    if (state === 'closed' || !wire) return;
    const octets = answers.splice(0);
    if (wire.unsentOctets <= UNSENT_MAX) {
      for (const each of submissions.splice(0)) if (requests.leaves(each.sequence)) octets.push(each.octets);
    }
    if (octets.length > 0) {
      if (parts.trace) for (const each of octets) parts.trace('out', each);
      wire.write(octets.length === 1 ? (octets[0] as Buffer) : Buffer.concat(octets));
    }
    isOverfull = wire.unsentOctets > UNSENT_MAX;
    hold();
  }

  function send(pdu: Pdu): void {
    answers.push(encodePdu(pdu));
    flushSoon();
  }
  const request = (command: number, body?: Uint8Array): void =>
    send({ command, status: 0, sequence: nextSequence(), ...(body && { body }) });
  const askForSign = (): void => {
    request(COMMAND.enquireLink);
    enquireSequence = sequence;
  };
  const reply = (to: Pick<Pdu, 'command' | 'sequence'>, status = 0, more: Partial<Pdu> = {}): void =>
    send({ command: answerTo(to.command), status, sequence: to.sequence, ...more });

  function hold(): void {
    const wanted = isOverfull || uncommitted >= UNCOMMITTED_MAX || (isHeld && uncommitted > UNCOMMITTED_LOW);
    if (wanted === isHeld) return;
    isHeld = wanted;
    wire?.hold(isHeld);
    receivedAt = monotonic(); // silence that we cause ourselves does not count
  }

  function end(reason: string, refusal: number | null = null, isIdle = false): void {
    if (state === 'closed') return;
    submissions.length = 0; // they never leave, so they may go another way
    flush();
    enter('closed');
    cancelTick();
    onSign?.();
    wire?.close();
    requests.end(`the connection ended (${reason})`);
    query.end(`the connection ended (${reason})`);
    onEnded({ reason, refusal, boundMs: boundAt === null ? null : monotonic() - boundAt, isIdle });
  }

  /** One timer for the connection, whatever is open on it. */
  function tick(): void {
    cancelTick = clock.after(TICK_MS, tick, { background: true });
    const fault = state === 'bound' ? faultOfBound() : faultOfOthers(monotonic() - stateSince);
    if (fault !== null) end(fault);
  }

  function faultOfOthers(sinceMs: number): string | null {
    if (state === 'binding' && sinceMs >= config.bindSeconds * 1_000) return 'no answer to the bind';
    const hasLeft = state === 'leaving' && (requests.size === 0 || sinceMs >= LEAVE_WAIT_MS);
    return hasLeft ? 'unbound by the SMSC' : null;
  }

  /** Why a bound connection ends now, if it does. Asks the SMSC for a sign where it is silent. */
  function faultOfBound(): string | null {
    const now = monotonic();
    if (isHeld) receivedAt = now;
    const silentMs = now - receivedAt;
    unanswered += requests.giveUp(config.answerSeconds * 1_000);
    query.giveUp(config.answerSeconds * 1_000);
    if (unanswered >= UNANSWERED_MAX) return `${UNANSWERED_MAX} submissions in a row without an answer`;
    const askedMs = enquiredAt === null ? null : now - enquiredAt;
    if (!config.quirks.enquireLinkUnanswered) {
      if (silentMs >= config.idleSeconds * 1_000) return `nothing came for ${config.idleSeconds} seconds`;
      if (askedMs !== null && askedMs >= config.answerSeconds * 500) return 'no answer to enquire_link';
    }
    const everyMs = config.enquireLinkSeconds * 1_000;
    if (silentMs >= everyMs && (askedMs === null || askedMs >= everyMs)) {
      enquiredAt = now;
      askForSign();
    }
    return null;
  }

  function onOctets(chunk: Buffer): void {
    try {
      for (const frame of reader.push(chunk)) {
        if (state === 'closed') return;
        parts.trace?.('in', frame);
        onFrame(frame);
      }
    } catch (thrown) {
      if (!(thrown instanceof BadFrame)) throw thrown;
      end(thrown.message);
    }
  }

  function onFrame(frame: Buffer): void {
    receivedAt = monotonic();
    enquiredAt = null;
    onSign?.();
    try {
      onPdu(decodePdu(frame));
    } catch (thrown) {
      if (!(thrown instanceof MalformedPdu)) throw thrown;
      const header = headerOf(frame);
      if (isAnswer(header.command)) onAnswer(header);
      else reply({ ...header, command: COMMAND.genericNack }, STATUS.invalidCommandLength);
      parts.noticed?.('malformed-pdu');
      if (malformed.isBeyond()) end('the SMSC sends malformed PDUs');
    }
  }

  function onPdu(pdu: Pdu): void {
    if (isAnswer(pdu.command)) onAnswer(pdu);
    else if (pdu.command === COMMAND.deliverSm || pdu.command === COMMAND.dataSm) onDelivery(pdu);
    else if (pdu.command === COMMAND.enquireLink) reply(pdu);
    else if (pdu.command === COMMAND.unbind) {
      reply(pdu);
      if (requests.size === 0) end('unbound by the SMSC', null, true);
      else enter('leaving');
    } else if (pdu.command !== COMMAND.outbind && pdu.command !== COMMAND.alertNotification) {
      reply({ ...pdu, command: COMMAND.genericNack }, STATUS.invalidCommand);
      parts.noticed?.('unknown-command');
      if (unknown.isBeyond()) end('the SMSC sends commands that nobody knows');
    }
  }

  function onAnswer(pdu: Pdu): void {
    const isNack = pdu.command === COMMAND.genericNack;
    if (pdu.command === answerTo(BINDS[kind]) || (state === 'binding' && isNack)) onBindAnswer(pdu);
    else if (query.takes(pdu)) return;
    else if (pdu.command === answerTo(COMMAND.unbind)) end('unbound');
    else if (isNack || pdu.command === answerTo(COMMAND.submitSm)) {
      unanswered = 0;
      const isKnown = requests.answer(pdu.sequence, pdu.status, pdu.status === 0 ? (pdu.messageId ?? '') : '');
      if (!isKnown && !isNack) parts.noticed?.('answer-to-nothing');
      // The SMSC could not read something of ours, and nobody knows what.
      if (isNack && !isKnown && pdu.sequence !== enquireSequence) {
        end(`a generic_nack for nothing that is known (${statusWords(pdu.status)})`);
      }
    }
  }

  function onBindAnswer(pdu: Pdu): void {
    if (state !== 'binding') return;
    if (pdu.status !== 0 || pdu.command === COMMAND.genericNack) {
      end(`the bind was refused (${statusWords(pdu.status)})`, pdu.status);
      return;
    }
    enter('bound');
    boundAt = monotonic();
    parts.onBound({ systemId: pdu.systemId ?? '', version: pdu.tlvs?.get(TLV.interfaceVersion)?.[0] ?? null });
  }

  function onDelivery(pdu: Pdu): void {
    uncommitted++;
    hold();
    void parts.receive(pdu).then((status) => {
      uncommitted--;
      if (state === 'closed') return;
      reply(pdu, status, { messageId: '' });
      hold();
    });
  }

  async function connect(): Promise<void> {
    try {
      const opened = await openWire(config, kind, {
        onOctets,
        onDrained: flushSoon,
        onEnd: (reason) => end(endOf(reason), null, requests.size === 0),
      });
      wire = opened;
    } catch (thrown) {
      end(thrown instanceof Error ? thrown.message : 'no connection');
      return;
    }
    if (state === 'closed') {
      wire.close();
      return;
    }
    enter('binding');
    const { systemId, password, systemType, addressRange } = config;
    const range = { ton: 0, npi: 0, address: addressRange };
    const bind = { systemId, password, systemType, interfaceVersion: VERSION, range };
    send({ command: BINDS[kind], status: 0, sequence: nextSequence(), bind });
  }

  /** An SMSC that does not allow an address mostly takes the connection and closes it. */
  function endOf(reason: string): string {
    if (state !== 'binding' || reason.startsWith('ERR_')) return reason;
    const orTls = config.tls ? '' : ', or the port may expect TLS';
    return `${reason} before the bind was answered: it may not allow our address${orTls}`;
  }

  void connect();

  return {
    get isBound() {
      return state === 'bound' && kind !== 'receiver';
    },
    get open() {
      return requests.size;
    },
    async submit({ message, tlvs }, attemptId, signal) {
      if (state !== 'bound') return { kind: 'unsent', reason: 'the connection has ended' };
      const own = nextSequence();
      const octets = encodePdu({ command: COMMAND.submitSm, status: 0, sequence: own, message, tlvs });
      const answered = requests.add(own, attemptId, signal);
      submissions.push({ sequence: own, octets });
      flushSoon();
      return answered;
    },
    async query(asked, signal) {
      if (state !== 'bound' || isOverfull) return { kind: 'unsent', reason: 'the connection has ended or is full' };
      request(COMMAND.querySm, queryBody(asked));
      return query.answer(sequence, signal);
    },
    enquire: () =>
      new Promise((resolve) => {
        const cancel = clock.after(config.bindSeconds * 1_000, () => resolve(false));
        onSign = () => {
          onSign = null;
          cancel();
          resolve(state !== 'closed');
        };
        askForSign();
      }),
    async unbind() {
      if (state === 'bound') {
        enter('unbinding');
        request(COMMAND.unbind);
        const cancel = clock.after(UNBIND_WAIT_MS, () => end('unbound'));
        await ended;
        cancel();
      } else end('stopped');
    },
    close: (reason) => end(reason),
    ended,
  };
}

/** Whether something has happened too often within a minute. */
function createLimit(max: number, monotonic: () => number) {
  let since = Number.NEGATIVE_INFINITY;
  let count = 0;
  return {
    isBeyond(): boolean {
      if (monotonic() - since > 60_000) {
        since = monotonic();
        count = 0;
      }
      count++;
      return count > max;
    },
  };
}
