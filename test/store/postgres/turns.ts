import { connect, createServer, type Socket } from 'node:net';

/** A network on which turns are counted: how often somebody has to wait for the server before it can ask on. */
export interface Turns {
  readonly port: number;
  /** How many there were during the work. */
  of(work: () => Promise<unknown>): Promise<number>;
  close(): Promise<void>;
}

// An answer comes late enough that everything has been sent that does not depend on it.
const DELAY_MS = 3;

export async function createTurns(host: string, port: number): Promise<Turns> {
  const open = new Set<Socket>();
  let turns = 0;
  const server = createServer((client) => {
    const upstream = connect(port, host);
    let answered = true;
    client.on('data', (bytes) => {
      if (answered) turns += 1;
      answered = false;
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      setTimeout(() => {
        answered = true;
        client.write(bytes);
      }, DELAY_MS);
    });
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        open.delete(from);
        into.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as { port: number }).port,
    async of(work) {
      const before = turns;
      await work();
      return turns - before;
    },
    close() {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
