import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Processes and folders of a run. However it ends, nothing of them stays behind. */
export interface Running {
  readonly port: number;
  /** Every process that has part in answering. */
  pids(): number[];
  stop(): Promise<void>;
}

const children = new Set<ChildProcess>();
const folders = new Set<string>();

process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) removeFolder(folder);
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'columba-bench-'));
  folders.add(folder);
  return folder;
}

/** Again and again, as long as a process that was just killed still writes into it. */
export const removeFolder = (folder: string): void =>
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });

export interface Launch {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it is talked with by messages. */
  readonly messages?: boolean;
  readonly output?: 'pipe' | 'ignore';
}

/** A program of ours on this Node. */
export function launch({ args, env, messages = false, output = 'ignore' }: Launch): ChildProcess {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', output, 'inherit', ...(messages ? (['ipc'] as const) : [])],
  });
  return track(child);
}

/** Is ended with the program, if not before. */
export function track(child: ChildProcess): ChildProcess {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Politely; one that takes its time over it is ended. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  child.kill(signal);
  await ended;
  clearTimeout(timer);
}

/** Ends what still runs. A program that measures is over then. */
export async function endAll(): Promise<void> {
  await Promise.all([...children].map((child) => end(child)));
}

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

const START_MS_MAX = 120_000;

/** Until a look at it says yes; throws where the process ends before, or takes too long. */
export async function untilReady(child: ChildProcess, look: () => Promise<boolean>, everyMs = 20): Promise<void> {
  for (const until = Date.now() + START_MS_MAX; !(await look()); await sleep(everyMs)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    if (Date.now() > until) throw new Error('it did not start');
  }
}

/** Whether the answer to a GET is a 200. The connection is made by hand: the first fetch takes 30 ms. */
export const answers = (port: number, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('data', (bytes) => {
      resolve(bytes.toString('latin1').startsWith('HTTP/1.1 200'));
      socket.destroy();
    });
  });
