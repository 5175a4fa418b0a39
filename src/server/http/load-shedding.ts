/**
 * More load than can be served: better to refuse some requests at once than to answer all of them late. Requests are served
 * as they are read, for a slice of time. The rest wait in a line, of which each turn of the event loop serves a slice: so
 * commits, timers and new connections never wait longer. Two signs decide about refusing: how long requests have waited in
 * that line, and how many of those that were begun wait for their answer, be it for the disk or for the database.
 */
export interface Overload {
  /** What is to become of a request that has just come. */
  judge(): Verdict;
  /** For `later`: serves it in its turn, or refuses it; at once, where the bodies in the line take too much memory. */
  line(bytes: number, serve: (slice: number) => void, refuse: () => void): void;
  started(): void;
  ended(): void;
  /** There was a new connection. The system hands over one a turn, so turns are kept short until there is none. */
  accepted(): void;
  /** Tells a refusal as much later as a refused client is told to wait. */
  later(tell: () => void): void;
  readonly waiting: number;
  /** Since the start. */
  readonly refused: number;
}

export type Verdict = 'now' | 'later' | 'refused';

export interface OverloadSettings {
  readonly turnMaxMs: number;
  readonly waitingMax: number;
}

/** For tests that bring their own. */
export interface Time {
  readonly now: () => number;
  readonly nextTurn: (work: () => void) => void;
  readonly after: (ms: number, work: () => void) => void;
}

const REAL: Time = {
  now: () => performance.now(),
  nextTurn: (work) => void setImmediate(work),
  after: (ms, work) => void setTimeout(work, ms), // a socket whose client has said its last keeps no process alive
};

// About 100 calls. A turn costs 0.05 ms by itself.
const SLICE_MS = 10;
const SLICE_ACCEPTING_MS = 0.5;
// As Retry-After says.
export const RETRY_AFTER_MS = 1_000;
// Between two of those that are told later, so that they take a twentieth of the time at most, however many there are.
const SPACING_MS = 0.5;
// A small body is a part of what a connection may take anyway.
const SMALL_BYTES = 65_536;
const LINE_BYTES_MAX = 33_554_432;

interface Job {
  readonly since: number;
  readonly bytes: number;
  /** Each slice of the line has a number of its own. */
  readonly serve: (slice: number) => void;
  readonly refuse: () => void;
}

export function createOverload({ turnMaxMs, waitingMax }: OverloadSettings, time: Time = REAL): Overload {
  const waits = createFifo<Job>();
  let lineBytes = 0;
  let isServing = false;
  let sliceStartedAt = Number.NaN;
  let slice = 0;
  let isAccepting = false;
  let waiting = 0;
  let refused = 0;
  const endTurn = () => {
    sliceStartedAt = Number.NaN;
    if (waits.size === 0) isAccepting = false;
  };
  const isOver = (now: number) => now - sliceStartedAt >= (isAccepting ? SLICE_ACCEPTING_MS : SLICE_MS);

  function refuse(): 'refused' {
    refused += 1;
    return 'refused';
  }

  function serveSlice(): void {
    sliceStartedAt = time.now();
    slice += 1;
    serveNext();
  }

  /** What a call does after it has waited for something counts too, so the next one is looked at behind that. */
  function serveNext(): void {
    const job = waits.shift();
    if (job) {
      const now = time.now();
      lineBytes -= job.bytes;
      if (now - job.since > turnMaxMs || waiting >= waitingMax) {
        refuse();
        job.refuse();
      } else job.serve(slice);
    }
    if (waits.size === 0) isServing = false;
    else if (isOver(time.now())) time.nextTurn(serveSlice);
    else {
      queueMicrotask(serveNext);
      return;
    }
    sliceStartedAt = Number.NaN;
    isAccepting = false;
  }

  const refusals = createFifo<{ readonly due: number; readonly tell: () => void }>();
  let lastDue = 0;
  function tellDue(): void {
    const now = time.now();
    for (let first = refusals.first; first && first.due <= now; first = refusals.first) {
      refusals.shift();
      first.tell();
    }
    if (refusals.first) time.after(refusals.first.due - now, tellDue);
  }

  return {
    judge() {
      if (waiting >= waitingMax) return refuse();
      const now = time.now();
      const first = waits.first;
      // At half of it, since who joins the line now has as long to wait.
      if (first) return 2 * (now - first.since) > turnMaxMs ? refuse() : 'later';
      if (Number.isNaN(sliceStartedAt)) {
        sliceStartedAt = now;
        time.nextTurn(endTurn); // after all that can be read in this turn
      }
      return isOver(now) ? 'later' : 'now';
    },
    line(bytes, serve, refuseIt) {
      if (bytes > SMALL_BYTES && lineBytes + bytes > LINE_BYTES_MAX) {
        refuse();
        refuseIt();
        return;
      }
      lineBytes += bytes;
      waits.push({ since: time.now(), bytes, serve, refuse: refuseIt });
      if (isServing) return;
      isServing = true;
      time.nextTurn(serveSlice);
    },
    started: () => void waiting++,
    ended: () => void waiting--,
    accepted() {
      isAccepting = true;
    },
    later(tell) {
      lastDue = Math.max(time.now() + RETRY_AFTER_MS, lastDue + SPACING_MS);
      refusals.push({ due: lastDue, tell });
      if (refusals.size === 1) time.after(RETRY_AFTER_MS, tellDue);
    },
    get waiting() {
      return waiting;
    },
    get refused() {
      return refused;
    },
  };
}

/** First in, first out, without moving all for each. */
function createFifo<T>() {
  let incoming: T[] = [];
  let outgoing: T[] = [];
  const turn = () => {
    if (outgoing.length > 0 || incoming.length === 0) return;
    outgoing = incoming.reverse();
    incoming = [];
  };
  return {
    get size() {
      return incoming.length + outgoing.length;
    },
    get first(): T | undefined {
      turn();
      return outgoing.at(-1);
    },
    push: (item: T) => void incoming.push(item),
    shift(): T | undefined {
      turn();
      return outgoing.pop();
    },
  };
}
