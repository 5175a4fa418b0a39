import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server, for closing those that are idle. */
export interface Connections {
  add(socket: Socket): void;
  /** The answer to the latest request of a connection is about to be sent. */
  answering(socket: Socket, response: ServerResponse): void;
  /** Those on which nothing is under way, now and when what is under way has been sent. */
  closeIdle(): void;
}

interface State {
  response: ServerResponse | undefined;
  bytesRead: number;
}

/**
 * http.Server.closeIdleConnections takes an answer for sent that is still in our buffers, and a connection on which nothing
 * ever came for one that is in use. Answers of one connection follow one another, so the latest tells for all.
 */
export function createConnections(): Connections {
  const open = new Map<Socket, State>();
  let overdue = false;
  const closeIfIdle = (socket: Socket, { response, bytesRead }: State) => {
    if (socket.bytesRead !== bytesRead) return;
    if (!response || response.closed) socket.destroySoon();
    else response.once('close', () => socket.destroySoon());
  };
  return {
    add(socket) {
      open.set(socket, { response: undefined, bytesRead: 0 });
      socket.once('close', () => open.delete(socket));
    },
    answering(socket, response) {
      const state = open.get(socket);
      if (!state) return;
      state.response = response;
      state.bytesRead = socket.bytesRead;
      if (overdue) closeIfIdle(socket, state);
    },
    closeIdle() {
      overdue = true;
      for (const [socket, state] of open) closeIfIdle(socket, state);
    },
  };
}
