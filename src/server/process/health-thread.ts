import cluster from 'node:cluster';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type HealthPort, type HealthSettings, type Pulse, STATES, type State, serveHealth } from './health-port.ts';

/**
 * Who serves the port for health: a thread beside the only process, or the primary process of
 * several.
 */

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

/**
 * A neighbour of this file, with the same extension: `.ts` in a checkout, `.js` in the npm package.
 */
const WORKER = new URL(`./health-worker${extname(import.meta.url)}`, import.meta.url);

// Between two attempts: the port may be taken, and a thread that dies at once must not take all of
// the CPU.
const RESTART_MS = 1_000;

/**
 * `died` is told of a thread that ended although nobody had asked it to. Probes fail until the next
 * one listens.
 */
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
  let isClosing = false;
  let restart: NodeJS.Timeout | undefined;
  let thread = begin(settings, told, ended);
  function ended(thrown: unknown): void {
    if (isClosing) return;
    died(thrown);
    restart = setTimeout(() => {
      thread = begin(settings, told, ended);
      thread.address.catch(() => {}); // it ends then, and `ended` is told
    }, RESTART_MS).unref();
  }
  const address = await thread.address.catch((thrown) => {
    isClosing = true; // whoever starts the service is told instead
    throw thrown;
  });
  return {
    address,
    tell,
    async close() {
      isClosing = true;
      clearTimeout(restart);
      thread.worker.ref();
      thread.worker.postMessage('end');
      await thread.exited;
    },
  };
}

function begin({ healthHost, healthPort }: HealthSettings, told: Int32Array, ended: (thrown: unknown) => void) {
  const worker = new Worker(WORKER, { workerData: { settings: { healthHost, healthPort }, told }, execArgv: [] });
  let failure: unknown;
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', (code) => {
      resolve();
      ended(failure ?? new Error(`The thread ended with code ${code}.`));
    });
  });
  const address = new Promise<string>((resolve, reject) => {
    const fail = (thrown: unknown) => {
      failure = thrown;
      reject(thrown);
    };
    worker.on('error', fail);
    worker.once('message', (message: { address: string } | { failed: Failed }) => {
      if ('failed' in message) fail(Object.assign(new Error(message.failed.message), message.failed));
      else resolve(message.address);
      worker.unref();
    });
  });
  return { worker, exited, address };
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

/** In a worker: tells the primary process. */
export function tellPrimary(state: State, channel: NodeJS.Process = process): void {
  if (channel.connected) channel.send?.({ columbaState: state } satisfies Message, undefined, undefined, () => {});
}

/** In the primary process, which is never busy. */
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
