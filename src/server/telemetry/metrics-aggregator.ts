import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';

/** The metrics of all workers together. They are asked, and the first process adds up what they say. */
type Snapshot = MetricObjectWithValues<MetricValue<string>>[];

interface Message {
  readonly columbaMetrics?: 'asked' | 'told';
  readonly snapshot?: Snapshot;
}

/** In a worker: tells its metrics when it is asked, and once more when it ends. */
export function tellMetrics(registry: Registry, channel: NodeJS.Process = process): { last(): Promise<void> } {
  const tell = async () => {
    const snapshot = await registry.getMetricsAsJSON();
    const message: Message = { columbaMetrics: 'told', snapshot };
    await new Promise<void>((resolve) => {
      if (channel.connected) channel.send?.(message, undefined, undefined, () => resolve());
      else resolve();
    });
  };
  channel.on('message', ({ columbaMetrics }: Message) => {
    if (columbaMetrics === 'asked') tell().catch(() => {});
  });
  return { last: tell };
}

// Prometheus gives up after 10 s. One that does not answer in time is there with what it said last.
const ANSWER_TIMEOUT_MS = 2_000;

/** In the first process. What workers counted that are gone stays in the sums, which must not go down. */
export function gatherMetrics(): () => Promise<string> {
  const latest = new Map<number, Snapshot>();
  const answered = new Map<number, () => void>();
  let gone: Snapshot = [];
  let burials = Promise.resolve();

  cluster.on('message', (worker, { columbaMetrics, snapshot }: Message) => {
    if (columbaMetrics !== 'told' || !snapshot) return;
    latest.set(worker.id, snapshot);
    answered.get(worker.id)?.();
  });
  cluster.on('exit', ({ id }) => {
    const last = latest.get(id);
    latest.delete(id);
    answered.get(id)?.();
    if (last) burials = burials.then(() => bury(last));
  });

  async function bury(last: Snapshot): Promise<void> {
    const sums = last.filter(({ type }) => (type as unknown as string) !== 'gauge');
    gone = await AggregatorRegistry.aggregate([gone, sums]).getMetricsAsJSON();
  }

  function ask(worker: Worker): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ANSWER_TIMEOUT_MS);
      answered.set(worker.id, () => {
        clearTimeout(timer);
        answered.delete(worker.id);
        resolve();
      });
      worker.send({ columbaMetrics: 'asked' } satisfies Message, () => {});
    });
  }

  async function gather(): Promise<string> {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected());
    await Promise.all(workers.map((worker) => ask(worker as Worker)));
    await burials;
    return AggregatorRegistry.aggregate([...latest.values(), gone]).metrics();
  }

  let gathering: Promise<string> | undefined;
  return () => {
    gathering ??= gather().finally(() => {
      gathering = undefined;
    });
    return gathering;
  };
}
