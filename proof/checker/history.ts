/**
 * What a run saw from outside, in the order in which it saw it. A message is known by its token,
 * which is in its text: the carrier sees it there, and so do the lists of the account. A run with
 * real processes sees less than a simulated one: what it cannot see is not there, and the rules
 * that need it judge nothing.
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
      /** Not to be submitted before, or after; milliseconds since 1970. */
      readonly sendAt?: number | null;
      /** It was imported: another server sends it until it is activated. */
      readonly imported?: boolean;
      readonly notAfter?: number | null;
    }
  /** `isHeld`: the spend guard holds it until an operator releases it. */
  | { readonly kind: 'accepted'; readonly token: string; readonly id: string; readonly isHeld?: boolean }
  | { readonly kind: 'release-asked' | 'refusal-asked' | 'held-refused'; readonly token: string }
  /** A scheduled message may have, and has, another time. */
  | { readonly kind: 'reschedule-asked' | 'rescheduled'; readonly token: string; readonly sendAt: number }
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
      readonly claimed?: readonly string[];
    }
  /** A part reached the carrier, which then decided as `taken` says. */
  | {
      readonly kind: 'submitted';
      readonly token: string;
      readonly part: number;
      readonly attemptId: string;
      /** yes: the carrier sends it. no: it has refused it. */
      readonly taken: 'yes' | 'no';
      /** How it refused it; not known where a run does not see it. */
      readonly refusal?: 'temporary' | 'permanent';
      /** Whether it answered; without an answer the service cannot know. */
      readonly answered: boolean;
      /** How many events there were when the answer came; not known: at once. */
      readonly answeredAt?: number;
      readonly connector?: string;
      /** The clock of the node that submitted it. */
      readonly nodeAt?: number;
      /** How many events there were when the answer was on disk. */
      readonly settledAt?: number;
      /** The answer was on disk when another part left, and a restore has lost it here. */
      readonly forgottenAt?: number;
    }
  /** An attempt was on disk: from now on its part may leave. */
  | {
      readonly kind: 'claimed';
      readonly account: string;
      readonly attemptId: string;
      readonly nodeAt: number;
    }
  /** A receipt was acknowledged by the service with a status of 200 to 299. */
  | {
      readonly kind: 'receipt-taken';
      readonly token: string;
      readonly part: number;
      readonly status: string;
      /** The carrier named its own id alone, which the service knows only by the answer to this attempt. */
      readonly answerTo?: string;
    }
  | {
      readonly kind: 'balances';
      readonly account: string;
      readonly granted: bigint;
      readonly free: bigint;
      readonly held: bigint;
      readonly used: bigint;
    }
  /** The number may get messages again. */
  | { readonly kind: 'opt-in-asked'; readonly account: string; readonly number: string }
  /** An operator may have decided about a message of unknown outcome. */
  | { readonly kind: 'decision-asked'; readonly token: string; readonly decision: string }
  | { readonly kind: 'decided'; readonly token: string }
  /** The account has deleted a sent message from its view, or all that it scheduled. */
  | { readonly kind: 'delete-asked' | 'deleted'; readonly token: string }
  /** Credits were given or taken back: asked for, and acknowledged. */
  | {
      readonly kind: 'credits-asked' | 'credits-moved';
      readonly account: string;
      readonly act: string;
      readonly amount: bigint;
    }
  /** The account gets no service, or the connector takes nothing: asked for, and acknowledged. */
  | {
      readonly kind: 'closed' | 'opening';
      readonly what: 'account' | 'connector';
      readonly name: string;
    }
  /** A message to an account left its carrier, and was acknowledged. */
  | {
      readonly kind: 'incoming' | 'incoming-taken';
      readonly incoming: string;
      readonly account: string | null;
      readonly sender: string;
    }
  /** What an account has marked, as read or as seen. */
  | {
      readonly kind: 'mark-asked' | 'marked';
      readonly list: 'inbox' | 'sent';
      readonly account: string;
      readonly id: string;
      readonly updatedAt?: string;
    }
  /** A client has read what it, or another client, was told before. `fault` says what was wrong. */
  | { readonly kind: 'read'; readonly what: string; readonly fault: string | null }
  /** A webhook has answered an event with a status of 200 to 299. */
  | {
      readonly kind: 'event-delivered';
      readonly webhook: string;
      readonly event: string;
      readonly type: string;
      readonly of: string;
    }
  | { readonly kind: 'erase-asked' | 'erased'; readonly number: string }
  /** The queue was in a state in which it must not be after any commit. */
  | { readonly kind: 'queue-fault'; readonly text: string }
  /** The service has reported an error that no fault of the world explains. */
  | { readonly kind: 'internal-error'; readonly text: string }
  /** The clock jumps after this. Answers that came before are on disk by then. */
  | { readonly kind: 'clock-jumped' }
  | { readonly kind: 'killed'; readonly what: string }
  /** A copy of the database was made, and took the place of the database. */
  | { readonly kind: 'backup-taken' }
  /** `holdsScheduled`: what is due later is held then. `at`: milliseconds since 1970. */
  | { readonly kind: 'restored'; readonly holdsScheduled: boolean; readonly at: number }
  /** In the place of what a restore has made unknown: see lost-time.ts. */
  | { readonly kind: 'lost' }
  /** The imported messages of an account may be sent from now on. */
  | { readonly kind: 'activation-asked'; readonly account: string };

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
  /** Why it waits for an operator, and how often it was tried. */
  readonly reason?: string | null;
  readonly attempts?: number;
}

export type SubmittedEvent = Extract<Event, { kind: 'submitted' }>;

export type Policy = 'never-twice' | 'submit-again';

/** What the database holds after a run. A run with real processes looks at less. */
export interface Snapshot {
  readonly credits: readonly AccountCredits[];
  /** Texts of received and unrouted messages, as often as they are stored. */
  readonly received: readonly { readonly account: string | null; readonly text: string }[];
  /** Numbers that are in some table, as they are written there. */
  readonly numbers: ReadonlySet<string>;
  /** Of sent messages. */
  readonly marked: ReadonlyMap<string, { readonly isMarked: boolean; readonly updatedAt: string }>;
  readonly unread: ReadonlySet<string>;
  /** Statuses of sent messages: `account id status`. */
  readonly statuses: readonly string[];
}
export interface AccountCredits {
  readonly account: string;
  readonly free: bigint;
  readonly held: bigint;
  readonly used: bigint;
  readonly low: bigint | null;
  /** In their order. */
  readonly movements: readonly {
    readonly from: string;
    readonly to: string;
    readonly amount: bigint;
    readonly messageId: string | null;
  }[];
  /** By the messages that wait. */
  readonly heldByMessages: bigint;
}

export interface History {
  readonly snapshot?: Snapshot;
  /** In which hours an account gets nothing submitted, by its clock; null where it has none. */
  readonly isQuiet?: (account: string, at: number) => boolean;
  /** Credits for a part by this connector, for messages of an outbound route; null for others. */
  readonly priceByRoute?: (account: string, number: string, connector: string) => number | null;
  readonly events: readonly Event[];
  /** Every message of every account after the run, as often as it is listed. */
  readonly outcomes: readonly Outcome[];
  /** What an account does with a submission whose answer was lost. */
  readonly unknownOutcomePolicy: Policy | ((account: string) => Policy);
  /** Why a message may still be pending, in words; null: nothing may be. */
  readonly pendingReason: ((token: string) => string | null) | null;
}

export const FINAL: ReadonlySet<string> = new Set(['DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED']);
