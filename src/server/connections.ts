import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server, for closing those that are idle. */
export interface Connections {
  add(socket: Socket): void;
  answering(socket: Socket, response: ServerResponse): void;
  /** Those on which nothing is under way, now and when what is under way has been sent. */
  closeIdle(): void;
}

/**
 * http.Server.closeIdleConnections takes an answer for sent that is still in our buffers, and a connection on which nothing
 * ever came for one that is in use.
 */
export function createConnections(): Connections {
  const open = new Map<Socket, { answers: number; bytesRead: number }>();
  let overdue = false;
  const closeIfIdle = (socket: Socket) => {
    const state = open.get(socket);
    if (overdue && state?.answers === 0 && socket.bytesRead === state.bytesRead) socket.destroySoon();
  };
  return {
    add(socket) {
      open.set(socket, { answers: 0, bytesRead: 0 });
      socket.once('close', () => open.delete(socket));
    },
    answering(socket, response) {
      const state = open.get(socket);
      if (!state) return;
      state.answers += 1;
      response.once('close', () => {
        state.answers -= 1;
        state.bytesRead = socket.bytesRead;
        closeIfIdle(socket);
      });
    },
    closeIdle() {
      overdue = true;
      for (const socket of open.keys()) closeIfIdle(socket);
    },
  };
}
