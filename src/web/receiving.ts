import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { customerNetwork } from '../base/networks.ts';
import { Problem } from '../base/problem.ts';

/**
 * Receives the bodies of requests, with a bound on each one, on those of one client and on all of
 * them together. A body counts until its request is answered.
 */
export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export interface BodyRequest {
  /** The address of the client, seen through trusted proxies. */
  readonly client: string;
  readonly bytesMax: number;
  /** Whether the client has shown a token or a session: then its body makes room for nobody. */
  readonly isKnown: boolean;
}

export interface Receiving {
  /**
   * The whole body. Throws Problem `too-large`, `unsupported-media`, `too-many`, or `malformed`
   * where the client went away.
   */
  read(exchange: Exchange, request: BodyRequest): Promise<Uint8Array>;
  /** Bytes of all bodies. */
  readonly bytes: number;
}

/** One client may have one part of so many. */
const CLIENT_SHARES = 4;

export function createReceiving(bytesMax: number): Receiving {
  const room = new Room(bytesMax);
  return {
    async read(exchange, request) {
      const { headers, destroyed } = exchange.incoming;
      const length = Number(headers['content-length'] ?? 0);
      if (length === 0 && !headers['transfer-encoding']) return NO_BYTES;
      if (length > request.bytesMax) throw tooLarge(request.bytesMax);
      if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) {
        throw new Problem('unsupported-media', 'The body is to be sent without Content-Encoding.');
      }
      if (destroyed) throw interrupted();
      if (headers.expect !== undefined) exchange.outgoing.writeContinue();
      return received(exchange, request, room);
    },
    get bytes() {
      return room.bytes;
    },
  };
}

const received = ({ incoming, outgoing }: Exchange, request: BodyRequest, room: Room): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const body = new Body(room, request, (problem) => {
      incoming.off('data', onData);
      // The rest of the body is no request. An answer may have begun before the body was whole.
      if (!outgoing.headersSent) outgoing.setHeader('Connection', 'close');
      reject(problem);
    });
    const onData = (chunk: Buffer) => body.add(chunk);
    incoming.on('data', onData);
    incoming.once('end', () => resolve(body.end()));
    incoming.once('close', () => reject(interrupted())); // too late after the end
    outgoing.once('close', () => body.release());
  });

/** An address has one share for strangers and another for those with a token or a session. */
interface Client {
  readonly name: string;
  readonly isKnown: boolean;
  bytes: number;
  /** In the order of their arrival. */
  readonly bodies: Set<Body>;
}

/** The bytes of all bodies that are under way. */
class Room {
  readonly #bytesMax: number;
  /** Only clients whose requests are under way are in it. */
  readonly #clients = new Map<string, Client>();
  bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  enter(address: string, isKnown: boolean, body: Body): Client {
    const network = isIP(address) === 6 ? customerNetwork(address) : address;
    const name = `${isKnown ? 'known' : 'stranger'} ${network}`;
    const client = this.#clients.get(name) ?? { name, isKnown, bytes: 0, bodies: new Set() };
    this.#clients.set(name, client);
    client.bodies.add(body);
    return client;
  }

  leave(client: Client, body: Body, bytes: number): void {
    if (!client.bodies.delete(body)) return;
    this.#count(client, -bytes);
    if (client.bodies.size === 0) this.#clients.delete(client.name);
  }

  /** False where there is no room, also where bodies of strangers were refused for it. */
  add(client: Client, bytes: number): boolean {
    if (client.bytes + bytes > this.#bytesMax / CLIENT_SHARES) return false;
    while (this.bytes + bytes > this.#bytesMax) {
      const refused = this.#refusable();
      if (!refused || refused.client === client) return false;
      refused.refuse(crowded());
    }
    this.#count(client, bytes);
    return true;
  }

  #count(client: Client, bytes: number): void {
    client.bytes += bytes;
    this.bytes += bytes;
  }

  /** The oldest body that a stranger has not sent whole, of the client with most bytes. */
  #refusable(): Body | undefined {
    let found: Body | undefined;
    for (const { isKnown, bytes, bodies } of this.#clients.values()) {
      if (isKnown || (found && bytes <= found.client.bytes)) continue;
      found = bodies.values().find(({ isWhole }) => !isWhole) ?? found;
    }
    return found;
  }
}

class Body {
  readonly client: Client;
  /** Then its request is being handled or answered, and refusing it would free no memory. */
  isWhole = false;
  readonly #room: Room;
  readonly #bytesMax: number;
  readonly #refused: (problem: Problem) => void;
  #buffer: Buffer = NO_BYTES;
  #length = 0;

  constructor(room: Room, { client, bytesMax, isKnown }: BodyRequest, refused: (problem: Problem) => void) {
    this.#room = room;
    this.client = room.enter(client, isKnown, this);
    this.#bytesMax = bytesMax;
    this.#refused = refused;
  }

  /** Chunks are copied: one of a byte keeps 64 KiB of the socket in memory. */
  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytesMax) this.refuse(tooLarge(this.#bytesMax));
    else if (!this.#room.add(this.client, chunk.length)) this.refuse(crowded());
    else {
      if (length > this.#buffer.length) this.#buffer = enlarged(this.#buffer, this.#length, length, this.#bytesMax);
      chunk.copy(this.#buffer, this.#length);
      this.#length = length;
    }
  }

  end(): Buffer {
    this.isWhole = true;
    return this.#buffer.subarray(0, this.#length);
  }

  refuse(problem: Problem): void {
    this.release();
    this.#refused(problem);
  }

  release(): void {
    this.#room.leave(this.client, this, this.#length);
    this.#buffer = NO_BYTES;
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0);

function enlarged(before: Buffer, used: number, length: number, bytesMax: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.min(Math.max(2 * before.length, length), bytesMax));
  before.copy(larger, 0, 0, used);
  return larger;
}

const tooLarge = (bytesMax: number) => new Problem('too-large', `The body has more than ${bytesMax} bytes.`);
const interrupted = () => new Problem('malformed', 'The body did not arrive whole.');
const crowded = () =>
  new Problem('too-many', 'Too much is being sent at the same time. Try again later.', { retryAfterSeconds: 1 });
