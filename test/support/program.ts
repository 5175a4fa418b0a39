import assert from 'node:assert/strict';
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import { type Server, serving } from './command.ts';
import { readResult } from './contract-client.ts';
import { type Arguments, type Protocol, requestOf } from './protocols.ts';

/** The program as an operator runs it, in one process or several, and clients of it that keep their connections. */
export interface Program extends Server {
  readonly database: string;
  readonly pid: number;
  /** The processes that serve: each one's last line says at which address. */
  workers(): { pid: number; address: string }[];
  logged(message: string): LogLine[];
  kill(signal: NodeJS.Signals): void;
}
export interface LogLine {
  readonly msg: string;
  readonly pid?: number;
  readonly address?: string;
  readonly err?: unknown;
}

const started: Program[] = [];

/** Waits for what must become true; for minutes on a slow machine, so that time decides nothing. */
export async function until(what: string, look: () => boolean | Promise<boolean>, limitMs = 180_000): Promise<void> {
  for (const end = Date.now() + limitMs; !(await look()); await sleep(10)) {
    if (Date.now() > end) throw new Error(`waited in vain for: ${what}`);
  }
}

/** The answer, unless it takes longer than anything here should. */
export async function within<T>(what: string, promise: Promise<T>, limitMs = 120_000): Promise<T> {
  const late = new AbortController();
  const timer = sleep(limitMs, undefined, { signal: late.signal }).then(() => {
    throw new Error(`waited in vain for: ${what}`);
  });
  try {
    return await Promise.race([promise, timer]);
  } finally {
    late.abort();
    timer.catch(() => {});
  }
}

/** Without the operator's side, which is a process of its own: each start takes 1 s of CPU less. */
const CALLS_ONLY = ['--web-port', 'off', '--dispatcher', 'off'];
export const WITH_OPERATOR = ['--web-port', '0', '--dispatcher', 'on'];

export async function startProgram(database: string, workers: number, args: readonly string[] = []): Promise<Program> {
  const server = await serving(['--database', database, '--workers', String(workers), ...CALLS_ONLY, ...args]);
  const lines = (): LogLine[] =>
    server.output.stderr
      .split('\n')
      .slice(0, -1)
      .map((line) => (line.startsWith('{') ? JSON.parse(line) : { msg: line }));
  const logged: Program['logged'] = (message) => lines().filter(({ msg }) => msg === message);
  const pid = server.child.pid as number;
  const program: Program = {
    ...server,
    database,
    pid,
    logged,
    workers: () =>
      logged('serving')
        .filter((line) => isAlive(line.pid as number))
        .map((line) => ({ pid: line.pid as number, address: line.address as string })),
    kill: (signal) => process.kill(pid, signal),
  };
  started.push(program);
  if (workers > 1) {
    // Each writes its own line, in any order.
    const all = () => logged('serving').length === workers && logged('serving with workers').length === 1;
    await until('all workers serve', all);
  }
  return program;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Everything at once and without warning. */
export async function crash(program: Program): Promise<void> {
  for (const pid of [program.pid, ...program.workers().map((worker) => worker.pid)]) {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  }
  await within('the end of all processes', program.ended);
}

/** A test that failed half-way leaves nothing running. */
after(async () => {
  for (const program of started)
    if (program.child.exitCode === null && program.child.signalCode === null) await crash(program);
});

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}
export interface Caller {
  /** The answer as it comes; rejects where the connection fails. */
  send(group: string, operation: string, args: Arguments, protocol?: Protocol): Promise<HttpAnswer>;
  /** The value of a call that succeeds. */
  ask(group: string, operation: string, args?: Arguments, protocol?: Protocol): Promise<unknown>;
  close(): void;
}

/** A client with one connection, which it keeps as long as it is not told to close it. */
export function createCaller(address: string, userId: string): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(address);

  const send: Caller['send'] = (group, operation, args, protocol = 'post') => {
    const { method, path, query, headers, bytes } = requestOf(protocol, group, operation, { user_id: userId, ...args });
    const length = bytes === '' ? {} : { 'content-length': Buffer.byteLength(bytes) };
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        {
          agent,
          hostname,
          port,
          method,
          path: query === '' ? path : `${path}?${query}`,
          headers: { ...headers, ...length } as Record<string, string>,
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () =>
            resolve({
              status: incoming.statusCode as number,
              headers: incoming.headers,
              text: Buffer.concat(chunks).toString('utf8'),
            }),
          );
        },
      );
      outgoing.on('error', reject);
      outgoing.setTimeout(60_000, () => outgoing.destroy(new Error('no answer for a minute')));
      outgoing.end(bytes);
    });
  };
  return {
    send,
    async ask(group, operation, args = {}, protocol = 'post') {
      const answer = await send(group, operation, args, protocol);
      assert.equal(answer.status, 200, `${group}.${operation}: ${answer.text}`);
      return readValue(group, operation, protocol, answer);
    },
    close: () => agent.destroy(),
  };
}

const operations = contract as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>;

function readValue(group: string, operation: string, protocol: Protocol, { status, text }: HttpAnswer): unknown {
  const { result } = operations[group]?.[operation] ?? assert.fail(`there is no ${group}.${operation}`);
  return readResult(protocol, operation, result, { status, headers: {}, body: text, text });
}
