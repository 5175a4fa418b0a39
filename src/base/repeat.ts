import type { Clock } from './clock.ts';

/** Work that a process repeats until it is stopped. Two runs never overlap. */
export interface Repeat {
  start(): void;
  /**
   * Starts a run now, unless one is in progress. Resolves when that run has ended, and never
   * rejects.
   */
  run(): Promise<void>;
  /** Whether a stop was requested, so that long work should end early. */
  readonly isStopping: () => boolean;
  /** Starts no further run, and resolves when the current one has ended. */
  stop(): Promise<void>;
}

export interface RepeatParts {
  readonly clock: Pick<Clock, 'after'>;
  /**
   * Time from the start of one run to the start of the next. A run that takes longer skips starts.
   */
  readonly everyMs: number;
  readonly work: (isStopping: () => boolean) => Promise<unknown>;
  /** Called with what a run threw. The next run follows all the same. */
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
