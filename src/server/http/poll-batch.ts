/**
 * What had come in when the system was last asked is read request by request: a burst. All of its requests had begun to come
 * before the first of them was looked at, so what is found out for one of them is new enough for the others.
 */
export interface Bursts {
  /** Of the burst that a request is being read of; undefined at any other time. */
  readonly current: number | undefined;
  /** The number of this turn of the event loop. */
  turn(): number;
  /** Around the reading of one chunk, as the system hands it over: nothing else may be done in between. */
  enter(): void;
  leave(): void;
  /**
   * Instead of `enter`, around a request that has waited in the line of overload.ts. A slice of that line is a burst:
   * all of its requests had come before the first of them is looked at.
   */
  enterSlice(slice: number): void;
  /** There is a socket more to read from, or one less. */
  opened(): void;
  closed(): void;
}

// The system reports 1,024 sockets at a time, and is asked for more in the same turn of the event loop where there may be more.
// There are others than ours: listeners, those of metrics, pipes.
const SOCKETS_MAX = 900;

export function createBursts(): Bursts {
  let number = 0;
  let current: number | undefined;
  let isOpen = false;
  let sockets = 0;
  const end = () => {
    isOpen = false;
  };
  function turn(): number {
    if (isOpen) return number;
    isOpen = true;
    setImmediate(end); // after all that the system has reported, and before it is asked again
    return ++number;
  }
  return {
    get current() {
      return current;
    },
    turn,
    enter() {
      if (sockets > SOCKETS_MAX) return;
      current = turn();
    },
    leave() {
      current = undefined;
    },
    enterSlice(slice) {
      current = -slice; // no number of a turn
    },
    opened: () => void sockets++,
    closed: () => void sockets--,
  };
}
