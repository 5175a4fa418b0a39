import type { Semaphore } from '../base/semaphore.ts';
import type { Submission, SubmitResult } from './connector.ts';

const ABORTED: SubmitResult = { kind: 'temporary', reason: 'aborted before it was sent' };

/**
 * Submits a part as soon as the semaphore has a place, unless the recipient has opted out while the
 * part waited. `beforehand` runs first; if it returns a result, that is the result of the part.
 * `send` begins with the call itself, because nothing may wait between the check for opt-outs and
 * the call.
 */
export async function submitWithin(
  unanswered: Semaphore,
  part: Submission,
  signal: AbortSignal,
  send: () => Promise<SubmitResult>,
  beforehand: () => Promise<SubmitResult | null> = async () => null,
): Promise<SubmitResult> {
  const leave = await unanswered.enter(signal);
  if (leave === null) return ABORTED;
  try {
    const refused = (await beforehand()) ?? (await part.withheld?.()) ?? null;
    if (refused !== null) return refused;
    return signal.aborted ? ABORTED : await send();
  } finally {
    leave();
  }
}
