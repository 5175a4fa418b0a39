/** What the tests use of npm smpp, which has no types of its own. */
declare module 'smpp' {
  import type { Server, Socket } from 'node:net';

  export interface ShortMessage {
    readonly message: Buffer;
    readonly udh?: Buffer[];
  }
  export class PDU {
    constructor(command: string, fields?: object);
    readonly command: string;
    readonly command_status: number;
    readonly sequence_number: number;
    readonly message_id: string;
    readonly source_addr: string;
    readonly source_addr_ton: number;
    readonly destination_addr: string;
    readonly esm_class: number;
    readonly data_coding: number;
    readonly registered_delivery: number;
    readonly priority_flag: number;
    readonly validity_period: Date | string;
    readonly short_message?: ShortMessage;
    readonly message_payload?: ShortMessage;
    response(fields?: object): PDU;
  }
  export interface Session {
    readonly socket: Socket;
    send(pdu: PDU, answered?: (response: PDU) => void): boolean;
    close(): void;
    on(event: string, listener: (pdu: PDU) => void): this;
  }
  const smpp: {
    readonly PDU: typeof PDU;
    readonly encodings: Record<
      string,
      { decode?: (octets: Buffer) => unknown; encode?: (text: string) => Buffer; match?: (text: string) => boolean }
    >;
    createServer(listener: (session: Session) => void): Server;
  };
  export default smpp;
}
