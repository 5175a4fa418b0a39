import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { customerNetwork } from '../base/networks.ts';
import { Problem } from '../base/problem.ts';

/**
 * Receives request bodies, with a limit for each body, for those of one client and for all
 * together. A body counts until its request is answered.
 */
export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export interface BodyRequest {
  /** The address of the client, seen through trusted proxies. */
  readonly client: string;
  readonly bytesMax: number;
  readonly sender: Sender;
}

/**
 * A `known` client has shown a token or a session, and its body is not refused in favour of others.
 * A `carrier` calls an existing connector; whether it knows the secret can often be checked only
 * with the whole body.
 */
export type Sender = 'stranger' | 'carrier' | 'known';

export interface Receiving {
  /**
   * The whole body. Throws Problem `too-large`, `unsupported-media`, `too-many`, or `malformed` if
   * the client has disconnected.
   */
  read(exchange: Exchange, request: BodyRequest): Promise<Uint8Array>;
  /** Bytes of all bodies. */
  readonly bytes: number;
}

/** One client may use one of this many equal shares. */
const CLIENT_SHARES = 4;

/**
 * Eighths of all bytes that clients without a token or a session may use: the first limit applies
 * when the body of a stranger grows, the second when that of a carrier does. Strangers who send
 * whole bodies and do not read the answers therefore leave an eighth to carriers, and both leave a
 * quarter to people who are signed in.
 */
const STRANGER_EIGHTHS = 5;
const CARRIER_EIGHTHS = 6;

export function createReceiving(bytesMax: number): Receiving {
  const room = new Room(bytesMax);
  return {
    async read(exchange, request) {
      const { headers, destroyed } = exchange.incoming;
      const length = Number(headers['content-length'] ?? 0);
      if (length === 0 && !headers['transfer-encoding']) return NO_BYTES;
      if (length > request.bytesMax) throw tooLarge(request.bytesMax);
      if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) {
        throw new Problem('unsupported-media', 'Send the body without Content-Encoding.');
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
      // The rest of the body must not be read as a request. An answer may have begun before the
      // body was complete.
      if (!outgoing.headersSent) outgoing.setHeader('Connection', 'close');
      reject(problem);
    });
    const onData = (chunk: Buffer) => body.add(chunk);
    incoming.on('data', onData);
    incoming.once('end', () => resolve(body.end()));
    incoming.once('close', () => reject(interrupted())); // no effect after the end of the body
    outgoing.once('close', () => body.release());
  });

/** A client address has a share of its own for each kind of sender. */
interface Client {
  readonly name: string;
  readonly sender: Sender;
  bytes: number;
  /** In the order of their arrival. */
  readonly bodies: Set<Body>;
}

/** The bytes of all bodies that are being received or whose requests are being handled. */
class Room {
  readonly #bytesMax: number;
  /** Contains only clients with requests in progress. */
  readonly #clients = new Map<string, Client>();
  bytes = 0;
  /** Bytes of clients that have not shown a token or a session. */
  #unknownBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  enter(address: string, sender: Sender, body: Body): Client {
    const network = isIP(address) === 6 ? customerNetwork(address) : address;
    const name = `${sender} ${network}`;
    const client = this.#clients.get(name) ?? { name, sender, bytes: 0, bodies: new Set() };
    this.#clients.set(name, client);
    client.bodies.add(body);
    return client;
  }

  leave(client: Client, body: Body, bytes: number): void {
    if (!client.bodies.delete(body)) return;
    this.#count(client, -bytes);
    if (client.bodies.size === 0) this.#clients.delete(client.name);
  }

  /** False if there is no room, even after incomplete bodies of strangers were refused. */
  add(client: Client, bytes: number): boolean {
    if (client.bytes + bytes > this.#bytesMax / CLIENT_SHARES) return false;
    while (!this.#hasRoom(client.sender, bytes)) {
      const refused = this.#refusable();
      if (!refused || refused.client === client) return false;
      refused.refuse(crowded());
    }
    this.#count(client, bytes);
    return true;
  }

  #hasRoom(sender: Sender, bytes: number): boolean {
    if (this.bytes + bytes > this.#bytesMax) return false;
    const eighths = sender === 'carrier' ? CARRIER_EIGHTHS : STRANGER_EIGHTHS;
    return sender === 'known' || this.#unknownBytes + bytes <= (this.#bytesMax / 8) * eighths;
  }

  #count(client: Client, bytes: number): void {
    client.bytes += bytes;
    this.bytes += bytes;
    if (client.sender !== 'known') this.#unknownBytes += bytes;
  }

  /**
   * The oldest incomplete body of the client with the most bytes, among clients that have not shown
   * a token or a session.
   */
  #refusable(): Body | undefined {
    let found: Body | undefined;
    for (const { sender, bytes, bodies } of this.#clients.values()) {
      if (sender === 'known' || (found && bytes <= found.client.bytes)) continue;
      found = bodies.values().find(({ isWhole }) => !isWhole) ?? found;
    }
    return found;
  }
}

class Body {
  readonly client: Client;
  /**
   * When the body is complete, its request is being handled or answered, and refusing it would free
   * no memory.
   */
  isWhole = false;
  readonly #room: Room;
  readonly #bytesMax: number;
  readonly #refused: (problem: Problem) => void;
  #buffer: Buffer = NO_BYTES;
  #length = 0;

  constructor(room: Room, { client, bytesMax, sender }: BodyRequest, refused: (problem: Problem) => void) {
    this.#room = room;
    this.client = room.enter(client, sender, this);
    this.#bytesMax = bytesMax;
    this.#refused = refused;
  }

  /**
   * Chunks are copied, because a chunk of one byte keeps 64 KiB of the socket's buffer in memory.
   */
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
const interrupted = () => new Problem('malformed', 'The body did not arrive completely.');
const crowded = () =>
  new Problem('too-many', 'Too much data is being sent at the same time. Try again later.', { retryAfterSeconds: 1 });
