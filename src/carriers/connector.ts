/**
 * What a way to a carrier has to do. The dispatcher submits through a connector; the connector
 * tells what the carrier reports.
 */

/** One part of a message on its way to a carrier. */
export interface Submission {
  /**
   * Our own id of this attempt, unique for ever: 32 hexadecimal digits. It is on disk before the
   * call leaves. A receipt may carry it.
   */
  readonly attemptId: string;
  readonly sender: string | null;
  /** E.164, with its plus sign. */
  readonly recipient: string;
  /** GSM 7-bit as one octet for each septet, or UTF-16BE; without the user data header. */
  readonly body: Uint8Array;
  /** The same part as text. */
  readonly text: string;
  readonly encoding: 'gsm7' | 'ucs2';
  /** 05 00 03 reference total number, where the message has several parts. */
  readonly udh: Uint8Array | null;
  /** 0 to 3. */
  readonly priority: number;
  /** Milliseconds since 1970. */
  readonly validUntil: number | null;
  /**
   * A connector that makes submissions wait asks it right before the call leaves: see
   * `submitWithin`. Null where the part may leave. Else the part stays here and this is its result:
   * the recipient has opted out meanwhile, or the database does not tell whether they have.
   */
  readonly withheld?: () => Promise<SubmitResult | null>;
}

/**
 * accepted: the carrier has the message. temporary: it does not have it and may take it later. With
 * `connectorDown` the refusal says nothing about the message. permanent: the carrier will never
 * take it. unknown-outcome: nobody knows whether the carrier has it.
 */
export type SubmitResult =
  | { readonly kind: 'accepted'; readonly gatewayId: string | null }
  | {
      readonly kind: 'temporary';
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly connectorDown?: boolean;
    }
  | { readonly kind: 'permanent'; readonly reason: string }
  | { readonly kind: 'unknown-outcome'; readonly reason: string };

/** Of a part whose recipient has opted out before it left. The settlement ends its message. */
export const WITHHELD: SubmitResult = { kind: 'temporary', reason: 'withheld: the recipient opted out' };
/** Of a part that did not leave because the question about opt-outs failed. Its message waits. */
export const NOT_TOLD: SubmitResult = {
  kind: 'temporary',
  reason: 'withheld: the database did not tell whether the recipient has opted out',
};

export interface ReceivedReceipt {
  readonly connector: string;
  /** Where the carrier gives it back. */
  readonly attemptId: string | null;
  readonly gatewayId: string | null;
  readonly status:
    | 'ENROUTE'
    | 'DELIVERED'
    | 'EXPIRED'
    | 'DELETED'
    | 'UNDELIVERABLE'
    | 'ACCEPTED'
    | 'UNKNOWN'
    | 'REJECTED';
  readonly at: number;
  /** A code of the carrier. Never a number or a text of a message. */
  readonly detail: string | null;
}

export interface IncomingMessage {
  readonly connector: string;
  readonly gatewayId: string | null;
  readonly sender: string;
  readonly destination: string;
  readonly text: string;
  readonly receivedAt: number;
  /** Where the gateway did not join the parts of a long message. */
  readonly part: { readonly reference: number; readonly total: number; readonly number: number } | null;
}

/**
 * What a connector tells the domain. Each resolves when it is on disk; only then the carrier gets
 * its acknowledgement.
 */
export interface CarrierEvents {
  receipt(receipt: ReceivedReceipt): Promise<void>;
  incoming(message: IncomingMessage): Promise<void>;
}

/** A new kind has its name here and its entry in kinds.ts. */
const CONNECTOR_KINDS = ['loopback', 'kannel-sendsms', 'kannel-box', 'callback'] as const;
export type ConnectorKind = (typeof CONNECTOR_KINDS)[number];

export interface Connector {
  readonly name: string;
  readonly kind: ConnectorKind;
  /** Opens what it needs. Never throws because the carrier is down. */
  start(events: CarrierEvents): Promise<void>;
  /**
   * The result of each part, in order. Never rejects. Where the signal aborts it, what was not sent
   * is `temporary`, and the rest is `unknown-outcome`.
   */
  submit(parts: readonly Submission[], signal: AbortSignal): Promise<SubmitResult[]>;
  stop(): Promise<void>;
  /**
   * Answers the carrier below /carriers/{name}/ of the web listener. The connector itself
   * authenticates the carrier. It throws Problem `denied` where the request proves nothing, before
   * anything else: all such requests get one answer, which does not tell which connectors exist.
   */
  readonly handle?: (request: Request) => Promise<Response>;
  /** Looks for the usual mistakes, for `columba check`: a sentence each. */
  probe?(): Promise<string[]>;
}
