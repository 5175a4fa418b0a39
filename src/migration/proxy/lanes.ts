/**
 * Work in lanes: that of one lane is done in its order, and several lanes at once. The number and
 * the bytes of what waits are limited.
 */
export interface Lanes {
  /** False where there is no room: the work is not done. */
  offer(lane: string, bytes: number, work: () => Promise<void>): boolean;
  /** Waits for its turn in the lane, whatever waits elsewhere. */
  run<T>(lane: string, work: () => Promise<T>): Promise<T>;
  readonly waiting: number;
  /** When all that waits now is done. */
  idle(): Promise<void>;
}

export interface LaneLimits {
  readonly itemsMax: number;
  readonly bytesMax: number;
  /** How many lanes work at once. */
  readonly concurrency: number;
}

interface Item {
  readonly bytes: number;
  readonly work: () => Promise<void>;
}

export function createLanes({ itemsMax, bytesMax, concurrency }: LaneLimits, failed: (thrown: unknown) => void): Lanes {
  const lanes = new Map<string, Item[]>();
  /** Lanes with work, in the order in which they get their turn. */
  const ready: string[] = [];
  let working = 0;
  let items = 0;
  let bytes = 0;
  let idlers: (() => void)[] = [];

  function push(lane: string, item: Item): void {
    items += 1;
    bytes += item.bytes;
    const queue = lanes.get(lane);
    if (queue) queue.push(item);
    else {
      lanes.set(lane, [item]);
      ready.push(lane);
    }
    // Not in the turn of the client's request.
    if (working < concurrency) setImmediate(next);
  }

  function next(): void {
    if (working >= concurrency) return;
    const lane = ready.shift();
    if (lane === undefined) return;
    working += 1;
    const [item] = lanes.get(lane) as Item[];
    (item as Item)
      .work()
      .catch(failed)
      .finally(() => {
        working -= 1;
        items -= 1;
        bytes -= (item as Item).bytes;
        const queue = lanes.get(lane) as Item[];
        queue.shift();
        if (queue.length > 0) ready.push(lane);
        else lanes.delete(lane);
        if (items === 0) {
          for (const wake of idlers) wake();
          idlers = [];
        }
        setImmediate(next);
      });
    if (ready.length > 0 && working < concurrency) setImmediate(next);
  }

  return {
    offer(lane, size, work) {
      if (items >= itemsMax || bytes + size > bytesMax) return false;
      push(lane, { bytes: size, work });
      return true;
    },
    run: (lane, work) =>
      new Promise((resolve, reject) => {
        push(lane, { bytes: 0, work: () => work().then(resolve, reject) });
      }),
    get waiting() {
      return items;
    },
    idle: () => (items === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
  };
}
