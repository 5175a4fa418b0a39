import { type Handler, isWhole, type Reply } from '../base/exchange.ts';
import type { Peer } from './client-address.ts';
import { compress } from './compression.ts';
import { isProbe } from './host-header.ts';
import type { LoadShedder } from './load-shedding.ts';
import type { OpenBodies } from './open-bodies.ts';
import type { PollBatches } from './poll-batch.ts';
import type { Requests } from './request.ts';
import type { RequestHead } from './request-head.ts';
import { requestIdOf } from './request-id.ts';
import type { ParsedRequest } from './request-parser.ts';
import type { Timeouts } from './timeouts.ts';

/** What the requests of all connections share. */
export interface HandlingContext {
  readonly handle: Handler;
  readonly requests: Requests;
  readonly loadShedder: LoadShedder;
  readonly pollBatches: PollBatches;
  readonly openBodies: OpenBodies;
  readonly timeouts: Timeouts;
}

/** The connection of the requests. */
export interface HandlingEvents {
  onReply(request: RequestHead, requestId: string, reply: Reply): void;
  /** The reply waits, and the connection may be closed to make room for another one. */
  onDelayed(): void;
  onResumed(): void;
}

const OVERLOADED: Reply = {
  status: 503,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'private', 'Retry-After': '1' },
  body: 'The service is overloaded. Try again later.\n',
};

/** From a parsed request to its compressed reply, for the requests of one connection. */
export class RequestHandling {
  readonly #peer: Peer;
  readonly #context: HandlingContext;
  readonly #connection: HandlingEvents;
  #rejectedAt = Number.NEGATIVE_INFINITY;

  constructor(peer: Peer, context: HandlingContext, connection: HandlingEvents) {
    this.#peer = peer;
    this.#context = context;
    this.#connection = connection;
  }

  /** Handles the request now, or in the queue of load shedding, or rejects it. */
  begin(parsed: ParsedRequest, pollId: number | undefined): void {
    const { loadShedder, pollBatches } = this.#context;
    const { head, body } = parsed;
    const verdict = isProbe(head) ? 'now' : loadShedder.decide();
    if (verdict === 'now') this.#handle(parsed, pollId);
    else if (verdict === 'reject') this.#reject(head);
    else {
      const handle = (slice: number) => {
        if (!this.#peer.socket.destroyed) this.#handle(parsed, pollBatches.ofSlice(slice));
      };
      loadShedder.queue(body instanceof Uint8Array ? body.length : 0, handle, () => this.#reject(head));
    }
  }

  #handle({ head, refused, body }: ParsedRequest, pollId: number | undefined): void {
    const { requests, loadShedder, handle } = this.#context;
    const request = requests.make({ head, peer: this.#peer, refused, body, pollId, holdBack: this.#holdBack });
    loadShedder.begin();
    let reply: Reply | Promise<Reply>;
    try {
      reply = handle(request);
    } catch {
      this.#fail();
      return;
    }
    if (reply instanceof Promise) {
      reply.then(
        (ready) => {
          request.release();
          this.#compress(head, request.id, ready);
        },
        () => {
          request.release();
          this.#fail();
        },
      );
    } else {
      request.release();
      this.#compress(head, request.id, reply);
    }
  }

  /**
   * Costs little: no Request is made. A client that repeats too soon gets its 503 after a delay.
   */
  #reject(head: RequestHead): void {
    const { loadShedder, timeouts } = this.#context;
    const respond = () => {
      this.#rejectedAt = timeouts.now();
      this.#connection.onReply(head, requestIdOf(head.headers['x-request-id']), OVERLOADED);
    };
    if (timeouts.now() - this.#rejectedAt > timeouts.ticks.retry) respond();
    else {
      this.#connection.onDelayed();
      loadShedder.delayRejection(respond);
    }
  }

  readonly #holdBack = async (wait: () => Promise<void>): Promise<void> => {
    const { loadShedder } = this.#context;
    loadShedder.end();
    this.#connection.onDelayed();
    await wait().finally(() => {
      loadShedder.begin();
      this.#connection.onResumed();
    });
  };

  /** A handler maps every error to a reply. This is for a handler that failed to. */
  #fail(): void {
    this.#context.loadShedder.end();
    this.#peer.socket.destroy();
  }

  #compress(head: RequestHead, id: string, reply: Reply): void {
    this.#context.loadShedder.end();
    const tracked = isWhole(reply.body) ? reply : { ...reply, body: this.#context.openBodies.track(reply.body) };
    const compressed = compress(tracked, head.headers['accept-encoding']);
    if (compressed instanceof Promise) {
      compressed.then(
        (ready) => this.#connection.onReply(head, id, ready),
        () => this.#peer.socket.destroy(),
      );
    } else this.#connection.onReply(head, id, compressed);
  }
}
