import { connect, createServer, type Socket } from 'node:net';

/** A proxy that counts round trips: how often a client waits for the server before it sends more. */
export interface RoundTrips {
  readonly port: number;
  /** How many there were during the work. */
  of(work: () => Promise<unknown>): Promise<number>;
  close(): Promise<void>;
}

// An answer comes late enough that everything has been sent that does not depend on it.
const DELAY_MS = 3;

export async function countRoundTrips(host: string, port: number): Promise<RoundTrips> {
  const open = new Set<Socket>();
  let roundTrips = 0;
  const server = createServer((client) => {
    const upstream = connect(port, host);
    let answered = true;
    client.on('data', (bytes) => {
      if (answered) roundTrips += 1;
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
      const before = roundTrips;
      await work();
      return roundTrips - before;
    },
    close() {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
