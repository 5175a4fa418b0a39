/**
 * What a chaos run saw from outside, in the order in which it saw it. A message is known by its
 * token, which is in its text: the carrier sees it there, and so do the lists of the account.
 */
export type Event =
  /** A request to send left. The answer may be lost, and then nobody knows whether it was taken. */
  | {
      readonly kind: 'send-asked';
      readonly token: string;
      readonly account: string;
      readonly parts: number;
      /** The recipient. */
      readonly number?: string;
    }
  | { readonly kind: 'accepted'; readonly token: string; readonly id: string }
  /** The service has refused it for good, with a status of 400 to 499. */
  | { readonly kind: 'refused'; readonly token: string }
  | { readonly kind: 'cancel-asked'; readonly token: string }
  | { readonly kind: 'cancelled'; readonly token: string }
  | { readonly kind: 'cancel-refused'; readonly token: string }
  | { readonly kind: 'opt-out-asked'; readonly account: string; readonly number: string }
  /** Acknowledged. `claimed`: the tokens of messages that were claimed then, and may still leave once. */
  | {
      readonly kind: 'opted-out';
      readonly account: string;
      readonly number: string;
      readonly claimed: readonly string[];
    }
  /** A part reached the carrier, which then decided as `taken` says. */
  | {
      readonly kind: 'submitted';
      readonly token: string;
      readonly part: number;
      readonly attemptId: string;
      /** yes: the carrier sends it. no: it has refused it. */
      readonly taken: 'yes' | 'no';
      /** Whether it answered; without an answer the service cannot know. */
      readonly answered: boolean;
      /** How many events there were when the answer came; not known: at once. */
      readonly answeredAt?: number;
    }
  /** A receipt was acknowledged by the service with a status of 200 to 299. */
  | { readonly kind: 'receipt-taken'; readonly token: string; readonly part: number; readonly status: string }
  | {
      readonly kind: 'balances';
      readonly account: string;
      readonly granted: bigint;
      readonly free: bigint;
      readonly held: bigint;
      readonly used: bigint;
    }
  /** The clock jumps after this. Answers that came before are on disk by then. */
  | { readonly kind: 'clock-jumped' }
  | { readonly kind: 'killed'; readonly what: string };

/** A message as the account sees it after the run, when everything runs again. */
export interface Outcome {
  readonly token: string;
  readonly list: 'scheduled' | 'sent';
  /** Null for a scheduled one. */
  readonly status: string | null;
  /** Credits that were captured for it. */
  readonly captured: number;
  /** Credits that are still held for it. */
  readonly held?: number;
  /** It waits for an operator: all of its credits are held until then. */
  readonly needsDecision?: boolean;
}

export interface History {
  readonly events: readonly Event[];
  /** Every message of every account after the run, as often as it is listed. */
  readonly outcomes: readonly Outcome[];
  /** What an account does with a submission whose answer was lost. */
  readonly unknownOutcomePolicy: 'never-twice' | 'submit-again';
  /** Why a message may still be pending, in words; null: nothing may be. */
  readonly pendingReason: ((token: string) => string | null) | null;
}

export const FINAL: ReadonlySet<string> = new Set(['DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED']);
