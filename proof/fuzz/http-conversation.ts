import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Finding } from './target.ts';

/** What goes over one connection: in which pieces it is sent, and how the client ends it. */
export interface Talk {
  /** One character a byte. The server has read each before the next is sent. */
  readonly pieces: readonly string[];
  /**
   * end: when there is nothing more to expect, it says that it sends no more. end at once: it says so with the last piece.
   * break off: it is gone after the last piece.
   */
  readonly ending: 'end' | 'end at once' | 'break off';
}

export interface Heard {
  readonly bytes: string;
  /** The methods of the requests that the server took off the connection. */
  readonly methods: readonly string[];
  /** The server did not want to hear the rest, and what it said may have been lost. */
  readonly isReset: boolean;
}

/** Both sides of the connections of one server in this process: ours, and through diagnostics channels what is done on its. */
export interface Wire {
  talk(talk: Talk): Promise<Heard>;
  close(): void;
}

interface Side {
  readonly socket: Socket;
  /** Of the requests that the server took off the connection. */
  readonly methods: string[];
  answered: number;
}

// No rule about time: twice what the server's own time-outs can take, and longer than any answer on a busy machine.
const PATIENCE_MS = 15_000;

export function createWire(port: number): Wire {
  const sides = new Map<number, Side>();
  const connected = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    if (socket.localPort === port) sides.set(socket.remotePort as number, { socket, methods: [], answered: 0 });
  };
  const sideOf = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    return [...sides.values()].find((side) => side.socket === socket);
  };
  const started = (message: unknown) => void sideOf(message)?.methods.push((message as { method: string }).method);
  const answered = (message: unknown) => {
    const side = sideOf(message);
    if (side) side.answered += 1;
  };
  subscribe('net.server.socket', connected);
  subscribe('columba.request', started);
  subscribe('columba.answered', answered);

  return {
    async talk({ pieces, ending }) {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
      const chunks: Buffer[] = [];
      let isReset = false;
      let isEnded = false;
      socket.on('data', (chunk) => chunks.push(chunk));
      socket.on('error', () => {
        isReset = true;
      });
      socket.on('end', () => {
        isEnded = true;
      });
      await once(socket, 'connect');
      const own = socket.localPort as number;
      await until(() => sides.has(own), 'accepts no connection');
      const side = sides.get(own) as Side;
      const isOver = () => side.socket.destroyed || isEnded || isReset;

      let sent = 0;
      for (const [index, piece] of pieces.entries()) {
        if (isOver()) break;
        sent += piece.length;
        const isLast = index === pieces.length - 1;
        const bytes = Buffer.from(piece, 'latin1');
        if (isLast && ending === 'end at once') socket.end(bytes);
        else socket.write(bytes);
        if (isLast && ending !== 'end') break;
        await until(() => isOver() || side.socket.bytesRead >= sent, 'does not read what is sent');
      }
      if (ending === 'break off') socket.destroy();
      else {
        const isAnswered = () => side.answered === side.methods.length;
        await until(() => isOver() || (side.socket.bytesRead >= sent && isAnswered()), 'does not answer');
        socket.end();
        await until(() => socket.destroyed, 'keeps a connection that has ended');
      }
      await until(() => side.socket.destroyed, 'keeps a connection that is gone');
      sides.delete(own);
      return { bytes: Buffer.concat(chunks).toString('latin1'), methods: side.methods, isReset };
    },
    close() {
      unsubscribe('net.server.socket', connected);
      unsubscribe('columba.request', started);
      unsubscribe('columba.answered', answered);
    },
  };
}

async function until(holds: () => boolean, otherwise: string): Promise<void> {
  const startedAt = Date.now();
  while (!holds()) {
    if (Date.now() - startedAt > PATIENCE_MS) throw new Finding('the server hangs', `it ${otherwise}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
