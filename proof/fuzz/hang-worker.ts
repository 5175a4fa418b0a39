import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/** The other thread of hang.ts. What it writes must not go through the thread that hangs. */
const { count, words, patienceMs } = workerData as { count: Int32Array; words: Uint8Array; patienceMs: number };

parentPort?.postMessage('looking on');
for (;;) {
  const seen = Atomics.load(count, 0);
  if (Atomics.wait(count, 0, seen, patienceMs) !== 'timed-out') continue;
  writeSync(2, `no end after ${patienceMs / 1_000} s: ${Buffer.from(words).toString('utf8').trim()}\n`);
  process.kill(process.pid, 'SIGKILL');
}
