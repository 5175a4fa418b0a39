import { parentPort, workerData } from 'node:worker_threads';
import { type ComparingSettings, createInlineWork, type Task } from './comparing.ts';

/** The thread that compares and redacts long answers. */

const work = createInlineWork(workerData as ComparingSettings);

const done = (task: Task): unknown =>
  task.kind === 'compare' ? work.compare(task.call, task.old, task.ours) : work.line(task.observed);

parentPort?.on('message', ({ id, task }: { id: number; task: Task }) => {
  try {
    parentPort?.postMessage({ id, value: done(task) });
  } catch (thrown) {
    // The message of the error may hold what was compared, so only its name is passed on.
    parentPort?.postMessage({ id, error: `${(thrown as Error).name} while comparing` });
  }
});
