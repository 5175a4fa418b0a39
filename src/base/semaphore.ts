/** Limits how much work runs at a time. Waiting work is admitted in the order of its arrival. */
export interface Semaphore {
  /** Resolves to the function that releases the slot. */
  enter(): Promise<() => void>;
  /** Resolves to null if the signal aborts first. */
  enter(signal: AbortSignal): Promise<(() => void) | null>;
  /** Runs the work as soon as a slot is free. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** How many wait for a slot. */
  readonly waiting: number;
  /** Whether the next caller has to wait. */
  readonly isFull: boolean;
  /** Call it after the size has grown. */
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

  /** The slot is released once, however often the function is called. */
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
      // If a slot is free, the work starts in this event-loop turn.
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
