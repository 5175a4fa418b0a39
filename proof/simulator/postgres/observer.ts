import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Observer } from '../storage.ts';
import type { Answer, Question } from './observer-thread.ts';

/**
 * Reads a PostgreSQL as the observer of SQLite reads a file: at once, before anything else runs. A
 * thread asks the server, and this one waits for it.
 */
export function createObserver(url: () => string): Observer & { close(): void } {
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const { port1: own, port2: port } = new MessageChannel();
  const file = new URL('observer-thread.ts', import.meta.url);
  const thread = new Worker(file, { workerData: { port, signal }, transferList: [port] });
  thread.unref();
  own.unref();

  function ask(text: string, values: readonly unknown[]): Record<string, unknown>[] {
    Atomics.store(signal, 0, 0);
    own.postMessage({ url: url(), text, values } satisfies Question);
    Atomics.wait(signal, 0, 0);
    const answer = receiveMessageOnPort(own)?.message as Answer;
    if ('error' in answer) throw new Error(answer.error);
    return answer.rows;
  }

  const translated = new Map<string, (given: readonly unknown[]) => [string, readonly unknown[]]>();
  return {
    prepare(text) {
      const translate = translated.get(text) ?? translation(text);
      translated.set(text, translate);
      const all = (...given: unknown[]) => ask(...translate(given));
      return { all, get: (...given) => all(...given)[0] };
    },
    close: () => void thread.terminate(),
  };
}

/** `?` and `:name` as PostgreSQL writes parameters. */
function translation(text: string): (given: readonly unknown[]) => [string, readonly unknown[]] {
  const names = [...new Set([...text.matchAll(/(?<!:):([a-z]\w*)/g)].map(([, name]) => name as string))];
  let count = 0;
  const own = text
    .replace(/(?<!:):([a-z]\w*)/g, (_, name: string) => `$${names.indexOf(name) + 1}`)
    .replace(/\?/g, () => `$${++count}`);
  return (given) => [own, names.length > 0 ? names.map((name) => (given[0] as Record<string, unknown>)[name]) : given];
}
