import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { nextTurn } from '../event-loop.ts';
import type { Addresses } from '../server/http/client-address.ts';
import { createSlots, type Evictable, type Eviction, type SlotSettings } from '../server/http/connection-slots.ts';
import { tooManyConnections } from '../server/http/error-response.ts';
import { createTimeouts, type TimeoutSettings, type Timeouts } from '../server/http/timeouts.ts';

/**
 * Connections of the second listener: how many there are, which one makes room for a new one, and
 * how long a client may take to read. The rules are those of the contract's listener.
 */
export interface WebConnections {
  /** To be called for each new connection. */
  accept(socket: Socket): void;
  /** Handles the requests of a connection one after the other. */
  handle(request: IncomingMessage, response: ServerResponse, work: () => Promise<unknown>): void;
  stop(): void;
}

/** Browsers and proxies send the next request after the answer. */
const PIPELINED_MAX = 16;

class WebConnection implements Evictable {
  readonly #socket: Socket;
  readonly #timeouts: Timeouts;
  /** The responses that are not sent yet. */
  #underWay = 0;
  #last: Promise<unknown> = Promise.resolve();
  #requests = 0;
  /** A request has had an answer that is no refusal. */
  #isServed = false;
  #phaseStartedAt: number;
  /** When the system took what was written, or a response began. */
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
    if (this.#underWay > PIPELINED_MAX) {
      this.#socket.destroy();
      return;
    }
    const isFirst = this.#underWay === 0;
    if (isFirst) this.#phaseStartedAt = this.#timeouts.now();
    this.#underWay += 1;
    this.#requests += 1;
    const closed = new Promise<void>((resolve) => {
      response.once('close', () => {
        this.#underWay -= 1;
        this.#phaseStartedAt = this.#timeouts.now();
        if (response.writableFinished && response.statusCode < 400) this.#isServed = true;
        resolve();
      });
    });
    const begin = () => (request.destroyed && this.#socket.destroyed ? undefined : work());
    // Each pipelined request has an event-loop turn: many of them delay nobody else.
    if (isFirst) begin();
    else this.#last.then(nextTurn).then(begin);
    this.#last = closed;
  }

  /** Closes the connection of a client that has not taken anything for too long. */
  onTick(): void {
    const { ticks, now } = this.#timeouts;
    if (this.#socket.writableLength === 0) this.#takenAt = now();
    else if (now() - this.#takenAt > ticks.writing) this.#socket.destroy();
  }

  /** Whoever was served is left alone while a request is under way. */
  get eviction(): Eviction | undefined {
    const since = this.#phaseStartedAt;
    const isLong = this.#timeouts.now() - since > this.#timeouts.ticks.evictable;
    if (this.#underWay > 0) return isLong && !this.#isServed ? { rank: 1, since } : undefined;
    if (this.#requests === 0) return { rank: isLong ? 0 : 3, since };
    return isLong ? { rank: 2, since } : undefined; // its next request may be on its way
  }

  evict(): void {
    refuse(this.#socket);
  }
}

function refuse(socket: Socket): void {
  socket.on('error', () => {}); // the client may have closed already
  socket.write(tooManyConnections());
  socket.destroySoon();
}

export function createWebConnections(
  settings: SlotSettings & TimeoutSettings,
  addresses: Pick<Addresses, 'peer' | 'countedAs'>,
): WebConnections {
  const timeouts = createTimeouts(settings, 0);
  const slots = createSlots<WebConnection>(settings);
  const known = new WeakMap<Socket, WebConnection>();
  timeouts.start(() => {
    for (const connection of slots.all) connection.onTick();
  });
  return {
    accept(socket) {
      const client = addresses.countedAs(addresses.peer(socket));
      if (!slots.makeRoom(client)) {
        refuse(socket);
        return;
      }
      const connection = new WebConnection(socket, timeouts);
      known.set(socket, connection);
      slots.add(client, connection);
      socket.once('close', () => slots.remove(client, connection));
    },
    // One that was refused may send a request before it is closed.
    handle: (request, response, work) => known.get(request.socket)?.handle(request, response, work),
    stop: timeouts.stop,
  };
}
