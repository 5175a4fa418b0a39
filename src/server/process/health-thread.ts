import cluster from 'node:cluster';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type HealthPort, type HealthSettings, type Pulse, STATES, type State, serveHealth } from './health-port.ts';

/** Who serves the port for health: a thread beside the only process, or the first process of several. */

/** Of a clock that all threads of a process share, in the 32 bits that differences need. */
export const milliseconds = (): number => Number(process.hrtime.bigint() / 1_000_000n) | 0;

/** Why it cannot listen. */
export interface Failed {
  readonly message: string;
  readonly code?: string;
  readonly port?: number;
}

export interface HealthThread extends HealthPort {
  tell(state: State): void;
}

/** A neighbour of this file, with the same extension: `.ts` in a checkout, `.js` in the npm package. */
const WORKER = new URL(`./health-worker${extname(import.meta.url)}`, import.meta.url);

/** `died` is told of a thread that ended although nobody had asked it to: then the port is closed, and probes fail. */
export async function startHealthThread(
  settings: HealthSettings,
  died: (thrown: unknown) => void,
): Promise<HealthThread> {
  const told = new Int32Array(new SharedArrayBuffer(8));
  const tell = (state: State) => {
    Atomics.store(told, 0, STATES.indexOf(state));
    Atomics.store(told, 1, milliseconds());
  };
  tell('starting');
  const { healthHost, healthPort } = settings;
  const worker = new Worker(WORKER, { workerData: { settings: { healthHost, healthPort }, told }, execArgv: [] });
  let isClosing = false;
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const address = await new Promise<string>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (message: { address: string } | { failed: Failed }) =>
      'failed' in message
        ? reject(Object.assign(new Error(message.failed.message), message.failed))
        : resolve(message.address),
    );
  });
  let failure: unknown;
  worker.on('error', (thrown) => {
    failure = thrown;
  });
  worker.once('exit', (code) => {
    if (!isClosing) died(failure ?? new Error(`The thread ended with code ${code}.`));
  });
  worker.unref();
  return {
    ...{ address, tell },
    async close() {
      isClosing = true;
      worker.ref();
      worker.postMessage('end');
      await exited;
    },
  };
}

const BEAT_MS = 200;
const CHECK_MS = 1_000;

/** Says again and again that the event loop turns, and how the last check went. */
export function startBeating(check: () => Promise<State>, tell: (state: State) => void) {
  let state: State = 'starting';
  let beats = 0;
  let isChecking = false;
  function beat(): void {
    tell(state);
    if (isChecking || beats++ % (CHECK_MS / BEAT_MS) !== 0) return;
    isChecking = true;
    check().then((checked) => {
      isChecking = false;
      if (state !== checked) tell(checked);
      state = checked;
    });
  }
  const timer = setInterval(beat, BEAT_MS).unref();
  beat();
  return {
    /** Says that it stops, and goes on saying so. */
    stopping(): void {
      state = 'stopping';
      tell(state);
    },
    end: () => clearInterval(timer),
  };
}

interface Message {
  readonly columbaState?: State;
}

/** In a worker: tells the first process. */
export function tellFirst(state: State, channel: NodeJS.Process = process): void {
  if (channel.connected) channel.send?.({ columbaState: state } satisfies Message, undefined, undefined, () => {});
}

/** In the first process, which is never busy. */
export function serveHealthOfWorkers(settings: HealthSettings): Promise<HealthPort> {
  const latest = new Map<number, { readonly state: State; readonly at: number }>();
  cluster.on('message', ({ id }, { columbaState: state }: Message) => {
    if (state) latest.set(id, { state, at: performance.now() });
  });
  cluster.on('exit', ({ id }) => latest.delete(id));
  const pulses = (): Pulse[] => {
    const now = performance.now();
    const told = [...latest.values()].map(({ state, at }) => ({ state, lagMs: now - at }));
    // Until one has spoken, the workers start.
    return told.length > 0 ? told : [{ state: 'starting', lagMs: 0 }];
  };
  return serveHealth(settings, pulses);
}
