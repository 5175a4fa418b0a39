import type { RECEIPT_STATUSES } from '../domain/messages/statuses.ts';
import type { ArrivedMessage } from '../domain/receiving/incoming.ts';
import type { PartPlace } from '../sms/user-data.ts';

/**
 * The interface of a connector to a carrier. The dispatcher submits messages through the connector,
 * and the connector passes on what the carrier reports.
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
  /** Where the message has several parts, and `partsAs` of the connector wants a header. */
  readonly udh: Uint8Array | null;
  /** Which one of several parts it is. */
  readonly place?: PartPlace | null;
  /** A text of several parts that is submitted in one piece, see `partsAs`. */
  readonly isWhole?: boolean;
  /** Names the part of its message, and is the same in every attempt. */
  readonly partKey?: string;
  /** What a country or the carrier demands besides, such as `templateId`. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Which attempt for its message it is, from 1. */
  readonly attemptNumber?: number;
  /** 0 to 3. */
  readonly priority: number;
  /** Milliseconds since 1970. */
  readonly validUntil: number | null;
  /**
   * Called right before the part leaves by a connector in which submissions wait: see
   * `submitWithin`. Returns null if the part may leave. Otherwise the part is not sent and gets
   * this result: its recipient has opted out meanwhile, or the database cannot tell.
   */
  readonly withheld?: () => Promise<SubmitResult | null>;
}

/**
 * accepted: the carrier has the message. temporary: it does not have it and may take it later. With
 * `connectorDown` the refusal says nothing about the message. permanent: the carrier will never
 * take it. With `isOurs` the connector itself refused it before it left, which says nothing about
 * the carrier. unknown-outcome: nobody knows whether the carrier has it.
 */
export type SubmitResult =
  | { readonly kind: 'accepted'; readonly gatewayId: string | null }
  | {
      readonly kind: 'temporary';
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly connectorDown?: boolean;
    }
  | { readonly kind: 'permanent'; readonly reason: string; readonly isOurs?: true }
  | { readonly kind: 'unknown-outcome'; readonly reason: string };

/** Of a part whose recipient has opted out before it left. The settlement ends its message. */
export const WITHHELD: Extract<SubmitResult, { kind: 'temporary' }> = {
  kind: 'temporary',
  reason: 'withheld: the recipient opted out',
};
/** Of a part that did not leave because the question about opt-outs failed. Its message waits. */
export const NOT_TOLD: Extract<SubmitResult, { kind: 'temporary' }> = {
  kind: 'temporary',
  reason: 'withheld: the database did not tell whether the recipient has opted out',
};

export interface ReceivedReceipt {
  readonly connector: string;
  /** Our id of the attempt, if the carrier returns it. */
  readonly attemptId: string | null;
  readonly gatewayId: string | null;
  /** Looked for in this order, where no submission has the first one. */
  readonly otherGatewayIds?: readonly string[];
  readonly status: (typeof RECEIPT_STATUSES)[number];
  readonly at: number;
  /** A code of the carrier; never a number or a text of a message. */
  readonly detail: string | null;
  /** The carrier sends one receipt for all parts of a message. */
  readonly isForAllParts?: boolean;
  /** The addresses and the text of the message, where the receipt has them. */
  readonly about?: {
    readonly recipient: string;
    readonly sender: string;
    /** Whether this sender is that of messages that name none. */
    readonly isDefaultSender: boolean;
    readonly textStart: string;
  };
}

/** An answer that came after the submission was given up as one with an unknown outcome. */
export interface LateAnswer {
  readonly connector: string;
  readonly attemptId: string;
  readonly result: Exclude<SubmitResult, { kind: 'unknown-outcome' }>;
}

/**
 * What a connector passes on to the domain. A promise resolves when the report is on disk; only
 * then does the carrier get its acknowledgement.
 */
export interface CarrierEvents {
  receipt(receipt: ReceivedReceipt): Promise<void>;
  incoming(message: ArrivedMessage): Promise<void>;
  /** The attempt is settled by it, if nothing else has settled it meanwhile. */
  late(answer: LateAnswer): Promise<void>;
}

/** A part that the carrier is asked about. */
export interface CarrierQuestion {
  /** The carrier's own id, as the answer to the submission gave it. */
  readonly gatewayId: string;
  readonly sender: string | null;
}

/**
 * told: what became of it, as in a receipt. unknown: the carrier does not know the part, or does
 * not tell; with `isDoubtful` it may tell later. later: it may tell later. silent: no answer came,
 * or one that says nothing about the part. unsent: the question did not leave, or came too soon
 * after others; somebody may ask again after `retryAfterMs`. not-offered: the carrier cannot be
 * asked.
 */
export type CarrierAnswer =
  | { readonly kind: 'told'; readonly status: ReceivedReceipt['status']; readonly at: number; readonly detail: string }
  | { readonly kind: 'unknown'; readonly reason: string; readonly isDoubtful?: boolean }
  | { readonly kind: 'unsent'; readonly reason: string; readonly retryAfterMs?: number }
  | { readonly kind: 'later' | 'silent' | 'not-offered'; readonly reason: string };

/** A message that is only shown. */
export interface TrialInput {
  readonly recipient: string;
  readonly sender: string | null;
  readonly text: string;
  /** An answer of the carrier to it. */
  readonly answer?: { readonly status: number; readonly body: string };
}

/** The request with masked secrets, and what the connector makes of the answer. */
export interface Trial {
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly answer: {
    readonly result: string;
    readonly gatewayId: string | null;
    readonly reason: string | null;
    readonly says: string;
  } | null;
}

/**
 * udh8, udh16: a header with a reference of 8 or 16 bits. bare: no header, because the connector
 * marks the parts itself. whole: the text is submitted in one piece, as one attempt.
 */
export type PartsAs = 'udh8' | 'udh16' | 'bare' | 'whole';

export interface Connector {
  readonly name: string;
  /** Its name in the table of kinds.ts. */
  readonly kind: string;
  /** How the parts of a long text are marked; with a header of 6 octets where it is absent. */
  readonly partsAs?: PartsAs;
  /** False if the carrier never reports what became of a message. */
  readonly sendsReceipts?: boolean;
  /** How long a submission may take, where that is not the dispatcher's own time. */
  readonly submitTimeoutMs?: number;
  /** How many submissions may be without an answer, where the connector limits that itself. */
  readonly windowTotal?: number;
  /** Opens what the connector needs. Never throws because the carrier is down. */
  start(events: CarrierEvents): Promise<void>;
  /**
   * Returns the result of each part, in order, and never rejects. If the signal aborts, parts that
   * were not sent are `temporary`, and the others are `unknown-outcome`.
   */
  submit(parts: readonly Submission[], signal: AbortSignal): Promise<SubmitResult[]>;
  stop(): Promise<void>;
  /** Asks the carrier what became of a part. Never rejects. Absent where none can be asked. */
  readonly query?: (asked: CarrierQuestion, signal: AbortSignal) => Promise<CarrierAnswer>;
  /**
   * Answers the carrier below /carriers/{name}/ of the web listener. The connector itself
   * authenticates the carrier: before anything else, it throws Problem `denied` if the request is
   * not authentic. All such requests get the same answer, which does not reveal which connectors
   * exist.
   */
  readonly handle?: (request: Request) => Promise<Response>;
  /**
   * Looks for the usual mistakes, for `columba check`, and describes each in a sentence. What is
   * worth knowing but no mistake is noted.
   */
  probe?(note?: (sentence: string) => void): Promise<string[]>;
  /** Shows the request that a message would make. Nothing is sent. */
  readonly trial?: (given: TrialInput) => Trial;
}
