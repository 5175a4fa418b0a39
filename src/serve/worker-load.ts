/**
 * How busy the workers are. Each reports to the primary while it answers calls, and the primary
 * reports to the web process, which sends messages at the same time.
 */
export interface WorkerLoad {
  /** The share of the time in which the event loop was idle, from 0 to 1. */
  readonly idle: number;
  /** Bytes sent to clients since the last report. */
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
/** Idle and active time of an event loop since its start, as perf_hooks measures them. */
export type Utilization = () => { readonly idle: number; readonly active: number };

export const REPORT_MS = 100;
// After this time without a report, a worker counts as idle.
const OUTDATED_MS = 3 * REPORT_MS;

/** Ignores errors, because the other process may have ended. */
export function tellLoad(channel: Channel, columbaLoad: WorkerLoad): void {
  if (channel.connected) channel.send?.({ columbaLoad }, () => {});
}

export function onLoad(receiver: Receiver, listener: (load: WorkerLoad) => void): void {
  receiver.on('message', ({ columbaLoad }) => {
    if (columbaLoad !== undefined) listener(columbaLoad);
  });
}

/** Runs in a worker, every REPORT_MS. Undefined if no answer was sent since the last time. */
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

/** Runs in the primary: the mean of all workers. A worker that does not report counts as idle. */
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

/** Runs in the web process: for how long the workers were idle, and how many bytes they sent. */
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
