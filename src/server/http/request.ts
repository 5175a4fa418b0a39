import type { Request } from '../../exchange.ts';
import { Problem } from '../../problem.ts';
import type { Bodies } from './body-receiver.ts';
import type { Addresses, Peer } from './client-address.ts';
import { unpack } from './compression.ts';
import type { Head } from './request-head.ts';
import { requestIdOf, traceparentOf } from './request-id.ts';

/** Requests as they come off a connection, as plain data. */
export interface RequestLimits {
  readonly urlLengthMax: number;
  readonly inflatedBytesMax: number;
}

export type Requests = ReturnType<typeof createRequests>;

export function createRequests(
  { urlLengthMax, inflatedBytesMax }: RequestLimits,
  addresses: Addresses,
  bodies: Pick<Bodies, 'hold' | 'release'>,
  isOverloaded: () => boolean,
) {
  class Arrived implements Request {
    readonly method: string;
    readonly path: string;
    readonly query: string;
    readonly headers: Head['headers'];
    readonly client: string;
    readonly id: string;
    readonly traceparent: string | undefined;
    readonly refused: Problem | undefined;
    readonly holdBack: Request['holdBack'];
    readonly #head: Head;
    readonly #peer: Peer;
    #body: Uint8Array | Problem | Promise<Uint8Array>;
    #isPacked: boolean;
    #heldBytes = 0;

    constructor(
      head: Head,
      peer: Peer,
      refused: Problem | undefined,
      body: Uint8Array | Problem,
      holdBack: Request['holdBack'],
    ) {
      const { method, target, headers } = head;
      const { basePath, client } = addresses.of(head, peer);
      // The absolute form of RFC 9112 §3.2.2, which servers must accept.
      const own = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
      const mark = own.indexOf('?');
      const path = withSingleSlashes((mark < 0 ? own : own.slice(0, mark)) || '/');
      const prefix = withSingleSlashes(basePath);
      this.method = method;
      this.path = prefix && `${path}/`.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
      this.query = mark < 0 ? '' : own.slice(mark + 1);
      this.headers = headers;
      this.client = client;
      this.id = requestIdOf(headers['x-request-id']);
      this.traceparent = traceparentOf(headers.traceparent);
      this.refused = refused;
      this.holdBack = holdBack;
      this.#head = head;
      this.#peer = peer;
      this.#body = body;
      this.#isPacked = headers['content-encoding'] !== undefined;
    }

    get base(): string {
      return addresses.of(this.#head, this.#peer).base;
    }

    body(): Uint8Array | Promise<Uint8Array> {
      if (this.#body instanceof Problem) throw this.#body;
      if (this.#body instanceof Promise) return this.#body;
      if (!this.#isPacked) {
        if (this.#heldBytes === 0 && this.#body.length > HELD_BYTES_MIN) this.#hold(this.#body.length);
        return this.#body;
      }
      this.#body = this.#unpack(this.#body, this.headers['content-encoding'] ?? '');
      return this.#body;
    }

    /** It may have waited, so that what was not too much before may be too much now. */
    async #unpack(bytes: Uint8Array, coding: string): Promise<Uint8Array> {
      this.#hold(bytes.length);
      const unpacked = await unpack(bytes, coding, inflatedBytesMax);
      if (isOverloaded()) throw overloaded();
      this.#hold(unpacked.length);
      return unpacked;
    }

    #hold(bytes: number): void {
      bodies.hold(bytes);
      this.#heldBytes += bytes;
    }

    /** It is answered. */
    release(): void {
      if (this.#heldBytes > 0) bodies.release(this.#heldBytes);
      this.#heldBytes = 0;
    }
  }

  return {
    /** Why it is refused, whatever is asked for: others on the way may have read it differently. */
    problemOf(head: Head, peer: Peer): Problem | undefined {
      if (head.target.length > urlLengthMax) {
        return closing('too-large', `The address of a request has at most ${urlLengthMax} characters.`);
      }
      if (head.version !== '1.1' && head.version !== '1.0') {
        return closing('malformed', 'HTTP/1.1 and HTTP/1.0 are understood.');
      }
      if (Number.isNaN(head.length) || (head.length === 'chunked' && head.version === '1.0')) {
        return closing('malformed', 'The Transfer-Encoding of a request is chunked, in HTTP/1.1, or there is none.');
      }
      return addresses.hostProblem(head, peer);
    },
    make: (
      head: Head,
      peer: Peer,
      refused: Problem | undefined,
      body: Uint8Array | Problem,
      holdBack: Request['holdBack'],
    ): Request & { id: string; release(): void } => new Arrived(head, peer, refused, body, holdBack),
  };
}

/** `/api//inbox.asmx` is `/api/inbox.asmx`, as for IIS: programs join addresses with one slash too many. */
const withSingleSlashes = (path: string): string => (path.includes('//') ? path.replace(/\/{2,}/g, '/') : path);

// What calls as a rule send is not counted.
const HELD_BYTES_MIN = 65_536;

const overloaded = (): Problem =>
  new Problem('unavailable', 'There is more to do than can be done in time. Try again later.', {
    retryAfterSeconds: 1,
  });

const closing = (kind: 'malformed' | 'too-large', message: string): Problem =>
  new Problem(kind, message, { closes: true });
