import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { nextTurn } from '../base/event-loop.ts';
import type { Addresses } from '../http/client-address.ts';
import { tooManyConnections } from '../http/error-response.ts';
import {
  type ConnectionLimits,
  createOpenConnections,
  type Evictable,
  type Eviction,
} from '../http/open-connections.ts';
import { createTimeouts, type TimeoutSettings, type Timeouts } from '../http/timeouts.ts';

/**
 * Connections of the web listener: how many there may be, which one is closed for a new one, and
 * how long a client may take to read. The rules are those of the contract's listener.
 */
export interface WebConnections {
  /** Call it for each new connection. */
  accept(socket: Socket): void;
  /** Handles the requests of a connection one after the other. */
  handle(request: IncomingMessage, response: ServerResponse, work: () => Promise<unknown>): void;
  /** The client has shown a token or a session, so its requests are not evicted for others. */
  admit(request: IncomingMessage): void;
  stop(): void;
}

/** Browsers and proxies do not pipeline: they send the next request after the answer. */
const PIPELINED_MAX = 16;

class WebConnection implements Evictable {
  readonly #socket: Socket;
  readonly #timeouts: Timeouts;
  /** The responses that are not sent yet, in their order. */
  readonly #underWay = new Set<ServerResponse>();
  #isOverfull = false;
  #last: Promise<unknown> = Promise.resolve();
  #requests = 0;
  #isAdmitted = false;
  #phaseStartedAt: number;
  /** When the client last read something, or when the response began. */
  #takenAt = 0;

  constructor(socket: Socket, timeouts: Timeouts) {
    this.#socket = socket;
    this.#timeouts = timeouts;
    this.#phaseStartedAt = timeouts.now();
    socket.on('drain', () => {
      this.#takenAt = timeouts.now();
    });
  }

  handle(request: IncomingMessage, response: ServerResponse, work: () => Promise<unknown>): void {
    if (this.#isOverfull || this.#underWay.size > PIPELINED_MAX) {
      this.#endAfterAccepted();
      return;
    }
    const isFirst = this.#underWay.size === 0;
    if (isFirst) this.#phaseStartedAt = this.#timeouts.now();
    this.#underWay.add(response);
    this.#requests += 1;
    const closed = new Promise<void>((resolve) => {
      response.once('close', () => {
        this.#underWay.delete(response);
        this.#phaseStartedAt = this.#timeouts.now();
        resolve();
      });
    });
    const begin = () => (request.destroyed && this.#socket.destroyed ? undefined : work());
    // Each pipelined request gets an event-loop turn of its own, so that many of them delay nobody
    // else.
    if (isFirst) begin();
    else this.#last.then(nextTurn).then(begin);
    this.#last = closed;
  }

  /**
   * Answers the requests that were accepted, the last one with `Connection: close`, and reads no
   * more.
   */
  #endAfterAccepted(): void {
    if (!this.#isOverfull) for (const response of [...this.#underWay].slice(-1)) response.shouldKeepAlive = false;
    this.#isOverfull = true;
    this.#socket.pause();
  }

  admit(): void {
    this.#isAdmitted = true;
  }

  get #hasBegun(): boolean {
    return this.#underWay.values().some(({ headersSent }) => headersSent);
  }

  /** Closes the connection of a client that has read nothing for too long. */
  onTick(): void {
    const { ticks, now } = this.#timeouts;
    if (this.#socket.writableLength === 0) this.#takenAt = now();
    else if (now() - this.#takenAt > ticks.writing) this.#socket.destroy();
  }

  /** A client that has shown a token is not evicted while it has a request in progress. */
  get eviction(): Eviction | undefined {
    const since = this.#phaseStartedAt;
    const isLong = this.#timeouts.now() - since > this.#timeouts.ticks.evictable;
    if (this.#underWay.size > 0) {
      return isLong && !this.#isAdmitted ? { rank: this.#hasBegun ? 4 : 3, since } : undefined;
    }
    if (this.#requests === 0) return { rank: isLong ? 0 : 3, since };
    return isLong ? { rank: 2, since } : undefined; // its next request may be on its way
  }

  evict(): void {
    if (this.#hasBegun)
      this.#socket.destroy(); // a refusal would become part of the response
    else refuse(this.#socket);
  }
}

function refuse(socket: Socket): void {
  socket.on('error', () => {}); // the client may have closed already
  socket.write(tooManyConnections());
  socket.destroySoon();
}

export function createWebConnections(
  settings: ConnectionLimits & TimeoutSettings,
  addresses: Pick<Addresses, 'peer' | 'countedAs'>,
  clock: Pick<Clock, 'after'>,
): WebConnections {
  const timeouts = createTimeouts(settings, 0, clock);
  const connections = createOpenConnections<WebConnection>(settings);
  const known = new WeakMap<Socket, WebConnection>();
  timeouts.start(() => {
    for (const connection of connections.all) connection.onTick();
  });
  return {
    accept(socket) {
      const client = addresses.countedAs(addresses.peer(socket));
      if (!connections.makeRoom(client)) {
        refuse(socket);
        return;
      }
      const connection = new WebConnection(socket, timeouts);
      known.set(socket, connection);
      connections.add(client, connection);
      socket.once('close', () => connections.remove(client, connection));
    },
    // A refused connection may still send a request before it is closed.
    handle: (request, response, work) => known.get(request.socket)?.handle(request, response, work),
    admit: ({ socket }) => known.get(socket)?.admit(),
    stop: timeouts.stop,
  };
}
