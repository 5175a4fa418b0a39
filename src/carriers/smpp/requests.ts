/**
 * Submissions of one connection that wait for their answers, and those that were given up and whose
 * answers may still come.
 */
export type Answer =
  | { readonly kind: 'answered'; readonly status: number; readonly messageId: string }
  /** The request left, and whether it arrived is unknown. */
  | { readonly kind: 'lost'; readonly reason: string }
  /** The request never left. */
  | { readonly kind: 'unsent'; readonly reason: string };

export interface Requests {
  /** Resolves with the answer. An abort gives it up. */
  add(sequence: number, attemptId: string, signal: AbortSignal): Promise<Answer>;
  /** False where it was given up before it left: then it must not leave. */
  leaves(sequence: number): boolean;
  /** False where nobody waits for it. */
  answer(sequence: number, status: number, messageId: string): boolean;
  isOpen(sequence: number): boolean;
  /** Gives up what left too long ago, and returns how many that were. */
  giveUp(ageMs: number): number;
  /** The connection has ended. */
  end(reason: string): void;
  readonly size: number;
}

interface Open {
  readonly attemptId: string;
  readonly settle: (answer: Answer) => void;
  /** Null while it is in our own buffer. */
  leftAt: number | null;
}

/** How long an answer may still come after its submission was given up. */
const LATE_MS = 10 * 60_000;
const LATE_MAX = 10_000;

export function createRequests(
  monotonic: () => number,
  onLate: (attemptId: string, answer: Answer & { readonly kind: 'answered' }) => void,
): Requests {
  /** In the order in which they came. */
  const open = new Map<number, Open>();
  const late = new Map<number, { readonly attemptId: string; readonly since: number }>();

  function settle(sequence: number, answer: Answer): void {
    const request = open.get(sequence);
    open.delete(sequence);
    request?.settle(answer);
  }

  function lose(sequence: number, { attemptId, leftAt }: Open, reason: string): void {
    if (leftAt !== null) remember(sequence, attemptId);
    settle(sequence, { kind: leftAt === null ? 'unsent' : 'lost', reason });
  }

  function remember(sequence: number, attemptId: string): void {
    const [first] = late.keys();
    if (late.size >= LATE_MAX && first !== undefined) late.delete(first);
    late.set(sequence, { attemptId, since: monotonic() });
  }

  return {
    add(sequence, attemptId, signal) {
      const { promise, resolve } = Promise.withResolvers<Answer>();
      const request: Open = {
        attemptId,
        leftAt: null,
        settle(answer) {
          signal.removeEventListener('abort', aborted);
          resolve(answer);
        },
      };
      const aborted = () => lose(sequence, request, 'aborted before an answer came');
      signal.addEventListener('abort', aborted, { once: true });
      open.set(sequence, request);
      return promise;
    },
    leaves(sequence) {
      const request = open.get(sequence);
      if (request) request.leftAt = monotonic();
      return request !== undefined;
    },
    answer(sequence, status, messageId) {
      if (open.has(sequence)) {
        settle(sequence, { kind: 'answered', status, messageId });
        return true;
      }
      const given = late.get(sequence);
      if (!given) return false;
      late.delete(sequence);
      onLate(given.attemptId, { kind: 'answered', status, messageId });
      return true;
    },
    isOpen: (sequence) => open.has(sequence) || late.has(sequence),
    giveUp(ageMs) {
      const now = monotonic();
      for (const [sequence, { since }] of late) {
        if (now - since < LATE_MS) break;
        late.delete(sequence);
      }
      let count = 0;
      for (const [sequence, request] of open) {
        if (request.leftAt === null || now - request.leftAt < ageMs) break;
        lose(sequence, request, `no answer in ${Math.round(ageMs / 1_000)} seconds`);
        count++;
      }
      return count;
    },
    end(reason) {
      for (const [sequence, request] of [...open]) lose(sequence, request, reason);
      late.clear();
    },
    get size() {
      return open.size;
    },
  };
}
