import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import smpp, { type PDU, type Session } from 'smpp';
import type { Random } from '../../test/support/random.ts';

/**
 * An SMSC of a run with kills. It refuses, throttles, stays silent, answers late and cuts
 * connections, and writes down what it did. What it has for Columba it keeps until Columba has
 * acknowledged it, and brings it again at the next bind, as a real one does.
 */
export interface Carrier {
  readonly name: string;
  readonly port: number;
  mood: Mood;
  /** In the order in which they came, at all carriers of the run. */
  readonly submitted: readonly Submitted[];
  readonly delivered: readonly Delivered[];
  isBound(): boolean;
  /** A message from a phone. */
  send(from: string, text: string): void;
  /** What Columba has not acknowledged, and answers that are late. */
  open(): number;
  close(): Promise<void>;
}

export const MOODS = ['any', 'well', 'full', 'throttling', 'refusing', 'silent', 'cutting', 'no bind', 'away'] as const;
export type Mood = (typeof MOODS)[number];

/** refused: for good. later: it may come again. none: it was not answered. */
type Answer = 'accepted' | 'refused' | 'later' | 'none';

export interface Submitted {
  readonly carrier: string;
  /** Counts over all carriers. */
  readonly order: number;
  readonly token: string;
  readonly part: number;
  readonly to: string;
  readonly id: string;
  readonly isTaken: boolean;
  /** What was written to the connection. */
  answer: Answer;
  readonly final: string;
}

/** A receipt or a message from a phone. */
export interface Delivered {
  readonly kind: 'receipt' | 'message';
  readonly carrier: string;
  /** The carrier's id of the submission, or the text of the message. */
  readonly of: string;
  readonly fields: object;
  firstAt: number | null;
  lastAt: number | null;
  isAcknowledged: boolean;
}

export interface CarrierParts {
  readonly name: string;
  readonly random: Random;
  /** Written to by all carriers of the run. */
  readonly submitted: Submitted[];
  /** After so long Columba gives a submission up. */
  readonly answerMs: number;
}

const STATUS = { recipient: 0x0b, full: 0x14, throttled: 0x58, bindFailed: 0x0d, system: 0x08 } as const;
const LATE_MS = 1_500;
const REFUSED_AGAIN_MS = 200;
const FINALS = ['DELIVRD', 'DELIVRD', 'DELIVRD', 'UNDELIV', 'EXPIRED'] as const;

// The octets as they are on the wire.
for (const encoding of Object.values(smpp.encodings)) if (encoding.decode) encoding.decode = (octets) => octets;

/** What becomes of a submission. */
interface Outcome {
  readonly isTaken: boolean;
  readonly answer: 'accepted' | 'silent' | 'late' | 'cut' | number;
  readonly isReceiptFirst?: boolean;
}

function outcomeOf(random: Random, mood: Mood): Outcome {
  const well: Outcome = { isTaken: true, answer: 'accepted', isReceiptFirst: random.chance(0.1) };
  const later: Outcome = { isTaken: false, answer: random.pick([STATUS.full, STATUS.throttled, STATUS.system]) };
  if (mood === 'well') return well;
  if (mood === 'full') return { isTaken: false, answer: STATUS.full };
  if (mood === 'throttling') return { isTaken: false, answer: STATUS.throttled };
  if (mood === 'refusing') return { isTaken: false, answer: STATUS.recipient };
  // A late answer says that the message was taken, so then it was.
  if (mood === 'silent' && random.chance(0.5)) return { isTaken: true, answer: 'late' };
  if (mood === 'silent') return { isTaken: random.chance(0.5), answer: 'silent' };
  const way = random.below(100);
  if (mood === 'cutting' && way < 30) return { isTaken: random.chance(0.5), answer: 'cut' };
  if (way < 2) return { isTaken: random.chance(0.5), answer: 'cut' };
  if (way < 4) return { isTaken: random.chance(0.5), answer: 'silent' };
  if (way < 6) return { isTaken: true, answer: 'late' };
  if (way < 10) return { isTaken: false, answer: STATUS.recipient };
  return way < 20 ? later : well;
}

const TOKEN = /#(\d{6})#/;
/** Each part of a long text has the whole token in it. */
export const textOf = (token: string, times: number): string => `#${token}#`.repeat(times);
export const tokenOf = (text: string): string => TOKEN.exec(text)?.[1] ?? `no token in ${text}`;

export async function startCarrier({ name, random, submitted, answerMs }: CarrierParts): Promise<Carrier> {
  const sessions = new Set<Session>();
  const all = new Set<Session>();
  const delivered: Delivered[] = [];
  let ids = 0;
  let late = 0;

  const transmit = (session: Session, delivery: Delivered): void => {
    delivery.firstAt ??= Date.now();
    delivery.lastAt = Date.now();
    session.send(new smpp.PDU('deliver_sm', { ...delivery.fields }), (response) => {
      if (response.command_status === 0) delivery.isAcknowledged = true;
      else void sleep(REFUSED_AGAIN_MS).then(() => sessions.has(session) && transmit(session, delivery));
    });
  };
  const deliver = (kind: Delivered['kind'], of: string, fields: object): void => {
    const delivery = { kind, carrier: name, of, fields, firstAt: null, lastAt: null, isAcknowledged: false };
    delivered.push(delivery);
    const session = [...sessions].at(-1);
    if (session) transmit(session, delivery);
  };

  const answer = (session: Session, pdu: PDU, own: Submitted, status: number): void => {
    if (!sessions.has(session)) return;
    own.answer = status === 0 ? 'accepted' : status === STATUS.recipient ? 'refused' : 'later';
    session.send(pdu.response(status === 0 ? { message_id: own.id } : { command_status: status }));
  };

  async function submit(session: Session, pdu: PDU): Promise<void> {
    const outcome = outcomeOf(random, carrier.mood);
    const own = submittedOf(pdu, { carrier: name, order: submitted.length, id: `${name}-${++ids}` }, outcome, random);
    submitted.push(own);
    const isDelayed = random.chance(0.3);
    const delayMs = random.below(40);
    const bring = () => own.isTaken && deliver('receipt', own.id, receiptFields(pdu, own.id, own.final));
    if (outcome.answer === 'cut') {
      bring();
      session.socket.destroy();
      return;
    }
    if (outcome.isReceiptFirst) bring();
    if (isDelayed) await sleep(delayMs);
    if (outcome.answer === 'late') {
      late++;
      await sleep(answerMs + LATE_MS);
      late--;
    }
    if (outcome.answer !== 'silent') answer(session, pdu, own, typeof outcome.answer === 'number' ? outcome.answer : 0);
    if (!outcome.isReceiptFirst) {
      if (isDelayed) await sleep(delayMs);
      bring();
    }
  }

  const server = smpp.createServer((session) => {
    all.add(session);
    session.on('error', () => {});
    session.on('close', () => {
      sessions.delete(session);
      all.delete(session);
    });
    if (carrier.mood === 'away') {
      session.socket.destroy();
      return;
    }
    session.on('bind_transceiver', (pdu) => {
      if (carrier.mood === 'no bind') {
        session.send(pdu.response({ command_status: STATUS.bindFailed }));
        return;
      }
      session.send(pdu.response({ system_id: name }));
      sessions.add(session);
      for (const delivery of delivered) if (!delivery.isAcknowledged) transmit(session, delivery);
    });
    session.on('submit_sm', (pdu) => void submit(session, pdu));
    session.on('enquire_link', (pdu) => session.send(pdu.response()));
    session.on('unbind', (pdu) => {
      session.send(pdu.response());
      session.close();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const carrier: Carrier = {
    name,
    port: (server.address() as AddressInfo).port,
    mood: 'any',
    submitted,
    delivered,
    isBound: () => sessions.size > 0,
    send: (from, text) => deliver('message', text, phoneFields(from, text)),
    open: () => late + delivered.filter(({ isAcknowledged }) => !isAcknowledged).length,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const { socket } of all) socket.destroy();
      await closed;
    },
  };
  return carrier;
}

function submittedOf(
  pdu: PDU,
  known: Pick<Submitted, 'carrier' | 'order' | 'id'>,
  { isTaken }: Outcome,
  random: Random,
): Submitted {
  const text = pdu.short_message?.message.toString('latin1') ?? '';
  const token = tokenOf(text);
  const part = pdu.short_message?.udh?.[0]?.at(-1) ?? 1;
  // One outcome for all parts of a message: then its final status can be foretold.
  const final = FINALS[Number(token) % FINALS.length] ?? random.pick(FINALS);
  return { ...known, token, part, to: pdu.destination_addr, isTaken, answer: 'none', final };
}

function receiptFields(pdu: PDU, id: string, word: string): object {
  const text = `id:${id} sub:001 dlvrd:001 submit date:2611170000 done date:2611170000 stat:${word} err:000 text:`;
  return {
    source_addr: pdu.destination_addr,
    source_addr_ton: 1,
    source_addr_npi: 1,
    destination_addr: pdu.source_addr,
    esm_class: 0x04,
    short_message: { message: Buffer.from(text, 'latin1') },
  };
}

const phoneFields = (from: string, text: string): object => ({
  source_addr: from,
  source_addr_ton: 1,
  source_addr_npi: 1,
  destination_addr: '31234',
  esm_class: 0,
  data_coding: 0,
  short_message: { message: Buffer.from(text, 'latin1') },
});
