import type { Worker } from 'node:cluster';
import type { Clock } from '../base/clock.ts';

/** The messages by which workers ask the primary process what all of them share. */
interface Message {
  readonly columbaQuestion?: number;
  readonly content?: unknown;
}

/** In the primary process: answers the questions of a worker. */
export function answerQuestions(worker: Worker, answer: (question: unknown) => unknown): void {
  worker.on('message', ({ columbaQuestion, content }: Message) => {
    if (columbaQuestion === undefined || !worker.isConnected()) return;
    worker.send({ columbaQuestion, content: answer(content) } satisfies Message, () => {}); // the worker may have ended
  });
}

// Normally the primary answers within a millisecond.
const ANSWER_TIMEOUT_MS = 1_000;

/** In a worker: asks the primary. The answer is undefined if the primary does not answer. */
export function createAskPrimary(
  clock: Pick<Clock, 'after'>,
  channel: NodeJS.Process = process,
): (question: unknown) => Promise<unknown> {
  const waiting = new Map<number, (answer: unknown) => void>();
  let last = 0;
  channel.on('message', ({ columbaQuestion, content }: Message) => {
    if (columbaQuestion !== undefined) waiting.get(columbaQuestion)?.(content);
  });
  return (question) => {
    if (!channel.connected) return Promise.resolve(undefined);
    const number = ++last;
    return new Promise((resolve) => {
      const done = (answer: unknown) => {
        cancel();
        waiting.delete(number);
        resolve(answer);
      };
      const cancel = clock.after(ANSWER_TIMEOUT_MS, () => done(undefined));
      waiting.set(number, done);
      channel.send?.({ columbaQuestion: number, content: question } satisfies Message, () => {});
    });
  };
}
