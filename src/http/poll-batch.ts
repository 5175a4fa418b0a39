import { turnNumber } from '../base/event-loop.ts';

/**
 * A poll batch is all requests that one poll of the event loop delivered. All of them had begun to
 * arrive before the first one is handled, so one read of SQLite's data_version, made for one of
 * them, is recent enough for the others. A read costs 4 µs, which is 25 % of a cached call.
 */
export interface PollBatches {
  /** The number of this turn of the event loop. */
  turn(): number;
  /** The id of the poll batch in this turn; undefined while one turn may poll several times. */
  current(): number | undefined;
  /**
   * The id of a slice of the queue of load-shedding.ts. A slice is a poll batch too: all of its
   * requests had arrived before the first one is handled.
   */
  ofSlice(slice: number): number;
  /** Counts the open sockets. */
  opened(): void;
  closed(): void;
}

// libuv takes 1,024 events from epoll at a time. If there may be more, it polls again in the same
// turn. Other sockets exist too: listeners, metrics, pipes.
const SOCKETS_MAX = 900;

export function createPollBatches(): PollBatches {
  let sockets = 0;
  return {
    turn: turnNumber,
    current: () => (sockets > SOCKETS_MAX ? undefined : turnNumber()),
    ofSlice: (slice) => -slice, // turns have positive numbers
    opened: () => void sockets++,
    closed: () => void sockets--,
  };
}
