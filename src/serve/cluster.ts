import cluster from 'node:cluster';
import { once } from 'node:events';
import { createSupervisor, type Supervisor, type SupervisorParts } from './child-process.ts';
import { answerQuestions } from './worker-channel.ts';

/**
 * Worker processes that share the port. The primary process serves no calls. On SIGHUP it restarts
 * the workers one after the other, so that some always serve.
 */
export const createCluster = (
  count: number,
  { log, clock }: Pick<SupervisorParts, 'log' | 'clock'>,
  answer: (question: unknown) => unknown,
): Supervisor =>
  createSupervisor({
    name: 'a worker',
    count,
    overlaps: true,
    log,
    clock,
    begin() {
      const worker = cluster.fork();
      answerQuestions(worker, answer);
      return { process: worker.process, serves: once(worker, 'listening') };
    },
  });
