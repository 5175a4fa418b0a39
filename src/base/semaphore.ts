/** Limits how much is under way at a time. Those that wait are admitted in the order they came. */
export interface Semaphore {
  /** Resolves to the function that gives the place back. */
  enter(): Promise<() => void>;
  /** The same, or null where the signal aborts first. */
  enter(signal: AbortSignal): Promise<(() => void) | null>;
  /** Runs the work as soon as there is a place for it. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** How many wait for a place. */
  readonly waiting: number;
  /** Whether whoever comes next has to wait. */
  readonly isFull: boolean;
  /** To be called where the size grew. */
  widened(): void;
}

export function createSemaphore(size: number | (() => number)): Semaphore {
  const places = typeof size === 'number' ? () => size : size;
  let taken = 0;
  const waiting = new Set<() => void>();

  function admit(): void {
    for (const next of waiting) {
      if (taken >= places()) return;
      waiting.delete(next);
      taken++;
      next();
    }
  }

  /** A place is given back once, however often the function is called. */
  function place(): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      taken--;
      admit();
    };
  }
  const isFull = (): boolean => waiting.size > 0 || taken >= places();

  function enterNow(): () => void {
    taken++;
    return place();
  }

  function enter(signal?: AbortSignal): Promise<(() => void) | null> {
    if (signal?.aborted) return Promise.resolve(null);
    if (!isFull()) return Promise.resolve(enterNow());
    return new Promise((resolve) => {
      const admitted = () => {
        signal?.removeEventListener('abort', aborted);
        resolve(place());
      };
      const aborted = () => {
        waiting.delete(admitted);
        resolve(null);
      };
      waiting.add(admitted);
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }

  return {
    enter: enter as Semaphore['enter'],
    async run(work) {
      // Where there is a place the work begins in this turn.
      const leave = isFull() ? await (enter as Semaphore['enter'])() : enterNow();
      try {
        return await work();
      } finally {
        leave();
      }
    },
    get waiting() {
      return waiting.size;
    },
    get isFull() {
      return isFull();
    },
    widened: admit,
  };
}
