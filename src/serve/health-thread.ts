import cluster from 'node:cluster';
import type { Clock } from '../base/clock.ts';
import { startThread } from '../base/program-files.ts';
import { createRepeat } from '../base/repeat.ts';
import { type HealthPort, type HealthSettings, type Pulse, STATES, type State, serveHealth } from './health-port.ts';
import type { Log } from './telemetry/log.ts';

/**
 * A thread of the single process serves the health port. With workers the primary process serves
 * it.
 */

/**
 * A monotonic clock that all threads of a process share, cut to 32 bits, which is enough for
 * differences. It is not passed in, because a clock cannot be passed to a thread.
 */
export const milliseconds = (): number => Number(process.hrtime.bigint() / 1_000_000n) | 0;

/** The reason why the thread cannot listen. */
export interface Failed {
  readonly message: string;
  readonly code?: string;
  readonly port?: number;
  readonly address?: string;
  readonly hostname?: string;
}

export interface HealthThread extends HealthPort {
  tell(state: State): void;
}

// The delay before a restart. The port may be taken, and a thread that dies at once must not use a
// whole core.
const RESTART_MS = 1_000;

/**
 * Calls `died` when the thread ends by itself, and starts another one. Probes fail until it
 * listens.
 */
export async function startHealthThread(
  settings: HealthSettings,
  clock: Pick<Clock, 'after'>,
  died: (thrown: unknown) => void,
): Promise<HealthThread> {
  const told = new Int32Array(new SharedArrayBuffer(8));
  const tell = (state: State) => {
    Atomics.store(told, 0, STATES.indexOf(state));
    Atomics.store(told, 1, milliseconds());
  };
  tell('starting');
  let isClosing = false;
  let cancelRestart = () => {};
  // The caller gets the error of a first thread that cannot listen, and nothing is restarted.
  let thread = begin(settings, told, (thrown, hasListened) => hasListened && ended(thrown));
  function ended(thrown: unknown): void {
    if (isClosing) return;
    died(thrown);
    const startAgain = () => {
      thread = begin(settings, told, ended);
      thread.address.catch(() => {}); // the thread then ends, and `ended` is called
    };
    cancelRestart = clock.after(RESTART_MS, startAgain, { background: true });
  }
  const address = await thread.address;
  return {
    address,
    tell,
    async close() {
      isClosing = true;
      cancelRestart();
      thread.worker.ref();
      thread.worker.postMessage('end');
      await thread.exited;
    },
  };
}

type Ended = (thrown: unknown, hasListened: boolean) => void;

/**
 * When a thread exits, Node delivers its last message and its exit in one tick, so `ended` is told
 * here, and not by a promise, whether the thread has listened.
 */
function begin({ healthHost, healthPort }: HealthSettings, told: Int32Array, ended: Ended) {
  const worker = startThread('serve/health-worker', {
    workerData: { settings: { healthHost, healthPort }, told },
    execArgv: [],
  });
  const { promise: exited, resolve: exit } = Promise.withResolvers<void>();
  const { promise: address, resolve, reject } = Promise.withResolvers<string>();
  let failure: unknown;
  let hasListened = false;
  worker.on('error', (thrown) => {
    failure = thrown;
  });
  worker.once('message', (message: { address: string } | { failed: Failed }) => {
    worker.unref();
    if ('failed' in message) {
      failure = Object.assign(new Error(message.failed.message), message.failed);
      reject(failure);
    } else {
      hasListened = true;
      resolve(message.address);
    }
  });
  worker.once('exit', (code) => {
    exit();
    failure ??= new Error(`The thread ended with code ${code}.`);
    reject(failure);
    ended(failure, hasListened);
  });
  return { worker, exited, address };
}

const BEAT_MS = 200;
const CHECK_MS = 1_000;

/** Reports the state five times a second, and checks the database once a second. */
export function startHeartbeat(clock: Pick<Clock, 'after'>, check: () => Promise<State>, tell: (state: State) => void) {
  let state: State = 'starting';
  let count = 0;
  let isChecking = false;
  async function beat(): Promise<void> {
    tell(state);
    if (isChecking || count++ % (CHECK_MS / BEAT_MS) !== 0) return;
    isChecking = true;
    check().then((checked) => {
      isChecking = false;
      if (state !== checked) tell(checked);
      state = checked;
    });
  }
  const beats = createRepeat({ clock, everyMs: BEAT_MS, atOnce: true, work: beat, failed: () => {} });
  beats.start();
  return {
    /** Reports `stopping` from now on. */
    stopping(): void {
      state = 'stopping';
      tell(state);
    },
    end: beats.stop,
  };
}

interface Message {
  readonly columbaState?: State;
}

/** In a worker: reports the state to the primary process. */
export function tellPrimary(state: State, channel: NodeJS.Process = process): void {
  if (channel.connected) channel.send?.({ columbaState: state } satisfies Message, undefined, undefined, () => {});
}

/** Runs in the primary process, which serves no calls and is therefore never busy. */
export function serveHealthOfWorkers(
  settings: HealthSettings,
  { monotonic }: Pick<Clock, 'monotonic'>,
): Promise<HealthPort> {
  const latest = new Map<number, { readonly state: State; readonly at: number }>();
  cluster.on('message', ({ id }, { columbaState: state }: Message) => {
    if (state) latest.set(id, { state, at: monotonic() });
  });
  cluster.on('exit', ({ id }) => latest.delete(id));
  const pulses = (): Pulse[] => {
    const now = monotonic();
    const told = [...latest.values()].map(({ state, at }) => ({ state, lagMs: now - at }));
    // The workers are starting until one has reported.
    return told.length > 0 ? told : [{ state: 'starting', lagMs: 0 }];
  };
  return serveHealth(settings, pulses);
}

/** The health port. A worker reports to the primary process, which has the port. */
export function createHealthReporting(
  settings: HealthSettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  state: () => Promise<State>,
) {
  let thread: HealthThread | undefined;
  let heartbeat: ReturnType<typeof startHeartbeat> | undefined;
  return {
    async start(): Promise<void> {
      if (!cluster.isWorker) {
        thread = await startHealthThread(settings, clock, (err) => log.error({ err }, 'the thread for health died'));
        log.info({ health: thread.address }, 'serving health');
      }
      heartbeat = startHeartbeat(clock, state, thread?.tell ?? tellPrimary);
    },
    stopping: () => heartbeat?.stopping(),
    async close(): Promise<void> {
      await heartbeat?.end();
      await thread?.close();
    },
  };
}
