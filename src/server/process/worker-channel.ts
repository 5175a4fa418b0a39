import type { Worker } from 'node:cluster';

/** Questions of the workers to the first process, for what they have to know together. */
interface Message {
  readonly columbaQuestion?: number;
  readonly content?: unknown;
}

/** Answers the questions of a worker. */
export function answerQuestions(worker: Worker, answer: (question: unknown) => unknown): void {
  worker.on('message', ({ columbaQuestion, content }: Message) => {
    if (columbaQuestion === undefined || !worker.isConnected()) return;
    worker.send({ columbaQuestion, content: answer(content) } satisfies Message, () => {}); // it may end meanwhile
  });
}

// The first process answers within a millisecond, unless it hangs.
const ANSWER_TIMEOUT_MS = 1_000;

/** Asks the first process. Undefined where it does not answer: then every worker is for itself. */
export function createAsking(channel: NodeJS.Process = process): (question: unknown) => Promise<unknown> {
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
        clearTimeout(timer);
        waiting.delete(number);
        resolve(answer);
      };
      const timer = setTimeout(done, ANSWER_TIMEOUT_MS, undefined);
      waiting.set(number, done);
      channel.send?.({ columbaQuestion: number, content: question } satisfies Message, () => {});
    });
  };
}
