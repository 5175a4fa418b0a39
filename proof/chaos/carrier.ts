import type { SubmitResult } from '../../src/carriers/connector.ts';
import type { Random } from '../../test/support/random.ts';
import { type Event, FINAL } from '../checker/history.ts';
import type { SubmittedPart } from './protocol.ts';

/** A carrier of a chaos run. It refuses, loses answers, and sends receipts early, twice or never. */
export type SubmittedEvent = Extract<Event, { kind: 'submitted' }>;

export interface Carrier {
  /** Null: the answer is lost. No event is answered yet. */
  submit(parts: readonly SubmittedPart[], onSubmitted: (event: SubmittedEvent) => void): Promise<SubmitResult[] | null>;
  /** Resolves when every receipt was acknowledged. */
  settled(): Promise<void>;
  /** For these it will never send a final receipt for every part. */
  readonly silent: ReadonlySet<string>;
}

export interface CarrierParts {
  readonly random: Random;
  /** Whether the service has acknowledged it. */
  readonly sendReceipt: (attemptId: string, status: string) => Promise<boolean>;
  readonly record: (event: Event) => void;
}

const TOKEN = /#(\d{6})#/;
/** Each part of a long text has the whole token in it. */
export const textOf = (token: string, times: number): string => `#${token}#`.repeat(times);
export const tokenOf = (text: string): string => TOKEN.exec(text)?.[1] ?? `no token in ${text}`;

export function createCarrier({ random, sendReceipt, record }: CarrierParts): Carrier {
  const receipts = new Set<Promise<void>>();
  const silent = new Set<string>();
  /** One outcome for all parts of a message: then its final status can be foretold. */
  const finals = new Map<string, string>();

  async function bring(attemptId: string, token: string, part: number, status: string): Promise<void> {
    while (!(await sendReceipt(attemptId, status))) await new Promise((resolve) => setTimeout(resolve, 20));
    record({ kind: 'receipt-taken', token, part, status });
  }

  function bringLater(work: () => Promise<void>): void {
    const delivery = new Promise((resolve) => setTimeout(resolve, random.below(300)))
      .then(work)
      .finally(() => receipts.delete(delivery));
    receipts.add(delivery);
  }

  function finalOf(token: string): string {
    const known = finals.get(token) ?? random.pick(['DELIVERED', 'DELIVERED', 'DELIVERED', 'UNDELIVERABLE', 'EXPIRED']);
    finals.set(token, known);
    return known;
  }

  /** Returns after an early receipt was taken; the others come later. */
  async function report({ attemptId, part }: SubmittedPart, token: string): Promise<void> {
    const final = finalOf(token);
    const way = random.below(20);
    if (way === 0) silent.add(token);
    else if (way < 4) await bring(attemptId, token, part, final);
    else if (way < 7) {
      bringLater(() => bring(attemptId, token, part, final));
      bringLater(() => bring(attemptId, token, part, final));
    } else if (way < 10) {
      bringLater(() => bring(attemptId, token, part, final));
      bringLater(() => bring(attemptId, token, part, 'ENROUTE'));
    } else bringLater(() => bring(attemptId, token, part, final));
  }

  return {
    async submit(parts, onSubmitted) {
      const isLost = random.chance(0.05);
      const results: SubmitResult[] = [];
      for (const part of parts) {
        const token = tokenOf(part.text);
        const result = resultOf(random);
        const taken = result.kind === 'accepted' ? 'yes' : 'no';
        const { attemptId } = part;
        onSubmitted({ kind: 'submitted', token, part: part.part, attemptId, taken, answered: false });
        if (taken === 'yes') await report(part, token);
        results.push(result);
      }
      return isLost ? null : results;
    },
    async settled() {
      while (receipts.size > 0) await Promise.all(receipts);
    },
    silent,
  };
}

function resultOf(random: Random): SubmitResult {
  const way = random.below(100);
  if (way < 3) return { kind: 'permanent', reason: 'refused' };
  if (way < 15) return { kind: 'temporary', reason: 'throttled' };
  if (way < 17) return { kind: 'temporary', reason: 'no connection', connectorDown: true };
  return { kind: 'accepted', gatewayId: null };
}

export const isFinal = (status: string | null): boolean => status !== null && FINAL.has(status);
