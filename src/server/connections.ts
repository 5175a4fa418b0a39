import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server: how many there are and whose, what is under way on each of them, and their end. */
export interface Connections {
  /** Whether there is room for it; then it counts until it is closed. `client` is null for one that may have any number. */
  admit(socket: Socket, client: string | null): boolean;
  /**
   * Serves a request when those before it on its connection are answered (RFC 9112 §9.3.2 forbids another order for most
   * calls). Meanwhile nothing more is read: who sends ahead keeps what is sent.
   */
  asked(incoming: IncomingMessage, response: ServerResponse): void;
  /** The answer to the request that is being served is about to be sent. True where it is the connection's last one. */
  answering(socket: Socket, response: ServerResponse): boolean;
  /** Nothing more can be read from a connection: it is closed after the answers that it is owed, and with these words. */
  end(socket: Socket, lastWords: string): void;
  /** Closes those on which nothing is under way, now and when what is under way has been sent. */
  closeIdle(): void;
  readonly size: number;
}

export interface ConnectionLimits {
  readonly connectionsMax: number;
  readonly connectionsPerClientMax: number;
  /** 0 for any number. */
  readonly requestsPerConnectionMax: number;
}

type Asked = readonly [IncomingMessage, ServerResponse];

interface State {
  /** The latest request that has come, with its answer. */
  latest: Asked | undefined;
  /** Those before it that are not being served yet, and it. */
  readonly waiting: Asked[];
  serving: boolean;
  served: number;
  /** The latest answer that was sent. */
  response: ServerResponse | undefined;
  /** When it was. */
  bytesRead: number;
  lastWords: string | undefined;
}

export function createConnections(
  { connectionsMax, connectionsPerClientMax, requestsPerConnectionMax }: ConnectionLimits,
  serve: (incoming: IncomingMessage, response: ServerResponse) => void,
): Connections {
  const open = new Map<Socket, State>();
  /** Of each client with a connection, so there are never more than connections. */
  const counts = new Map<string, number>();
  let overdue = false;

  function start(state: State, [incoming, response]: Asked): void {
    state.serving = true;
    state.served += 1;
    state.response = undefined;
    serve(incoming, response);
  }

  /** An answer has been sent. */
  function goOn(socket: Socket, state: State): void {
    if (!socket.writable) return; // it was the last one: what was sent behind it is not served
    state.serving = false;
    const next = state.waiting.shift();
    if (next) start(state, next);
    else if (state.lastWords !== undefined) close(socket, state.lastWords);
    if (state.waiting.length === 0 && state.lastWords === undefined) socket.resume();
  }

  /**
   * http.Server.closeIdleConnections takes an answer for sent that is still in our buffers, and a connection on which
   * nothing ever came for one that is in use.
   */
  function closeIfIdle(socket: Socket, { response, bytesRead, waiting }: State): void {
    if (socket.bytesRead !== bytesRead || waiting.length > 0) return;
    if (!response || response.closed) socket.destroySoon();
    else response.once('close', () => socket.destroySoon());
  }

  return {
    get size() {
      return open.size;
    },

    admit(socket, client) {
      const own = client === null ? 0 : (counts.get(client) ?? 0);
      if (open.size >= connectionsMax || own >= connectionsPerClientMax) return false;
      if (client !== null) counts.set(client, own + 1);
      open.set(socket, {
        ...{ latest: undefined, waiting: [], serving: false, served: 0, response: undefined, bytesRead: 0 },
        lastWords: undefined,
      });
      socket.once('close', () => {
        open.delete(socket);
        if (client === null) return;
        const left = (counts.get(client) ?? 0) - 1;
        if (left > 0) counts.set(client, left);
        else counts.delete(client);
      });
      return true;
    },

    asked(incoming, response) {
      const state = open.get(incoming.socket);
      if (!state) return;
      const asked: Asked = [incoming, response];
      state.latest = asked;
      if (!state.serving || state.response?.closed) {
        start(state, asked);
        return;
      }
      state.waiting.push(asked);
      incoming.socket.pause();
      if (state.waiting.length === 1) state.response?.once('close', () => goOn(incoming.socket, state));
    },

    answering(socket, response) {
      const state = open.get(socket);
      if (!state) return true;
      state.response = response;
      state.bytesRead = socket.bytesRead;
      if (state.waiting.length > 0 || state.lastWords !== undefined) {
        response.once('close', () => goOn(socket, state));
      }
      if (overdue) closeIfIdle(socket, state);
      return state.served === requestsPerConnectionMax;
    },

    end(socket, lastWords) {
      const state = open.get(socket);
      if (state?.lastWords !== undefined) return; // more of what cannot be read
      if (!state) {
        socket.destroy();
        return;
      }
      state.lastWords = lastWords;
      socket.pause();
      const [broken, answer] = state.latest ?? [];
      const isCut = broken !== undefined && !broken.complete;
      if (isCut && state.waiting.length > 0)
        state.waiting.pop(); // it is the one that these words are for
      else if (isCut) close(socket, answer?.headersSent ? '' : lastWords);
      else if (!state.serving || state.response?.closed) close(socket, lastWords);
      else if (state.waiting.length === 0) state.response?.once('close', () => goOn(socket, state));
    },

    closeIdle() {
      overdue = true;
      for (const [socket, state] of open) closeIfIdle(socket, state);
    },
  };
}

function close(socket: Socket, lastWords: string): void {
  if (lastWords !== '' && socket.writable) socket.write(lastWords);
  socket.destroySoon();
}
