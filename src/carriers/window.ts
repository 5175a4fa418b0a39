import type { Submission, SubmitResult } from './connector.ts';

/** Limits how many submissions are without an answer at a time. */
export interface Window {
  /** Resolves to the function that gives the slot back, or to null where the signal aborts. */
  enter(signal: AbortSignal): Promise<(() => void) | null>;
  /** To be called where `size` grew. */
  widened(): void;
}

export function createWindow(size: () => number): Window {
  let taken = 0;
  const waiting = new Set<() => void>();

  function leave(): void {
    taken--;
    admit();
  }

  function admit(): void {
    for (const next of waiting) {
      if (taken >= size()) return;
      waiting.delete(next);
      taken++;
      next();
    }
  }

  /** A slot is given back once, however often the function is called. */
  function slot(): () => void {
    let isHeld = true;
    return () => {
      if (isHeld) leave();
      isHeld = false;
    };
  }

  return {
    enter(signal) {
      if (signal.aborted) return Promise.resolve(null);
      if (waiting.size === 0 && taken < size()) {
        taken++;
        return Promise.resolve(slot());
      }
      return new Promise((resolve) => {
        const admitted = () => {
          signal.removeEventListener('abort', aborted);
          resolve(slot());
        };
        const aborted = () => {
          waiting.delete(admitted);
          resolve(null);
        };
        waiting.add(admitted);
        signal.addEventListener('abort', aborted, { once: true });
      });
    },
    widened: admit,
  };
}

const ABORTED: SubmitResult = { kind: 'temporary', reason: 'aborted before it was sent' };

/**
 * Submits a part as soon as the window has a slot, unless the recipient has opted out while the
 * part waited. `beforehand` runs first in the slot; a result of it is the result of the part.
 * Nothing may wait between the question about opt-outs and the call, so `send` begins with it.
 */
export async function submitWithin(
  window: Window,
  part: Submission,
  signal: AbortSignal,
  send: () => Promise<SubmitResult>,
  beforehand: () => Promise<SubmitResult | null> = async () => null,
): Promise<SubmitResult> {
  const leave = await window.enter(signal);
  if (leave === null) return ABORTED;
  try {
    const refused = (await beforehand()) ?? (await part.withheld?.()) ?? null;
    if (refused !== null) return refused;
    return signal.aborted ? ABORTED : await send();
  } finally {
    leave();
  }
}
