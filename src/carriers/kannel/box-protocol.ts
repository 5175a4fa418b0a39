/**
 * The protocol of bearerbox's box port, as Kannel 1.4.5 speaks it. A frame begins with its length
 * and its type, 4 octets each. The fields of that type follow in a fixed order. Integers are signed
 * and big-endian in 4 octets; −1 stands for an absent integer. A string is its length and its
 * octets; the length −1 stands for an absent string.
 */

export class BoxProtocolError extends Error {
  override readonly name = 'BoxProtocolError';
}

const INTEGER_MIN = -0x8000_0000;
const INTEGER_MAX = 0x7fff_ffff;
const ABSENT = -1;
/**
 * The longest frame that is read. A text of 255 parts has 39,015 characters; addresses and ids are
 * short.
 */
export const FRAME_BYTES_MAX = 256 * 1024;

const TYPES = ['heartbeat', 'admin', 'sms', 'ack'] as const;
type BoxType = (typeof TYPES)[number];

/** The fields of each type, in the order of the wire. */
const FIELDS = {
  heartbeat: [['load', 'integer']],
  admin: [
    ['command', 'integer'],
    ['boxId', 'octets'],
  ],
  sms: [
    ['sender', 'octets'],
    ['receiver', 'octets'],
    ['udh', 'octets'],
    ['body', 'octets'],
    ['time', 'integer'],
    ['smscId', 'octets'],
    ['smscNumber', 'octets'],
    ['foreignId', 'octets'],
    ['service', 'octets'],
    ['account', 'octets'],
    ['id', 'octets'],
    ['smsType', 'integer'],
    ['messageClass', 'integer'],
    ['waitingIndicator', 'integer'],
    ['coding', 'integer'],
    ['compress', 'integer'],
    ['validity', 'integer'],
    ['deferred', 'integer'],
    ['receiptMask', 'integer'],
    ['receiptUrl', 'octets'],
    ['protocolId', 'integer'],
    ['alternativeCoding', 'integer'],
    ['replyPath', 'integer'],
    ['charset', 'octets'],
    ['boxId', 'octets'],
    ['billing', 'octets'],
    ['messagesLeft', 'integer'],
    ['priority', 'integer'],
    ['resendTry', 'integer'],
    ['resendTime', 'integer'],
    ['metaData', 'octets'],
  ],
  ack: [
    ['nack', 'integer'],
    ['time', 'integer'],
    ['id', 'octets'],
  ],
} as const satisfies Record<BoxType, readonly (readonly [string, 'integer' | 'octets'])[]>;

type Fields<Type extends BoxType> = {
  readonly [Field in (typeof FIELDS)[Type][number] as Field[0]]: Field[1] extends 'integer'
    ? number | null
    : Uint8Array | null;
};

export type BoxFrame = { [Type in BoxType]: { readonly type: Type } & Fields<Type> }[BoxType];
export type BoxSms = Extract<BoxFrame, { type: 'sms' }>;

/** The commands of admin frames that are used. bearerbox sends all of them but `identify`. */
export const ADMIN = { shutdown: 0, suspend: 1, resume: 2, identify: 3, restart: 4 } as const;
/** The values of the field `nack` of an ack. */
export const ACK = { success: 0, failed: 1, failedTemporarily: 2, buffered: 3 } as const;
/** The directions of an sms frame. */
export const SMS_TYPE = { incoming: 0, outgoing: 2, receipt: 3 } as const;

export const octetsOf = (text: string): Uint8Array => Buffer.from(text, 'utf8');

/** A field as text; what is not UTF-8 becomes U+FFFD. */
export const textOf = (field: Uint8Array | null): string | null =>
  field === null ? null : Buffer.from(field.buffer, field.byteOffset, field.byteLength).toString('utf8');

const NO_SMS = Object.fromEntries(FIELDS.sms.map(([name]) => [name, null])) as unknown as Fields<'sms'>;

/** An sms frame. Fields that are not given are absent. */
export const smsFrame = (fields: Partial<Fields<'sms'>>): BoxSms => ({ type: 'sms', ...NO_SMS, ...fields });

/** Encodes a frame with its length in front. */
export function encodeFrame(frame: BoxFrame): Buffer {
  const pieces: Uint8Array[] = [integer(TYPES.indexOf(frame.type))];
  const values = frame as unknown as Record<string, number | Uint8Array | null>;
  for (const [name] of FIELDS[frame.type]) {
    const value = values[name] ?? null;
    if (value === null) pieces.push(integer(ABSENT));
    else if (typeof value === 'number') pieces.push(integer(value));
    else pieces.push(integer(value.length), value);
  }
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return Buffer.concat([integer(length), ...pieces], length + 4);
}

function integer(value: number): Buffer {
  if (!Number.isInteger(value) || value < INTEGER_MIN || value > INTEGER_MAX) {
    throw new BoxProtocolError('An integer does not fit into 4 octets.');
  }
  const octets = Buffer.alloc(4);
  octets.writeInt32BE(value);
  return octets;
}

/**
 * Decodes a frame without its length; null for an unknown type. Octets after the last field are
 * ignored, because a later Kannel may have more fields.
 */
export function decodeFrame(octets: Buffer): BoxFrame | null {
  if (octets.length < 4) throw new BoxProtocolError('A frame is shorter than its type.');
  const type = TYPES[octets.readInt32BE(0)];
  if (type === undefined) return null;
  let offset = 4;
  const take = (length: number): Buffer => {
    if (length < 0 || length > octets.length - offset) throw new BoxProtocolError(`A frame ${type} ends too early.`);
    offset += length;
    return octets.subarray(offset - length, offset);
  };
  const values: Record<string, unknown> = { type };
  for (const [name, kind] of FIELDS[type]) {
    const value = take(4).readInt32BE(0);
    if (value === ABSENT) values[name] = null;
    else values[name] = kind === 'integer' ? value : take(value);
  }
  return values as unknown as BoxFrame;
}

/** Assembles frames from the pieces that a socket delivers. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;
  /** The octets that must have arrived before there is anything to do. */
  #needed = 4;

  /** Returns the frames that are complete now. Throws for an invalid frame; the stream is lost. */
  push(chunk: Buffer): BoxFrame[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const frames: BoxFrame[] = [];
    if (this.#length < this.#needed) return frames;
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#length);
    for (;;) {
      this.#needed = 4;
      if (rest.length < 4) break;
      const length = rest.readInt32BE(0);
      if (length < 4 || length > FRAME_BYTES_MAX) {
        throw new BoxProtocolError(`A frame claims a length of ${length} octets.`);
      }
      this.#needed = 4 + length;
      if (rest.length < this.#needed) break;
      const frame = decodeFrame(rest.subarray(4, this.#needed));
      if (frame) frames.push(frame);
      rest = rest.subarray(this.#needed);
    }
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#length = rest.length;
    return frames;
  }
}
