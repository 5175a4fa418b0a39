import { readFileSync } from 'node:fs';

/**
 * PDUs of SMPP 3.4. Those whose source says `recorded` were recorded between bearerbox 1.4.5 or npm smpp 0.5.1 as clients and
 * Net::SMPP 1.19 or npm smpp as SMSCs, and two independent decoders agreed on each. The others were made by hand after variants
 * that SMSCs are known to send. Octets and values of TLVs are in hexadecimal digits.
 */
export interface Capture {
  readonly name: string;
  readonly from: 'client' | 'smsc';
  readonly source: string;
  readonly hex: string;
  /** Null where the octets are no PDU. */
  readonly decoded: Readonly<Record<string, unknown>> | null;
  readonly note?: string;
  readonly text?: string;
  readonly expect?: Readonly<Record<string, unknown>>;
}

const FILES = ['session', 'submit', 'answers', 'receipts', 'incoming', 'hostile'] as const;

const read = (file: string) => JSON.parse(readFileSync(new URL(`captures/${file}.json`, import.meta.url), 'utf8'));

export const capturesOf = (file: (typeof FILES)[number]): Capture[] => read(file);
export const allCaptures = (): Capture[] => FILES.flatMap(capturesOf);

export function capture(name: string): Buffer {
  const found = allCaptures().find((each) => each.name === name);
  if (!found) throw new Error(`there is no capture ${name}`);
  return Buffer.from(found.hex, 'hex');
}

/** One conversation in time order, in which the SMSC cuts the connection. */
export interface Conversation {
  readonly pdus: readonly {
    readonly conn: number;
    readonly from: 'client' | 'smsc';
    readonly hex: string;
    readonly command: string;
    readonly sequence_number: number;
    readonly destination_addr?: string;
  }[];
}
export const cutConnection = (): Conversation => read('cut-connection');

export interface StatusClass {
  readonly status: number;
  readonly hex: string;
  readonly name: string;
  readonly class: string;
  readonly settings?: boolean;
  readonly credentials?: boolean;
}
export const statusClasses = (): StatusClass[] => read('command-status').list;
