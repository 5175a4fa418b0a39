/**
 * PDUs of SMPP 3.4, as octets and as records. What an SMSC sends is read leniently where SMSCs are
 * known to differ (an answer without its body, an id without its NUL), and refused where a field
 * runs past the end. Nothing is allocated by a length that the other side claims.
 */

export const COMMAND = {
  bindReceiver: 0x01,
  bindTransmitter: 0x02,
  querySm: 0x03,
  submitSm: 0x04,
  deliverSm: 0x05,
  unbind: 0x06,
  bindTransceiver: 0x09,
  outbind: 0x0b,
  enquireLink: 0x15,
  alertNotification: 0x102,
  dataSm: 0x103,
  genericNack: 0x8000_0000,
} as const;

/** The bit that makes an answer of a request. */
const ANSWER = 0x8000_0000;
export const answerTo = (command: number): number => (command | ANSWER) >>> 0;
export const isAnswer = (command: number): boolean => command >= ANSWER;

export const TLV = {
  receiptedMessageId: 0x001e,
  additionalStatus: 0x001d,
  userMessageReference: 0x0204,
  sarReference: 0x020c,
  sarTotal: 0x020e,
  sarNumber: 0x020f,
  interfaceVersion: 0x0210,
  networkErrorCode: 0x0423,
  messagePayload: 0x0424,
  messageState: 0x0427,
} as const;

export interface Address {
  readonly ton: number;
  readonly npi: number;
  readonly address: string;
}

export interface BindFields {
  readonly systemId: string;
  readonly password: string;
  readonly systemType: string;
  readonly interfaceVersion: number;
  /** The addresses that the bind is for. */
  readonly range: Address;
}

/** Of submit_sm and deliver_sm. data_sm has no message and fewer fields; the others are as here. */
export interface MessageFields {
  readonly serviceType: string;
  readonly source: Address;
  readonly destination: Address;
  readonly esmClass: number;
  readonly protocolId: number;
  readonly priority: number;
  readonly schedule: string;
  readonly validity: string;
  readonly registeredDelivery: number;
  readonly replaceIfPresent: number;
  readonly dataCoding: number;
  readonly defaultMessageId: number;
  /** At most 254 octets; more go into the TLV message_payload. */
  readonly message: Uint8Array;
}

export type Tlvs = ReadonlyMap<number, Uint8Array>;

export interface Pdu {
  readonly command: number;
  readonly status: number;
  readonly sequence: number;
  /** Set for a bind. */
  readonly bind?: BindFields;
  /** Set for the answer to a bind; absent where the answer has no body. */
  readonly systemId?: string;
  /** Set for submit_sm, deliver_sm and data_sm. */
  readonly message?: MessageFields;
  /** Set for the answer to one of them; absent where the answer has no body. */
  readonly messageId?: string;
  readonly tlvs?: Tlvs;
  /** The body of a command that nobody here needs. */
  readonly body?: Uint8Array;
}

const KNOWN_TAGS: ReadonlySet<number> = new Set(Object.values(TLV));
export const hasUnknownTlv = ({ tlvs }: Pdu): boolean => tlvs?.keys().some((tag) => !KNOWN_TAGS.has(tag)) ?? false;

export const HEADER_OCTETS = 16;
/** A message_payload has at most 65,535 octets; all other fields together have some hundred. */
export const PDU_OCTETS_MAX = 70_000;
/** The specification allows 64 in an id and 20 in an address. SMSCs send more. */
const TEXT_OCTETS_MAX = 255;

/** The octets are no PDU of their command. Their frame is right, so the stream goes on. */
export class MalformedPdu extends Error {}

export const NO_MESSAGE: MessageFields = {
  serviceType: '',
  source: { ton: 0, npi: 0, address: '' },
  destination: { ton: 0, npi: 0, address: '' },
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  schedule: '',
  validity: '',
  registeredDelivery: 0,
  replaceIfPresent: 0,
  dataCoding: 0,
  defaultMessageId: 0,
  message: new Uint8Array(),
};

const isBind = (command: number): boolean =>
  command === COMMAND.bindTransceiver || command === COMMAND.bindTransmitter || command === COMMAND.bindReceiver;
const carriesMessage = (command: number): boolean =>
  command === COMMAND.submitSm || command === COMMAND.deliverSm || command === COMMAND.dataSm;
const hasNoBody = (command: number): boolean =>
  command === COMMAND.unbind || command === COMMAND.enquireLink || command === COMMAND.genericNack;

/** Decodes a whole frame, see frames.ts. Throws MalformedPdu. */
export function decodePdu(frame: Buffer): Pdu {
  const header = headerOf(frame);
  const { command } = header;
  const octets = new Octets(frame, HEADER_OCTETS);
  if (carriesMessage(command)) return { ...header, message: readMessage(octets, command), ...octets.tlvs() };
  if (isBind(command)) return { ...header, bind: readBind(octets), ...octets.tlvs() };
  const request = (command & ~ANSWER) >>> 0;
  if (hasNoBody(command) || hasNoBody(request)) return octets.isAtEnd ? header : { ...header, body: octets.rest() };
  if (isAnswer(command) && carriesMessage(request)) {
    return octets.isAtEnd ? header : { ...header, messageId: octets.lastText(), ...octets.tlvs() };
  }
  if (isAnswer(command) && isBind(request)) {
    return octets.isAtEnd ? header : { ...header, systemId: octets.lastText(), ...octets.tlvs() };
  }
  return { ...header, body: octets.rest() };
}

export function headerOf(frame: Buffer): Pick<Pdu, 'command' | 'status' | 'sequence'> {
  return { command: frame.readUInt32BE(4), status: frame.readUInt32BE(8), sequence: frame.readUInt32BE(12) };
}

function readBind(octets: Octets): BindFields {
  return {
    systemId: octets.text(),
    password: octets.text(),
    systemType: octets.text(),
    interfaceVersion: octets.octet(),
    range: octets.address(),
  };
}

function readMessage(octets: Octets, command: number): MessageFields {
  const serviceType = octets.text();
  const source = octets.address();
  const destination = octets.address();
  const esmClass = octets.octet();
  if (command === COMMAND.dataSm) {
    const registeredDelivery = octets.octet();
    return {
      ...NO_MESSAGE,
      serviceType,
      source,
      destination,
      esmClass,
      registeredDelivery,
      dataCoding: octets.octet(),
    };
  }
  return {
    serviceType,
    source,
    destination,
    esmClass,
    protocolId: octets.octet(),
    priority: octets.octet(),
    schedule: octets.text(),
    validity: octets.text(),
    registeredDelivery: octets.octet(),
    replaceIfPresent: octets.octet(),
    dataCoding: octets.octet(),
    defaultMessageId: octets.octet(),
    message: octets.take(octets.octet()),
  };
}

/** Reads fields one after the other. */
class Octets {
  readonly #frame: Buffer;
  #at: number;

  constructor(frame: Buffer, at: number) {
    this.#frame = frame;
    this.#at = at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#frame.length;
  }

  octet(): number {
    const value = this.#frame[this.#at++];
    if (value === undefined) throw new MalformedPdu('the PDU ends within a field');
    return value;
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#frame.length) throw new MalformedPdu('the PDU ends within its message');
    const taken = this.#frame.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** Up to its NUL. */
  text(): string {
    const end = this.#frame.indexOf(0, this.#at);
    if (end < 0) throw new MalformedPdu('the PDU ends within a text');
    return this.#textTo(end, end + 1);
  }

  /** The only text of a PDU: some SMSCs leave its NUL out. */
  lastText(): string {
    const end = this.#frame.indexOf(0, this.#at);
    return end < 0 ? this.#textTo(this.#frame.length, this.#frame.length) : this.#textTo(end, end + 1);
  }

  #textTo(end: number, next: number): string {
    if (end - this.#at > TEXT_OCTETS_MAX) throw new MalformedPdu('a text of the PDU is too long');
    const text = this.#frame.toString('latin1', this.#at, end);
    this.#at = next;
    return text;
  }

  address(): Address {
    const ton = this.octet();
    const npi = this.octet();
    return { ton, npi, address: this.text() };
  }

  rest(): Buffer {
    return this.take(this.#frame.length - this.#at);
  }

  /** The first of each tag counts. One that runs past the end is ignored, and ends the reading. */
  tlvs(): { tlvs?: Tlvs } {
    if (this.isAtEnd) return {};
    const tlvs = new Map<number, Buffer>();
    while (this.#at + 4 <= this.#frame.length) {
      const tag = this.#frame.readUInt16BE(this.#at);
      const length = this.#frame.readUInt16BE(this.#at + 2);
      this.#at += 4;
      if (this.#at + length > this.#frame.length) break;
      const value = this.take(length);
      if (!tlvs.has(tag)) tlvs.set(tag, value);
    }
    return { tlvs };
  }
}

/** A PDU is put together here and copied once. */
const scratch = Buffer.allocUnsafe(PDU_OCTETS_MAX);

/** Throws RangeError where a field is too long: whoever makes a PDU has checked its fields. */
export function encodePdu(pdu: Pdu): Buffer {
  let at = HEADER_OCTETS;
  const octet = (value: number): void => {
    at = scratch.writeUInt8(value, at);
  };
  const text = (value: string): void => {
    const written = scratch.write(value, at, 'latin1');
    if (written !== value.length) throw new RangeError('the PDU is too long');
    at += written;
    octet(0);
  };
  const octets = (value: Uint8Array): void => {
    if (at + value.length > PDU_OCTETS_MAX) throw new RangeError('the PDU is too long');
    scratch.set(value, at);
    at += value.length;
  };
  const address = ({ ton, npi, address: own }: Address): void => {
    octet(ton);
    octet(npi);
    text(own);
  };
  if (pdu.bind) {
    for (const value of [pdu.bind.systemId, pdu.bind.password, pdu.bind.systemType]) text(value);
    octet(pdu.bind.interfaceVersion);
    address(pdu.bind.range);
  }
  if (pdu.systemId !== undefined) text(pdu.systemId);
  if (pdu.messageId !== undefined) text(pdu.messageId);
  if (pdu.message) {
    const { message } = pdu;
    text(message.serviceType);
    address(message.source);
    address(message.destination);
    octet(message.esmClass);
    if (pdu.command === COMMAND.dataSm) {
      octet(message.registeredDelivery);
      octet(message.dataCoding);
    } else {
      octet(message.protocolId);
      octet(message.priority);
      text(message.schedule);
      text(message.validity);
      octet(message.registeredDelivery);
      octet(message.replaceIfPresent);
      octet(message.dataCoding);
      octet(message.defaultMessageId);
      octet(message.message.length);
      octets(message.message);
    }
  }
  for (const [tag, value] of pdu.tlvs ?? []) {
    at = scratch.writeUInt16BE(tag, at);
    at = scratch.writeUInt16BE(value.length, at);
    octets(value);
  }
  if (pdu.body) octets(pdu.body);
  scratch.writeUInt32BE(at, 0);
  scratch.writeUInt32BE(pdu.command, 4);
  scratch.writeUInt32BE(pdu.status, 8);
  scratch.writeUInt32BE(pdu.sequence, 12);
  return Buffer.from(scratch.subarray(0, at));
}
