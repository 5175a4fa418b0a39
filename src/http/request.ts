import type { Request } from '../base/exchange.ts';
import { Problem } from '../base/problem.ts';
import type { BodyReceiver } from './body-receiver.ts';
import type { Addresses, Peer } from './client-address.ts';
import { decompress } from './compression.ts';
import type { RequestHead } from './request-head.ts';
import { requestIdOf, traceparentOf } from './request-id.ts';

/** Turns what the parser found on a connection into Requests, which are plain data. */
export interface RequestLimits {
  readonly urlLengthMax: number;
  readonly inflatedBytesMax: number;
}

export type Requests = ReturnType<typeof createRequests>;

export function createRequests(
  { urlLengthMax, inflatedBytesMax }: RequestLimits,
  addresses: Addresses,
  bodies: Pick<BodyReceiver, 'hold' | 'release'>,
  isOverloaded: () => boolean,
) {
  const shared: SharedParts = { addresses, bodies, inflatedBytesMax, isOverloaded };
  return {
    /**
     * Why a request is rejected whatever it asks for, because a proxy may have parsed it
     * differently.
     */
    problemOf(head: RequestHead, peer: Peer): Problem | undefined {
      if (head.target.length > urlLengthMax) {
        return closing('too-large', `The address of a request has at most ${urlLengthMax} characters.`);
      }
      if (head.version !== '1.1' && head.version !== '1.0') {
        return closing('malformed', 'Only HTTP/1.1 and HTTP/1.0 are supported.');
      }
      if (Number.isNaN(head.length) || (head.length === 'chunked' && head.version === '1.0')) {
        return closing('malformed', 'The only Transfer-Encoding is chunked, in HTTP/1.1.');
      }
      return addresses.hostProblem(head, peer);
    },
    make: (parts: RequestParts): Request & { id: string; release(): void } => new ReceivedRequest(shared, parts),
  };
}

/** What all requests of a server use. */
interface SharedParts {
  readonly addresses: Addresses;
  readonly bodies: Pick<BodyReceiver, 'hold' | 'release'>;
  readonly inflatedBytesMax: number;
  readonly isOverloaded: () => boolean;
}

class ReceivedRequest implements Request {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHead['headers'];
  readonly client: string;
  readonly id: string;
  readonly traceparent: string | undefined;
  readonly refused: Problem | undefined;
  readonly pollId: number | undefined;
  readonly holdBack: Request['holdBack'];
  readonly #shared: SharedParts;
  readonly #head: RequestHead;
  readonly #peer: Peer;
  #body: Uint8Array | Problem | Promise<Uint8Array>;
  #isCompressed: boolean;
  #heldBytes = 0;

  constructor(shared: SharedParts, { head, peer, refused, body, pollId, holdBack }: RequestParts) {
    const { method, target, headers } = head;
    const { basePath, client } = shared.addresses.of(head, peer);
    // The absolute form, which servers must accept (RFC 9112 §3.2.2).
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
    this.pollId = pollId;
    this.holdBack = holdBack;
    this.#shared = shared;
    this.#head = head;
    this.#peer = peer;
    this.#body = body;
    this.#isCompressed = headers['content-encoding'] !== undefined;
  }

  get base(): string {
    return this.#shared.addresses.of(this.#head, this.#peer).base;
  }

  body(): Uint8Array | Promise<Uint8Array> {
    if (this.#body instanceof Problem) throw this.#body;
    if (this.#body instanceof Promise) return this.#body;
    if (!this.#isCompressed) {
      if (this.#heldBytes === 0 && this.#body.length > HELD_BYTES_MIN) this.#hold(this.#body.length);
      return this.#body;
    }
    this.#body = this.#decompress(this.#body, this.headers['content-encoding'] ?? '');
    return this.#body;
  }

  /** Decompression may have waited for a thread, so the load is judged again after it. */
  async #decompress(bytes: Uint8Array, coding: string): Promise<Uint8Array> {
    this.#hold(bytes.length);
    const decompressed = await decompress(bytes, coding, this.#shared.inflatedBytesMax);
    if (this.#shared.isOverloaded()) throw overloaded();
    this.#hold(decompressed.length);
    return decompressed;
  }

  #hold(bytes: number): void {
    this.#shared.bodies.hold(bytes);
    this.#heldBytes += bytes;
  }

  /** Called when the reply is ready: the bytes of the body no longer count. */
  release(): void {
    if (this.#heldBytes > 0) this.#shared.bodies.release(this.#heldBytes);
    this.#heldBytes = 0;
  }
}

/** What a request is made of. */
export interface RequestParts {
  readonly head: RequestHead;
  readonly peer: Peer;
  readonly refused: Problem | undefined;
  readonly body: Uint8Array | Problem;
  readonly pollId: number | undefined;
  readonly holdBack: Request['holdBack'];
}

/**
 * Treats `/api//inbox.asmx` as `/api/inbox.asmx`, like IIS, because old programs join URLs with two
 * slashes.
 */
const withSingleSlashes = (path: string): string => (path.includes('//') ? path.replace(/\/{2,}/g, '/') : path);

// The bodies of usual calls are not counted.
const HELD_BYTES_MIN = 65_536;

const overloaded = (): Problem =>
  new Problem('unavailable', 'The service is overloaded. Try again later.', {
    retryAfterSeconds: 1,
  });

const closing = (kind: 'malformed' | 'too-large', message: string): Problem =>
  new Problem(kind, message, { closes: true });
