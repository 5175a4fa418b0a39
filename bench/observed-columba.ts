import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Columba, type ColumbaOptions, startColumba } from './columba.ts';
import { memoryBytes, peakBytes, resetPeak } from './proc.ts';

/** Columba, and what goes on inside while it works. */
export interface ObservedColumba extends Columba {
  /** Does it, and says what that took: the longest hold of the event loop, and the most memory. */
  during<T>(work: () => Promise<T>): Promise<{ result: T; heldUpMs: number; grownBytes: number }>;
}

// The first look after the request only sets the value from which the next one counts.
const SETTLE_MS = 10;

const WATCH = new URL('servers/watch.ts', import.meta.url).href;

export async function startObserved(options: ColumbaOptions): Promise<ObservedColumba> {
  const columba = await startColumba({ ...options, node: ['--import', WATCH], messages: true });
  const { child, pid } = columba;
  const heldUpMs = async (): Promise<number> => {
    const answer = once(child, 'message');
    child.send('tell');
    const [{ maxMs }] = await answer;
    return maxMs;
  };
  return {
    ...columba,
    async during(work) {
      await heldUpMs();
      await sleep(SETTLE_MS);
      resetPeak(pid);
      const before = memoryBytes([pid]);
      const result = await work();
      return { result, heldUpMs: await heldUpMs(), grownBytes: peakBytes(pid) - before };
    },
  };
}
