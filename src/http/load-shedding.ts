/**
 * Load shedding: under overload some requests are rejected at once, instead of all answered late.
 *
 * Requests are handled as they are parsed, for one slice of time. The others wait in a queue, and
 * each event-loop turn handles one slice of it. So commits, timers and new connections never wait
 * longer than a slice. A request is rejected when the queue is too slow. It is also rejected when
 * too many handled requests wait for the disk or the database.
 */
export interface LoadShedder {
  /** What to do with a request that has just arrived. */
  decide(): Verdict;
  /**
   * For 'later': handles the request in its turn or rejects it; at once if bodies take too much
   * memory.
   */
  queue(bytes: number, handle: (slice: number) => void, reject: () => void): void;
  /** Counts a request that is being handled. */
  begin(): void;
  end(): void;
  /** A connection was accepted. libuv accepts one per turn, so turns are short until all are. */
  accepted(): void;
  /** Sends a rejection after the time of Retry-After. */
  delayRejection(send: () => void): void;
  /** For work that comes after all requests, such as pages of the console. */
  readonly load: Load;
  /** Requests that are being handled. */
  readonly waiting: number;
  /** Requests that were rejected since the start. */
  readonly rejected: number;
}

export type Verdict = 'now' | 'later' | 'reject';

/**
 * behind: requests wait for their turn, or half as many as may wait for the disk or the database.
 * overloaded: a request that arrived now would be rejected.
 */
export type Load = 'free' | 'behind' | 'overloaded';

export interface LoadSheddingSettings {
  readonly turnMaxMs: number;
  readonly waitingMax: number;
}

/** The clock and the event loop, which tests replace. */
export interface Time {
  readonly monotonic: () => number;
  readonly afterPoll: (work: () => void) => void;
  /** The timer keeps the process alive, which a half-closed socket would not. */
  readonly after: (ms: number, work: () => void) => unknown;
}

// About 100 calls. An event-loop turn costs 0.05 ms by itself.
const SLICE_MS = 10;
const SLICE_ACCEPTING_MS = 0.5;
// The Retry-After of a rejection.
export const RETRY_AFTER_MS = 1_000;
// Between two delayed rejections, so that they take at most 5 % of the time.
const REJECTION_INTERVAL_MS = 0.5;
// Small bodies count as a part of the connection's memory.
const SMALL_BYTES = 65_536;
const QUEUE_BYTES_MAX = 33_554_432;

interface QueuedRequest {
  readonly since: number;
  readonly bytes: number;
  readonly handle: (slice: number) => void;
  readonly reject: () => void;
}

export function createLoadShedder(settings: LoadSheddingSettings, time: Time): LoadShedder {
  const { turnMaxMs, waitingMax } = settings;
  const slice = new Slice();
  const delayRejection = createRejectionDelay(time);
  let waiting = 0;
  let rejected = 0;

  function countRejection(): 'reject' {
    rejected += 1;
    return 'reject';
  }
  const queued = createRequestQueue(time, slice, (since, now) => {
    if (now - since <= turnMaxMs && waiting < waitingMax) return false;
    countRejection();
    return true;
  });
  const endTurn = () => {
    slice.end();
    if (!queued.first) slice.isAccepting = false;
  };

  return {
    decide() {
      if (waiting >= waitingMax) return countRejection();
      const now = time.monotonic();
      const { first } = queued;
      // At half of the limit: a request that is queued now waits as long again.
      if (first) return 2 * (now - first.since) > turnMaxMs ? countRejection() : 'later';
      if (!slice.hasStarted) {
        slice.start(now);
        time.afterPoll(endTurn);
      }
      return slice.isOver(now) ? 'later' : 'now';
    },
    queue(bytes, handle, reject) {
      if (queued.add({ since: time.monotonic(), bytes, handle, reject })) return;
      countRejection();
      reject();
    },
    begin: () => void waiting++,
    end: () => void waiting--,
    accepted() {
      slice.isAccepting = true;
    },
    delayRejection,
    get load() {
      const { first } = queued;
      // The same limits as in decide().
      if (waiting >= waitingMax || (first && 2 * (time.monotonic() - first.since) > turnMaxMs)) return 'overloaded';
      return first || 2 * waiting >= waitingMax ? 'behind' : 'free';
    },
    get waiting() {
      return waiting;
    },
    get rejected() {
      return rejected;
    },
  };
}

/** The time of an event-loop turn in which requests are handled. */
class Slice {
  isAccepting = false;
  #startedAt = Number.NaN;

  get hasStarted(): boolean {
    return !Number.isNaN(this.#startedAt);
  }

  start(now: number): void {
    this.#startedAt = now;
  }

  end(): void {
    this.#startedAt = Number.NaN;
  }

  isOver(now: number): boolean {
    return now - this.#startedAt >= (this.isAccepting ? SLICE_ACCEPTING_MS : SLICE_MS);
  }
}

/** Requests that wait for their slice. `isRejected` judges each one when its turn has come. */
function createRequestQueue(time: Time, slice: Slice, isRejected: (since: number, now: number) => boolean) {
  const queued = createQueue<QueuedRequest>();
  let bytes = 0;
  let isScheduled = false;
  let sliceNumber = 0;

  function handleSlice(): void {
    slice.start(time.monotonic());
    sliceNumber += 1;
    handleNext();
  }

  /** In a microtask each, so that the continuations of a call count as a part of the slice. */
  function handleNext(): void {
    const next = queued.shift();
    if (next) {
      bytes -= next.bytes;
      if (isRejected(next.since, time.monotonic())) next.reject();
      else next.handle(sliceNumber);
    }
    if (queued.size === 0) isScheduled = false;
    else if (slice.isOver(time.monotonic())) time.afterPoll(handleSlice);
    else {
      queueMicrotask(handleNext);
      return;
    }
    slice.end();
    slice.isAccepting = false;
  }

  return {
    get first(): QueuedRequest | undefined {
      return queued.first;
    },
    /** False if the bodies of waiting requests take too much memory. */
    add(request: QueuedRequest): boolean {
      if (request.bytes > SMALL_BYTES && bytes + request.bytes > QUEUE_BYTES_MAX) return false;
      bytes += request.bytes;
      queued.push(request);
      if (isScheduled) return true;
      isScheduled = true;
      time.afterPoll(handleSlice);
      return true;
    },
  };
}

/** Sends each rejection after the time of Retry-After, with an interval between any two. */
function createRejectionDelay(time: Time): (send: () => void) => void {
  const delayed = createQueue<{ readonly dueAt: number; readonly send: () => void }>();
  let lastDueAt = 0;
  function sendDue(): void {
    const now = time.monotonic();
    for (let first = delayed.first; first && first.dueAt <= now; first = delayed.first) {
      delayed.shift();
      first.send();
    }
    if (delayed.first) time.after(delayed.first.dueAt - now, sendDue);
  }
  return (send) => {
    lastDueAt = Math.max(time.monotonic() + RETRY_AFTER_MS, lastDueAt + REJECTION_INTERVAL_MS);
    delayed.push({ dueAt: lastDueAt, send });
    if (delayed.size === 1) time.after(RETRY_AFTER_MS, sendDue);
  };
}

/** First in, first out; `shift` takes constant time. */
function createQueue<T>() {
  let incoming: T[] = [];
  let outgoing: T[] = [];
  const refill = () => {
    if (outgoing.length > 0 || incoming.length === 0) return;
    outgoing = incoming.reverse();
    incoming = [];
  };
  return {
    get size() {
      return incoming.length + outgoing.length;
    },
    get first(): T | undefined {
      refill();
      return outgoing.at(-1);
    },
    push: (item: T) => void incoming.push(item),
    shift(): T | undefined {
      refill();
      return outgoing.pop();
    },
  };
}
