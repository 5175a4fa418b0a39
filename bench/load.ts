import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

/** Keeps a server busy over keep-alive connections, each with one request after the other, and reads what CPU it took. */
export interface Load {
  readonly port: number;
  readonly pid: number;
  readonly connections: number;
  readonly requests: number;
  /** The bytes of the nth request. */
  readonly request: (number: number) => Buffer;
}

// Clock ticks of /proc are 100 a second on every Linux there is.
const TICK_US = 10_000;

const cpuUs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
};

/** Microseconds of the server's CPU per request; throws where an answer is not 200. */
export async function drive({ port, pid, connections, requests, request }: Load): Promise<number> {
  let sent = 0;
  const before = cpuUs(pid);
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket: Socket = connect(port, '127.0.0.1');
      socket.setNoDelay(true);
      let received = '';
      const next = () => {
        if (sent >= requests) socket.end(resolve);
        else socket.write(request(sent++));
      };
      socket.setEncoding('latin1');
      socket.on('error', reject);
      socket.on('connect', next);
      socket.on('data', (chunk: string) => {
        received += chunk;
        const head = received.indexOf('\r\n\r\n');
        if (head < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(received.slice(0, head))?.[1]);
        if (received.length < head + 4 + length) return;
        if (!received.startsWith('HTTP/1.1 200')) reject(new Error(received.slice(0, 500)));
        received = '';
        next();
      });
    });
  await Promise.all(Array.from({ length: connections }, one));
  return (cpuUs(pid) - before) / requests;
}
