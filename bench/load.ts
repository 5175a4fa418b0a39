import { connect, type Socket } from 'node:net';
import { cpuByPid, cpuSince } from './proc.ts';
import { runWrk } from './wrk.ts';

/** Keeps a server busy over keep-alive connections, each with one request after the other. */
export interface Load {
  readonly server: { readonly port: number; pids(): number[] };
  /** Processes that work for the server, such as those of a database. */
  readonly behind?: () => number[];
  readonly connections: number;
  readonly requests: number;
  /** The bytes of the nth request. */
  readonly request: (number: number) => Buffer;
}

export interface Driven {
  /** CPU of the server for each request. */
  readonly cpuUs: number;
  /** And of what is behind it. */
  readonly behindUs: number;
  readonly perSecond: number;
  /** Of every request, in milliseconds. wrk tells none. */
  readonly latencies: Float64Array;
}

/** Throws where an answer is not 200. */
export const drive = (load: Load): Promise<Driven> =>
  process.env.CLIENT === 'wrk' ? driveByWrk(load) : driveByUs(load);

async function driveByWrk(load: Load): Promise<Driven> {
  const { server, behind = () => [] } = load;
  const before = [cpuByPid(server.pids()), cpuByPid(behind())] as const;
  const { count, seconds } = await runWrk(load);
  const after = [cpuSince(before[0], server.pids()), cpuSince(before[1], behind())] as const;
  const latencies = new Float64Array();
  return { cpuUs: after[0] / count, behindUs: after[1] / count, perSecond: count / seconds, latencies };
}

/** Connecting does not count: clients keep their connections. */
async function driveByUs({ server, behind = () => [], connections, requests, request }: Load): Promise<Driven> {
  const bytes = Array.from({ length: requests }, (_, number) => request(number));
  const latencies = new Float64Array(requests);
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(server.port)));
  let sent = 0;
  const one = async (connection: Connection) => {
    while (sent < requests) {
      const number = sent++;
      latencies[number] = (await connection.ask(bytes[number] as Buffer)).totalMs;
    }
  };
  try {
    const before = [cpuByPid(server.pids()), cpuByPid(behind())] as const;
    const startedAt = performance.now();
    await Promise.all(open.map(one));
    const seconds = (performance.now() - startedAt) / 1_000;
    // Before the connections are closed: a server may have a thread for each, whose time would be gone with it.
    const after = [cpuSince(before[0], server.pids()), cpuSince(before[1], behind())] as const;
    return {
      cpuUs: after[0] / requests,
      behindUs: after[1] / requests,
      perSecond: requests / seconds,
      latencies,
    };
  } finally {
    for (const connection of open) connection.close();
  }
}

export interface Answered {
  readonly headBytes: number;
  /** Of the body, as it came. */
  readonly bytes: number;
  /** From when the request was sent, to the first byte and to the last. */
  readonly firstMs: number;
  readonly totalMs: number;
}

export interface Connection {
  ask(request: Buffer): Promise<Answered>;
  close(): void;
}

const LENGTH = /content-length: (\d+)/i;
const CHUNKED = /transfer-encoding: chunked/i;
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** Where an answer ends: told of each piece of the body, it says whether that was the last. */
function bodyEnd(head: string): ((piece: Buffer) => boolean) | undefined {
  const length = LENGTH.exec(head);
  if (length) {
    let missing = Number(length[1]);
    return (piece) => {
      missing -= piece.length;
      return missing <= 0;
    };
  }
  let tail = '';
  return CHUNKED.test(head)
    ? (piece) => {
        tail = (tail + piece.toString('latin1', Math.max(0, piece.length - LAST_CHUNK.length))).slice(
          -LAST_CHUNK.length,
        );
        return tail === LAST_CHUNK;
      }
    : undefined;
}

export async function openConnection(port: number): Promise<Connection> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opened = connect(port, '127.0.0.1', () => resolve(opened)).once('error', reject);
  });
  socket.setNoDelay(true);
  let answered: (answer: Answered) => void = () => {};
  let failed: (error: Error) => void = () => {};
  let head: Buffer | undefined;
  let isLast: ((piece: Buffer) => boolean) | undefined;
  let headBytes = 0;
  let bytes = 0;
  let sentAt = 0;
  let firstMs = 0;
  const takeBody = (piece: Buffer) => {
    bytes += piece.length;
    if (!isLast?.(piece)) return;
    isLast = undefined;
    answered({ headBytes, bytes, firstMs, totalMs: performance.now() - sentAt });
  };
  socket.on('error', (error) => failed(error));
  socket.on('close', () => failed(new Error('the server closed the connection')));
  socket.on('data', (chunk) => {
    if (isLast) return takeBody(chunk);
    if (!head) firstMs = performance.now() - sentAt;
    const received = head ? Buffer.concat([head, chunk]) : chunk;
    const end = received.indexOf('\r\n\r\n');
    head = end < 0 ? received : undefined;
    if (end < 0) return;
    const text = received.toString('latin1', 0, end);
    isLast = text.startsWith('HTTP/1.1 200') ? bodyEnd(text) : undefined;
    headBytes = end + 4;
    bytes = 0;
    if (isLast) takeBody(received.subarray(end + 4));
    else failed(new Error(received.toString('utf8')));
  });
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        answered = resolve;
        failed = reject;
        sentAt = performance.now();
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}
