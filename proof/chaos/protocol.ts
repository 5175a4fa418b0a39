import type { SubmitResult } from '../../src/carriers/connector.ts';

/** What a chaos run and its nodes tell each other, over the IPC channel of child processes. */
export interface NodeSettings {
  readonly database: string;
  readonly times: { readonly unknownOutcomeMs: number; readonly leaseMs: number; readonly submitTimeoutMs: number };
}

/** To a node. It answers each with the same `call`. */
export type Ask =
  | {
      readonly kind: 'send';
      readonly account: string;
      readonly number: string;
      readonly text: string;
      readonly delayMs: number | null;
      /** So long after it is due it may still be submitted. */
      readonly validMs: number | null;
    }
  | { readonly kind: 'cancel'; readonly account: string; readonly id: string }
  | { readonly kind: 'opt-out'; readonly account: string; readonly number: string }
  | { readonly kind: 'receipt'; readonly attemptId: string; readonly status: string }
  | { readonly kind: 'balances'; readonly account: string }
  | { readonly kind: 'clock'; readonly offsetMs: number }
  /** It answers when every answer of the carrier that it has heard is on disk. */
  | { readonly kind: 'settle' }
  | { readonly kind: 'stop' };
export type ToNode =
  | { readonly kind: 'ask'; readonly call: number; readonly ask: Ask }
  | { readonly kind: 'submitted'; readonly call: number; readonly results: readonly SubmitResult[] };

export interface SubmittedPart {
  readonly attemptId: string;
  /** 1 for a message of one part. */
  readonly part: number;
  readonly text: string;
}
export type FromNode =
  | { readonly kind: 'serving' }
  | { readonly kind: 'answer'; readonly call: number; readonly answer: Answer }
  | { readonly kind: 'submit'; readonly call: number; readonly parts: readonly SubmittedPart[] }
  /** The carrier's answer came in time. */
  | { readonly kind: 'heard'; readonly call: number };

/** refused: for good. failed: nobody knows whether it was done. */
export type Answer =
  | { readonly kind: 'done'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };
