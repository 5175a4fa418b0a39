import { connect, createServer, type Socket } from 'node:net';

/** A network between the service and the server that can fail, and that sees what goes over it. */
export interface Network {
  readonly port: number;
  /** The names of the statements that each connection had prepared, in order; a name twice was prepared twice. */
  readonly prepared: readonly (readonly string[])[];
  /** From now on bytes vanish: nothing is refused, nothing is answered. */
  swallow(): void;
  /** As after a failed network: what was open is lost, what is new gets through. */
  restore(): void;
  close(): Promise<void>;
}

export async function createNetwork(to: number): Promise<Network> {
  const open = new Set<Socket>();
  const prepared: string[][] = [];
  let swallowing = false;

  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1');
    const names: string[] = [];
    prepared.push(names);
    const watch = frontendMessages((type, content) => {
      if (type === 'P') names.push(content.toString('utf8', 0, content.indexOf(0)));
    });
    const pairs = [
      [client, upstream],
      [upstream, client],
    ] as const;
    for (const [from, into] of pairs) {
      open.add(from);
      from.on('data', (bytes) => {
        if (swallowing) return;
        if (from === client) watch(bytes);
        into.write(bytes);
      });
      from.on('error', () => {});
      from.on('close', () => {
        open.delete(from);
        if (!swallowing) into.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    prepared,
    swallow() {
      swallowing = true;
    },
    restore() {
      swallowing = false;
      cut();
    },
    close() {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** https://www.postgresql.org/docs/current/protocol-message-formats.html: the first message has no type. */
function frontendMessages(take: (type: string, content: Buffer) => void): (bytes: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  let typeBytes = 0;
  return (bytes) => {
    pending = Buffer.concat([pending, bytes]);
    while (pending.length >= typeBytes + 4) {
      const end = typeBytes + pending.readInt32BE(typeBytes);
      if (pending.length < end) return;
      if (typeBytes === 1) take(pending.toString('latin1', 0, 1), pending.subarray(5, end));
      pending = pending.subarray(end);
      typeBytes = 1;
    }
  };
}
