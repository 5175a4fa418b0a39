import { createHash } from 'node:crypto';
import type { Event } from '../checker/history.ts';

/** The history of a run, and a hash of it: the same seed gives the same one on every machine. */
export interface Recorder {
  readonly events: readonly Event[];
  record(event: Event): void;
  hash(): string;
}

export function createRecorder(now: () => number): Recorder {
  const events: Event[] = [];
  const hash = createHash('sha256');
  return {
    events,
    record(event) {
      events.push(event);
      hash.update(`${now()} ${jsonOf(event)}\n`);
    },
    hash: () => hash.copy().digest('hex').slice(0, 16),
  };
}

export const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each));
