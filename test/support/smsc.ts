import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import smpp, { type PDU, type Session } from 'smpp';

/**
 * A carrier that does as it is told, over SMPP 3.4. Without rules it accepts everything, and sends one receipt DELIVRD where
 * one is asked for. Like a real one it keeps what the gateway did not take, and sends it again: after a moment where the
 * gateway refused, at the next bind where it did not answer.
 */
export interface Smsc {
  readonly port: number;
  /** The first rule that matches and is not used up decides. */
  rules: SmscRule[];
  /** command_status of the binds to come: 0x0e is a wrong password. */
  bindStatus: number;
  /** What query_sm tells of the messages for a number, as message_state. It knows no others, nor those of another sender. */
  states: Readonly<Record<string, number>>;
  /** The numbers of the messages that were asked about. */
  readonly queried: string[];
  /** Every submit_sm, in the order in which they came. */
  readonly submitted: Submitted[];
  isBound(): boolean;
  /** Receipts and messages that the gateway has not answered. */
  unanswered(): number;
  /** How many of them it has taken. */
  received(): number;
  /** A message from a phone. */
  send(message: FromPhone): void;
  /** Closes the connections. */
  drop(): void;
  close(): Promise<void>;
}

export interface SmscRule {
  /** Matched against the number; every number matches where it is absent. */
  readonly to?: RegExp;
  times?: number;
  /** command_status of the answer: 0x58 throttled, 0x14 queue full, 0x0b invalid destination. */
  readonly status?: number;
  readonly delayMs?: number;
  readonly answers?: boolean;
  /** It has the message although it does not answer: the receipts come. */
  readonly isTaken?: boolean;
  /** Words of receipts, in this order. */
  readonly receipts?: readonly string[];
}

export interface Submitted {
  readonly from: string;
  readonly to: string;
  readonly dataCoding: number;
  readonly esmClass: number;
  readonly registeredDelivery: number;
  readonly priority: number;
  readonly validity: string;
  /** `00 03 reference total number`, in hexadecimal digits. */
  readonly udh: string | null;
  /** Without its header, in hexadecimal digits. */
  readonly body: string;
}

export interface FromPhone {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly encoding?: 'gsm7' | 'ucs2';
  /** With its length, in hexadecimal digits. */
  readonly udh?: string;
}

interface Delivery {
  readonly fields: object;
}

// bearerbox refuses for a moment while it starts (ESME_RX_T_APPN).
const REFUSED_AGAIN_MS = 200;

// The octets as they are on the wire.
for (const encoding of Object.values(smpp.encodings)) if (encoding.decode) encoding.decode = (octets) => octets;

export async function startSmsc(port = 0): Promise<Smsc> {
  const sessions = new Set<Session>();
  const all = new Set<Session>();
  const waiting = new Set<Delivery>();
  const messages = new Map<string, { readonly from: string; readonly to: string }>();
  let nextId = 0x1000;
  let acknowledged = 0;

  const transmit = (session: Session, delivery: Delivery): void => {
    session.send(new smpp.PDU('deliver_sm', { ...delivery.fields }), (response) => {
      if (response.command_status === 0) {
        waiting.delete(delivery);
        acknowledged++;
      } else void sleep(REFUSED_AGAIN_MS).then(() => sessions.has(session) && transmit(session, delivery));
    });
  };
  const deliver = (fields: object): void => {
    const delivery = { fields };
    waiting.add(delivery);
    const session = [...sessions].at(-1);
    if (session) transmit(session, delivery);
  };

  async function submit(session: Session, pdu: PDU): Promise<void> {
    const message = pdu.message_payload ?? pdu.short_message;
    smsc.submitted.push(submittedOf(pdu));
    const rule = smsc.rules.find((each) => (each.to?.test(pdu.destination_addr) ?? true) && each.times !== 0) ?? {};
    if (rule.times !== undefined) rule.times--;
    if (rule.delayMs) await sleep(rule.delayMs);
    if ((rule.answers === false && !rule.isTaken) || message === undefined) return;
    const id = (nextId++).toString(16);
    messages.set(id, { from: pdu.source_addr, to: pdu.destination_addr });
    if (rule.answers !== false)
      session.send(pdu.response(rule.status ? { command_status: rule.status } : { message_id: id }));
    if (rule.status || !(pdu.registered_delivery & 3)) return;
    // Kannel loses a receipt that overtakes the answer.
    await sleep(50);
    for (const word of rule.receipts ?? ['DELIVRD']) deliver(receiptFields(pdu, id, word));
  }

  const server = smpp.createServer((session) => {
    all.add(session);
    session.on('error', () => {});
    session.on('bind_transceiver', (pdu) => {
      session.send(pdu.response(smsc.bindStatus ? { command_status: smsc.bindStatus } : { system_id: 'smsc' }));
      if (smsc.bindStatus) return;
      sessions.add(session);
      for (const delivery of waiting) transmit(session, delivery);
    });
    session.on('submit_sm', (pdu) => void submit(session, pdu));
    session.on('query_sm', (pdu) => {
      const found = messages.get(pdu.message_id);
      smsc.queried.push(found?.to ?? pdu.message_id);
      const state = found?.from === pdu.source_addr ? smsc.states[found.to] : undefined;
      const told = { message_id: pdu.message_id, final_date: '', message_state: state ?? 0, error_code: 0 };
      session.send(pdu.response(state === undefined ? { command_status: 0x0c } : told));
    });
    session.on('enquire_link', (pdu) => session.send(pdu.response()));
    session.on('unbind', (pdu) => {
      session.send(pdu.response());
      session.close();
    });
    session.on('close', () => {
      sessions.delete(session);
      all.delete(session);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const smsc: Smsc = {
    port: (server.address() as AddressInfo).port,
    rules: [],
    bindStatus: 0,
    states: {},
    queried: [],
    submitted: [],
    isBound: () => sessions.size > 0,
    unanswered: () => waiting.size,
    received: () => acknowledged,
    send: (message) => deliver(phoneFields(message)),
    drop() {
      for (const { socket } of all) socket.destroy();
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      smsc.drop();
      await closed;
    },
  };
  return smsc;
}

const hexOf = (octets: Uint8Array): string => Buffer.from(octets).toString('hex');

function submittedOf(pdu: PDU): Submitted {
  const message = pdu.message_payload ?? pdu.short_message;
  const validity = pdu.validity_period;
  return {
    from: pdu.source_addr,
    to: pdu.destination_addr,
    dataCoding: pdu.data_coding,
    esmClass: pdu.esm_class,
    registeredDelivery: pdu.registered_delivery,
    priority: pdu.priority_flag,
    validity: validity instanceof Date ? validity.toISOString() : validity,
    udh: pdu.short_message?.udh?.map(hexOf).join('') ?? null,
    body: hexOf(message?.message ?? Buffer.alloc(0)),
  };
}

function receiptFields(pdu: PDU, id: string, word: string): object {
  const text = `id:${id} sub:001 dlvrd:001 submit date:2611170000 done date:2611170000 stat:${word} err:007 text:`;
  return {
    source_addr: pdu.destination_addr,
    source_addr_ton: 1,
    source_addr_npi: 1,
    destination_addr: pdu.source_addr,
    esm_class: 0x04,
    short_message: { message: Buffer.from(text, 'latin1') },
  };
}

function phoneFields({ from, to, text, encoding = 'gsm7', udh }: FromPhone): object {
  const body = encoding === 'ucs2' ? Buffer.from(text, 'utf16le').swap16() : Buffer.from(text, 'latin1');
  return {
    source_addr: from,
    source_addr_ton: /^\d+$/.test(from) ? 1 : 5,
    source_addr_npi: 1,
    destination_addr: to,
    dest_addr_npi: 1,
    esm_class: udh ? 0x40 : 0,
    data_coding: encoding === 'ucs2' ? 8 : 0,
    short_message: { message: Buffer.concat([Buffer.from(udh ?? '', 'hex'), body]) },
  };
}
