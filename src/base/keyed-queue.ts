import { afterPoll } from './event-loop.ts';

/**
 * Runs work by key: work of one key in order, and work of different keys concurrently. The number
 * and the bytes of waiting items are limited.
 */
export interface KeyedQueue {
  /** False if there is no room; the work is then not done. */
  offer(key: string, bytes: number, work: () => Promise<void>): boolean;
  /** Waits for its turn among the work of its key, independently of other keys. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  readonly waiting: number;
  /** Resolves when everything that waits now is done. */
  idle(): Promise<void>;
}

export interface QueueLimits {
  readonly itemsMax: number;
  readonly bytesMax: number;
  /** How many keys may work at the same time. */
  readonly concurrency: number;
}

interface Item {
  readonly bytes: number;
  readonly work: () => Promise<void>;
}

export function createKeyedQueue(
  { itemsMax, bytesMax, concurrency }: QueueLimits,
  failed: (thrown: unknown) => void,
): KeyedQueue {
  const queues = new Map<string, Item[]>();
  /** Keys with work, in the order in which they get their turn. */
  const ready: string[] = [];
  let working = 0;
  let items = 0;
  let bytes = 0;
  let idlers: (() => void)[] = [];

  function push(key: string, item: Item): void {
    items += 1;
    bytes += item.bytes;
    const queue = queues.get(key);
    if (queue) queue.push(item);
    else {
      queues.set(key, [item]);
      ready.push(key);
    }
    // The work starts after the event-loop turn of the client's request.
    if (working < concurrency) afterPoll(next);
  }

  function next(): void {
    if (working >= concurrency) return;
    const key = ready.shift();
    if (key === undefined) return;
    working += 1;
    const [item] = queues.get(key) as Item[];
    (item as Item)
      .work()
      .catch(failed)
      .finally(() => {
        working -= 1;
        items -= 1;
        bytes -= (item as Item).bytes;
        const queue = queues.get(key) as Item[];
        queue.shift();
        if (queue.length > 0) ready.push(key);
        else queues.delete(key);
        if (items === 0) {
          for (const wake of idlers) wake();
          idlers = [];
        }
        afterPoll(next);
      });
    if (ready.length > 0 && working < concurrency) afterPoll(next);
  }

  return {
    offer(key, size, work) {
      if (items >= itemsMax || bytes + size > bytesMax) return false;
      push(key, { bytes: size, work });
      return true;
    },
    run: (key, work) =>
      new Promise((resolve, reject) => {
        push(key, { bytes: 0, work: () => work().then(resolve, reject) });
      }),
    get waiting() {
      return items;
    },
    idle: () => (items === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
  };
}

/** Work of one key runs one after the other, and starts at once if none is in progress. */
export function createTurns<K>(): <T>(key: K, work: () => Promise<T>) => Promise<T> {
  const lasts = new Map<K, Promise<unknown>>();
  return (key, work) => {
    const done = (lasts.get(key) ?? Promise.resolve()).then(work, work);
    lasts.set(key, done);
    const forget = () => {
      if (lasts.get(key) === done) lasts.delete(key);
    };
    done.then(forget, forget);
    return done;
  };
}
