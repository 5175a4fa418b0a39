import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';

/** Aggregates the metrics of all workers in the primary process. */
type Snapshot = MetricObjectWithValues<MetricValue<string>>[];

interface Message {
  readonly columbaMetrics?: 'request' | 'snapshot';
  readonly snapshot?: Snapshot;
}

/** In a worker: sends its metrics when the primary asks, and once more when it ends. */
export function reportMetrics(registry: Registry, channel: NodeJS.Process = process): { last(): Promise<void> } {
  const report = async () => {
    const snapshot = await registry.getMetricsAsJSON();
    const message: Message = { columbaMetrics: 'snapshot', snapshot };
    await new Promise<void>((resolve) => {
      if (channel.connected) channel.send?.(message, undefined, undefined, () => resolve());
      else resolve();
    });
  };
  channel.on('message', ({ columbaMetrics }: Message) => {
    if (columbaMetrics === 'request') report().catch(() => {});
  });
  return { last: report };
}

// Prometheus gives up after 10 s. For a worker that does not answer, its last metrics count.
const ANSWER_TIMEOUT_MS = 2_000;

/**
 * Runs in the primary, and includes what the primary itself counts. Counters of ended workers stay
 * in the sums, because a counter must never decrease.
 */
export function aggregateMetrics(clock: Pick<Clock, 'after'>, own: () => Promise<Snapshot>): () => Promise<string> {
  const latest = new Map<number, Snapshot>();
  const answered = new Map<number, () => void>();
  let retired: Snapshot = [];
  let retiring = Promise.resolve();

  cluster.on('message', (worker, { columbaMetrics, snapshot }: Message) => {
    if (columbaMetrics !== 'snapshot' || !snapshot) return;
    latest.set(worker.id, snapshot);
    answered.get(worker.id)?.();
  });
  cluster.on('exit', ({ id }) => {
    const last = latest.get(id);
    latest.delete(id);
    answered.get(id)?.();
    if (last) retiring = retiring.then(() => addToRetired(last));
  });

  async function addToRetired(last: Snapshot): Promise<void> {
    const sums = last.filter(({ type }) => (type as unknown as string) !== 'gauge');
    retired = await AggregatorRegistry.aggregate([retired, sums]).getMetricsAsJSON();
  }

  function ask(worker: Worker): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ANSWER_TIMEOUT_MS, resolve);
      answered.set(worker.id, () => {
        cancel();
        answered.delete(worker.id);
        resolve();
      });
      worker.send({ columbaMetrics: 'request' } satisfies Message, () => {});
    });
  }

  async function aggregate(): Promise<string> {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected());
    await Promise.all(workers.map((worker) => ask(worker as Worker)));
    await retiring;
    return AggregatorRegistry.aggregate([...latest.values(), retired, await own()]).metrics();
  }

  let aggregating: Promise<string> | undefined;
  return () => {
    aggregating ??= aggregate().finally(() => {
      aggregating = undefined;
    });
    return aggregating;
  };
}
