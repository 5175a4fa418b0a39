import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/**
 * Tells of an input that keeps the process busy for ever: nothing in the process itself could, so another thread looks on and
 * ends it.
 */
export interface HangWatch {
  /** The next input is this one, in words. */
  next(words: string): void;
  stop(): Promise<unknown>;
}

/** Longer than making a finding small may take. */
const PATIENCE_MS = 180_000;
const WORDS_MAX = 500;

export async function createHangWatch(patienceMs = PATIENCE_MS): Promise<HangWatch> {
  const count = new Int32Array(new SharedArrayBuffer(4));
  const words = new Uint8Array(new SharedArrayBuffer(WORDS_MAX));
  const worker = new Worker(new URL('./hang-worker.ts', import.meta.url), {
    workerData: { count, words, patienceMs },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  await once(worker, 'message'); // it looks on from now
  worker.unref();
  return {
    next(text) {
      words.fill(0x20);
      words.set(Buffer.from(text).subarray(0, WORDS_MAX));
      Atomics.add(count, 0, 1);
      Atomics.notify(count, 0);
    },
    stop: () => worker.terminate(),
  };
}
