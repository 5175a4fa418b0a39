import type { Event, SubmittedEvent } from '../checker/history.ts';
import type { SeenStatement } from './disk.ts';
import type { Invariants } from './invariants.ts';
import type { Recorder } from './recorder.ts';
import { CLAIM, CLAIM_VALUES, QUEUE, type Slot } from './slot.ts';
import type { Observer } from './storage.ts';

/** What the world learns from the statements of a transaction when it is committed. */
export interface CommitParts {
  readonly recorder: Recorder;
  readonly invariants: Invariants;
  readonly observer: () => Observer;
  /** The clock that is farthest ahead. */
  readonly latest: () => number;
}

export function createCommits({ recorder, invariants, observer, latest }: CommitParts) {
  const usernames = new Map<bigint, string>();
  let count = 0;

  function usernameOf(account: bigint): string {
    const known = usernames.get(account);
    if (known !== undefined) return known;
    const row = observer().prepare('select username from account where account_id = ?').get(account);
    usernames.set(account, String(row?.username));
    return String(row?.username);
  }

  function onCommit(slot: Slot, { claims, hasQueued }: SeenStatement['done']): void {
    count += 1;
    for (const { account, attemptId, at: nodeAt } of claims) {
      recorder.record({ kind: 'claimed', account: usernameOf(account), attemptId, nodeAt } satisfies Event);
    }
    const later = latest();
    if (hasQueued) invariants.check(later);
    for (const [attemptId, event] of slot.unsettled) {
      const row = observer().prepare('select state from attempt where attempt_id = ?').get(attemptId);
      if (row?.state !== (event.taken === 'yes' ? 'accepted' : 'refused')) continue;
      (event as { -readonly [K in keyof SubmittedEvent]: SubmittedEvent[K] }).settledAt = recorder.events.length;
      slot.unsettled.delete(attemptId);
    }
  }

  return {
    count: () => count,
    /** After each statement. */
    note(slot: Slot, { text, values, done }: SeenStatement): void {
      if (QUEUE.test(text)) done.hasQueued = true;
      for (let row = 0; CLAIM.test(text) && row < values.length; row += CLAIM_VALUES) {
        const [account, , , , attemptId, , at] = values.slice(row, row + CLAIM_VALUES);
        done.claims.push({ account: BigInt(String(account)), attemptId: String(attemptId), at: Number(at) });
      }
      if (text !== 'commit' && text !== 'rollback') return;
      const whole = { ...done };
      done.claims = [];
      done.hasQueued = false;
      if (text === 'commit') onCommit(slot, whole);
    },
  };
}
