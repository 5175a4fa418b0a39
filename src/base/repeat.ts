import type { Clock } from './clock.ts';

/** Work that a process does again and again, until it is stopped. It never overlaps with itself. */
export interface Repeat {
  start(): void;
  /** Runs it now, unless it is running. Resolves when that run has ended; never rejects. */
  run(): Promise<void>;
  /** Whether a stop was asked for: long work ends early then. */
  readonly isStopping: () => boolean;
  /** Begins no other run, and resolves when the present one has ended. */
  stop(): Promise<void>;
}

export interface RepeatParts {
  readonly clock: Pick<Clock, 'after'>;
  /** From the beginning of a run to the next one, or to the next but one where it takes longer. */
  readonly everyMs: number;
  readonly work: (isStopping: () => boolean) => Promise<unknown>;
  /** Told what a run threw. The next one follows all the same. */
  readonly failed: (thrown: unknown) => void;
  /** The first run is at the start, not after the first interval. */
  readonly atOnce?: boolean;
}

export function createRepeat({ clock, everyMs, work, failed, atOnce = false }: RepeatParts): Repeat {
  let stopping = false;
  let running: Promise<void> | undefined;
  let cancel: (() => void) | undefined;
  const isStopping = () => stopping;

  async function runOnce(): Promise<void> {
    try {
      await work(isStopping);
    } catch (thrown) {
      failed(thrown);
    }
  }
  const run = (): Promise<void> => {
    // Work that throws before its first await has ended when runOnce returns.
    running ??= runOnce().finally(() => {
      running = undefined;
    });
    return running;
  };
  const waitForNext = (): void => {
    cancel = clock.after(everyMs, tick, { background: true });
  };
  const tick = (): void => {
    waitForNext();
    void run();
  };

  return {
    start() {
      if (cancel || stopping) return;
      if (atOnce) tick();
      else waitForNext();
    },
    run,
    isStopping,
    async stop() {
      stopping = true;
      cancel?.();
      await running;
    },
  };
}
