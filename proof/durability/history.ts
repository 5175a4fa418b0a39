/**
 * Whether what clients saw can be explained by some order of their calls, one after the other, in which none comes before
 * one that was answered before it was made: linearizability, by the search of Wing and Gong (Journal of Parallel and
 * Distributed Computing 17, 1993) with a memory of the configurations that lead nowhere (Lowe, 2017).
 */
export interface Call {
  readonly label: string;
  /** Moments of one clock: no two are equal. */
  readonly calledAt: number;
  readonly answeredAt: number;
  readonly result: string;
  /** What it does to a state, and what it answers then. */
  apply(state: string): Effect;
}
export interface Effect {
  readonly state: string;
  readonly result: string;
}

/** Null where there is such an order; else where every order ends, for people to read. */
export function explain(history: readonly Call[], initial: string): string | null {
  const calls = [...history].sort((one, other) => one.calledAt - other.calledAt);
  const seen = new Set<string>();
  let farthest: Position = { first: 0, beyond: [], state: initial };

  const pending = [farthest];
  for (let at = pending.pop(); at; at = pending.pop()) {
    if (at.first === calls.length) return null;
    if (progress(at) > progress(farthest)) farthest = at;
    for (const index of candidates(calls, at)) {
      const call = calls[index] as Call;
      const { state, result } = call.apply(at.state);
      if (result !== call.result) continue;
      const next = advance(at, index, state);
      const key = `${next.first} ${next.beyond.join()} ${state}`;
      if (seen.has(key)) continue;
      seen.add(key);
      pending.push(next);
    }
  }
  return describe(calls, farthest);
}

/** The calls up to `first` have been placed, and those in `beyond`, in order. */
interface Position {
  readonly first: number;
  readonly beyond: readonly number[];
  readonly state: string;
}

const progress = ({ first, beyond }: Position): number => first + beyond.length;

/** The calls that can come next: made before any other that is left was answered. */
function candidates(calls: readonly Call[], { first, beyond }: Position): number[] {
  const found: number[] = [];
  let bound = Number.POSITIVE_INFINITY;
  for (let index = first; index < calls.length; index++) {
    const call = calls[index] as Call;
    if (call.calledAt > bound) break;
    if (beyond.includes(index)) continue;
    found.push(index);
    bound = Math.min(bound, call.answeredAt);
  }
  return found;
}

function advance({ first, beyond }: Position, index: number, state: string): Position {
  const placed = [...beyond, index].sort((one, other) => one - other);
  let next = first;
  while (placed[0] === next) {
    placed.shift();
    next += 1;
  }
  return { first: next, beyond: placed, state };
}

const SHOWN_BEFORE = 12;

function describe(calls: readonly Call[], at: Position): string {
  const show = (call: Call) => `  ${call.calledAt}–${call.answeredAt} ${call.label} → ${call.result}`;
  const before = calls.slice(Math.max(0, at.first - SHOWN_BEFORE), at.first).map(show);
  const placed = at.beyond.map((index) => show(calls[index] as Call));
  const left = candidates(calls, at).map((index) => {
    const call = calls[index] as Call;
    return `${show(call)}, but from that state ${call.apply(at.state).result}`;
  });
  return [
    `no order explains call ${progress(at)} of ${calls.length}`,
    ...['before:', ...before, ...placed, `state: ${at.state}`, 'next:', ...left],
  ].join('\n');
}
