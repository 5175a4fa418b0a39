/**
 * How busy the workers are. Each tells the primary while it answers calls. The primary tells the
 * operator's process, which sends messages beside them.
 */
export interface WorkerLoad {
  /** The share of the time in which the event loop was idle, from 0 to 1. */
  readonly idle: number;
  /** To clients, since the last report. */
  readonly bytesSent: number;
}
interface Message {
  readonly columbaLoad?: WorkerLoad;
}
/** A channel to another process: `process`, a worker or a child. */
interface Channel {
  readonly connected?: boolean;
  send?(message: Message, callback: () => void): boolean;
}
interface Receiver {
  on(event: 'message', listener: (message: Message) => void): unknown;
}
/** Of an event loop since its start, as perf_hooks measures it. */
export type Utilization = () => { readonly idle: number; readonly active: number };

export const REPORT_MS = 100;
// After so long without a report no calls come.
const OUTDATED_MS = 3 * REPORT_MS;

/** The other process may end meanwhile. */
export function tellLoad(channel: Channel, columbaLoad: WorkerLoad): void {
  if (channel.connected) channel.send?.({ columbaLoad }, () => {});
}

export function onLoad(receiver: Receiver, listener: (load: WorkerLoad) => void): void {
  receiver.on('message', ({ columbaLoad }) => {
    if (columbaLoad !== undefined) listener(columbaLoad);
  });
}

/** In a worker, every REPORT_MS. Undefined where no answer was sent since the last time. */
export function createLoadMeter(bytesSent: () => number, utilization: Utilization): () => WorkerLoad | undefined {
  let sentBefore = bytesSent();
  let before = utilization();
  return () => {
    const sent = bytesSent() - sentBefore;
    const { idle, active } = utilization();
    const [idleMs, activeMs] = [idle - before.idle, active - before.active];
    sentBefore += sent;
    before = { idle, active };
    return sent > 0 ? { idle: idleMs / Math.max(idleMs + activeMs, 1), bytesSent: sent } : undefined;
  };
}

/** In the primary: the mean of all workers. One that does not report is idle. */
export function createWorkersLoad(workers: number, monotonicMs: () => number) {
  const reports = new Map<number, { readonly idle: number; readonly at: number }>();
  return (worker: number, { idle, bytesSent }: WorkerLoad): WorkerLoad => {
    const at = monotonicMs();
    reports.set(worker, { idle, at });
    let busy = 0;
    for (const [id, report] of reports) {
      if (at - report.at > OUTDATED_MS) reports.delete(id);
      else busy += 1 - report.idle;
    }
    return { idle: Math.max(0, 1 - busy / workers), bytesSent };
  };
}

/** In the operator's process: for how long the workers were idle, and what they sent. */
export function createFollowedLoad(monotonicMs: () => number) {
  let idle = 1;
  let idleMs = 0;
  let countedAt = monotonicMs();
  let reportedAt = Number.NEGATIVE_INFINITY;
  let sent = 0;

  function count(): void {
    const at = monotonicMs();
    const isOutdated = at - reportedAt > OUTDATED_MS;
    idleMs += (isOutdated ? 1 : idle) * (at - countedAt);
    countedAt = at;
  }
  return {
    report(load: WorkerLoad): void {
      count();
      idle = load.idle;
      sent += load.bytesSent;
      reportedAt = monotonicMs();
    },
    bytesSent: (): number => sent,
    idleMs(): number {
      count();
      return idleMs;
    },
  };
}
