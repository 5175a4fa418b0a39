import { connect } from 'node:net';
import { pathToFileURL } from 'node:url';
import { slowness, usedCpu } from './machine.ts';

/**
 * What one request costs the process that serves it: CPU of its main thread, as the machine of machine.ts would
 * take it.
 */
export interface Cost {
  readonly status: number;
  /** Of the longest turn of the event loop: so long others wait. */
  readonly holdMs: number;
  /** From the first byte of the request to the end of the connection. */
  readonly cpuMs: number;
}

const CLOSED = 0;

/**
 * The request is sent as it is, on a connection of its own, twice: the turns of the event loop are
 * seen only by a loop that never rests, and that one would count as CPU of a request that waits for
 * another thread, such as a sign-in. The status is 0 where none came.
 */
export async function costOf(address: string, request: Uint8Array): Promise<Cost> {
  const times = slowness();
  const before = usedCpu();
  const status = await statusOf(address, request);
  const cpuMs = (usedCpu() - before) / times / 1_000;
  return { status, holdMs: await longestTurnMs(() => statusOf(address, request)), cpuMs };
}

/** CPU of the longest turn of the event loop while the work is done. */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  const times = slowness();
  let isRunning = true;
  let most = 0;
  let last = usedCpu();
  const turn = () => {
    const at = usedCpu();
    most = Math.max(most, at - last);
    last = at;
    if (isRunning) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isRunning = false;
  return most / times / 1_000;
}

/** The least of several runs: whatever disturbs, such as the collector of garbage, makes it more. */
export async function leastCost(address: string, request: Uint8Array, runs: number, enoughMs: number): Promise<Cost> {
  let least = await costOf(address, request);
  for (let run = 1; run < runs && Math.max(least.holdMs, least.cpuMs) > enoughMs; run += 1) {
    const { status, holdMs, cpuMs } = await costOf(address, request);
    least = { status, holdMs: Math.min(holdMs, least.holdMs), cpuMs: Math.min(cpuMs, least.cpuMs) };
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
