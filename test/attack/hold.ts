import { connect } from 'node:net';
import { pathToFileURL } from 'node:url';

/** What one request costs the process that serves it, in CPU of its main thread, which other programs do not disturb. */
export interface Cost {
  readonly status: number;
  /** Of the longest turn of the event loop: so long others wait. */
  readonly holdMs: number;
  /** Of all turns that took longer than a tenth of a millisecond. */
  readonly cpuMs: number;
}

const NOISE_US = 100;
const CLOSED = 0;

/** The request is sent as it is, on a connection of its own. The status is 0 where none came. */
export async function costOf(address: string, request: Uint8Array): Promise<Cost> {
  let isRunning = true;
  let most = 0;
  let sum = 0;
  const now = () => {
    const { user, system } = process.threadCpuUsage();
    return user + system;
  };
  let last = now();
  const turn = () => {
    const at = now();
    const took = at - last;
    last = at;
    most = Math.max(most, took);
    if (took > NOISE_US) sum += took;
    if (isRunning) setImmediate(turn);
  };
  setImmediate(turn);
  const status = await statusOf(address, request);
  isRunning = false;
  return { status, holdMs: most / 1_000, cpuMs: sum / 1_000 };
}

/** The least of several runs: whatever disturbs, such as the collector of garbage, makes it more. */
export async function leastCost(address: string, request: Uint8Array, runs: number, enoughMs: number): Promise<Cost> {
  let least = await costOf(address, request);
  for (let run = 1; run < runs && least.holdMs > enoughMs; run += 1) {
    const cost = await costOf(address, request);
    if (cost.holdMs < least.holdMs) least = cost;
  }
  return least;
}

function statusOf(address: string, request: Uint8Array): Promise<number> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    let status = CLOSED;
    socket.on('connect', () => socket.write(request));
    socket.on('data', (chunk) => {
      if (status === CLOSED) status = Number(chunk.toString('latin1', 9, 12));
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(status));
  });
}

export const isMain = (url: string): boolean => url === pathToFileURL(process.argv[1] ?? '').href;
