import type { CarrierEvents, Connector, Submission } from '../../../src/carriers/connector.ts';
import { smppConfig } from '../../../src/carriers/smpp/config.ts';
import { FrameReader } from '../../../src/carriers/smpp/frames.ts';
import { answerTo, COMMAND, decodePdu, encodePdu, type Pdu } from '../../../src/carriers/smpp/pdu.ts';
import { createSmpp } from '../../../src/carriers/smpp/smpp.ts';
import type { OpenWire, WireEvents } from '../../../src/carriers/smpp/wire.ts';
import { encodePart, splitText } from '../../../src/sms/parts.ts';
import { type Recording, record } from '../../support/kannel-recording.ts';
import { createVirtualClock, settled } from '../../support/virtual-clock.ts';

/**
 * An SMSC in this process, without sockets and in virtual time. Without rules it accepts all binds and submissions. It speaks
 * with the codec of the connector; smsc.ts of test/support is an SMSC on another one.
 */
export interface ScriptedSmsc {
  readonly openWire: OpenWire;
  /** Every connection that was opened, in order. */
  readonly connections: Connection[];
  readonly last: Connection;
  /** What clients sent, on all connections. */
  readonly received: Pdu[];
  of(command: number): Pdu[];
  /** Answers a PDU itself, and returns true; else the usual answer follows. */
  rule: (pdu: Pdu, connection: Connection) => boolean;
  /** Connections are refused with this reason while it is set. */
  unreachable: string | null;
}

export interface Connection {
  readonly kind: string;
  readonly received: Pdu[];
  /** How many buffers were written. */
  writes: number;
  isClosed: boolean;
  isHeld: boolean;
  /** While it is true, nothing that the client writes is read. */
  isDeaf: boolean;
  send(pdu: Partial<Pdu> & { command: number }): void;
  sendOctets(octets: Buffer): void;
  drop(reason?: string): void;
}

const usual = (pdu: Pdu, connection: Connection): void => {
  const answer = { command: answerTo(pdu.command), status: 0, sequence: pdu.sequence };
  if (pdu.bind) connection.send({ ...answer, systemId: 'smsc' });
  else if (pdu.command === COMMAND.submitSm) connection.send({ ...answer, messageId: pdu.sequence.toString(16) });
  else if (pdu.command === COMMAND.enquireLink || pdu.command === COMMAND.unbind) connection.send(answer);
};

export function createScriptedSmsc(): ScriptedSmsc {
  const self: ScriptedSmsc = {
    connections: [],
    received: [],
    unreachable: null,
    rule: () => false,
    of: (command) => self.received.filter((pdu) => pdu.command === command),
    get last() {
      return self.connections.at(-1) as Connection;
    },
    openWire: async (_, kind, events) => {
      if (self.unreachable !== null) throw new Error(self.unreachable);
      const opened = open(kind, events, self);
      self.connections.push(opened.connection);
      return opened.wire;
    },
  };
  return self;
}

function open(kind: string, events: WireEvents, smsc: ScriptedSmsc) {
  const reader = new FrameReader();
  let unread = 0;
  const connection: Connection = {
    kind,
    received: [],
    writes: 0,
    isClosed: false,
    isHeld: false,
    isDeaf: false,
    send: (pdu) => connection.sendOctets(encodePdu({ status: 0, sequence: 1, ...pdu })),
    sendOctets(octets) {
      queueMicrotask(() => {
        if (!connection.isClosed) events.onOctets(octets);
      });
    },
    drop(reason = 'closed by the SMSC') {
      if (connection.isClosed) return;
      connection.isClosed = true;
      events.onEnd(reason);
    },
  };
  function read(octets: Uint8Array): void {
    for (const pdu of reader.push(Buffer.from(octets)).map(decodePdu)) {
      connection.received.push(pdu);
      smsc.received.push(pdu);
      if (!smsc.rule(pdu, connection)) usual(pdu, connection);
    }
  }
  const wire = {
    write(octets: Uint8Array) {
      connection.writes++;
      if (connection.isDeaf) unread += octets.length;
      else read(octets);
    },
    get unsentOctets() {
      return unread;
    },
    hold(isHeld: boolean) {
      connection.isHeld = isHeld;
    },
    close: () => connection.drop('closed'),
  };
  return { connection, wire };
}

export interface Opened {
  readonly smsc: ScriptedSmsc;
  readonly clock: ReturnType<typeof createVirtualClock>;
  readonly recording: Recording;
  readonly connector: Connector;
  /** What was counted as not as expected. */
  readonly oddities: readonly string[];
}

export const CONFIG = { host: 'smsc.example', systemId: 'esme', password: 'secret' };
export const START = Date.UTC(2026, 10, 18, 1, 45, 32);

/** A connector at a scripted SMSC. It is started, with what the SMSC makes of that. */
export async function openSmpp(
  more: object = {},
  prepare: (smsc: ScriptedSmsc) => void = () => {},
  events: Partial<CarrierEvents> = {},
): Promise<Opened> {
  const smsc = createScriptedSmsc();
  prepare(smsc);
  const clock = createVirtualClock(START, () => 0.5);
  const recording = record();
  const oddities: string[] = [];
  const config = smppConfig.parse({ ...CONFIG, ...more });
  const deps = { clock, log: recording.deps.log, noticed: (_: string, what: string) => void oddities.push(what) };
  const connector = createSmpp('carrier', config, deps, smsc.openWire);
  const started = connector.start({ ...recording.events, ...events });
  await settled();
  await Promise.race([started, settled()]);
  return { smsc, clock, recording, connector, oddities };
}

let count = 0;
/** A part as the dispatcher makes it. */
export function partOf(text = 'hello', more: Partial<Submission> = {}): Submission {
  const { encoding } = splitText(text);
  return {
    attemptId: (++count).toString(16).padStart(32, '0'),
    partKey: `1/${count}/1`,
    sender: 'Acme',
    recipient: '+27825550201',
    body: encodePart(text, encoding),
    text,
    encoding,
    udh: null,
    place: null,
    priority: 0,
    validUntil: null,
    ...more,
  };
}
export const partsOf = (length: number, more: Partial<Submission> = {}): Submission[] =>
  Array.from({ length }, (_, index) => partOf(`text ${index}`, more));
