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
  /**
   * Breaks the connection of each of the next commits. before: PostgreSQL never gets the commit. after: it
   * has committed, and the answer is lost. Nobody on the other side can tell the two apart.
   */
  breakCommits(ways: readonly CommitFault[]): void;
  /** How many connections were broken so. */
  broken(): Readonly<Record<CommitFault, number>>;
  close(): Promise<void>;
}
export type CommitFault = 'before' | 'after';

export async function createNetwork(to: number): Promise<Network> {
  const open = new Set<Socket>();
  const prepared: string[][] = [];
  let swallowing = false;
  const commitFaults: CommitFault[] = [];
  const broken = { before: 0, after: 0 };

  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1');
    const names: string[] = [];
    prepared.push(names);
    let fault: CommitFault | undefined;
    const watch = frontendMessages((type, content) => {
      if (type === 'P') names.push(content.toString('utf8', 0, content.indexOf(0)));
      if (type === 'Q' && /^commit\0/i.test(content.toString('latin1'))) fault ??= commitFaults.shift();
    });
    /** Whether these bytes are the end of the connection. */
    const isBroken = (from: Socket): boolean => {
      if (fault !== (from === client ? 'before' : 'after')) return false;
      broken[fault] += 1;
      client.destroy();
      upstream.destroy();
      return true;
    };
    const pairs = [
      [client, upstream],
      [upstream, client],
    ] as const;
    for (const [from, into] of pairs) {
      open.add(from);
      from.on('data', (bytes) => {
        if (swallowing) return;
        if (from === client) watch(bytes);
        if (!isBroken(from)) into.write(bytes);
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
    breakCommits(ways) {
      commitFaults.push(...ways);
    },
    broken: () => broken,
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
