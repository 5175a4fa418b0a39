import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { afterPoll } from '../base/event-loop.ts';
import type { Reply } from '../base/exchange.ts';
import type { BodyReceiver } from './body-receiver.ts';
import type { Peer } from './client-address.ts';
import { badRequest, type RawErrorResponse, requestTimeout, tooManyConnections } from './error-response.ts';
import type { Eviction } from './open-connections.ts';
import { type HandlingContext, RequestHandling } from './request-handling.ts';
import type { RequestHead } from './request-head.ts';
import { beginsRequest, type ParsedRequest, RequestParser } from './request-parser.ts';
import { ResponseWriter, type WriterSettings } from './response-writer.ts';
import { SocketInput } from './socket-input.ts';

/** What all connections of a server share. */
export interface ConnectionContext extends WriterSettings, HandlingContext {
  readonly bodies: BodyReceiver;
  readonly headerBytesMax: number;
  /** 0 for any number. */
  readonly requestsPerConnectionMax: number;
  /** The server stops: every response is the last one of its connection. */
  readonly isStopping: () => boolean;
}

/** For observers outside: a request has arrived, and its response was passed to the socket. */
const requestArrived = channel('columba.request');
const responseWritten = channel('columba.answered');

const NO_BYTES: Buffer = Buffer.alloc(0);
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/**
 * One connection. It handles one request at a time, in order (RFC 9112 §9.3.2). While it handles
 * one, it pauses the socket after at most one more chunk.
 *
 *                  request complete              reply                 not yet taken
 *     ┌─────────┐ ─────────────────► ┌──────────┐ ───► ResponseWriter ─────────────► ┌─────────┐
 *     │ reading │                    │ handling │                │                   │ writing │
 *     └─────────┘ ◄──────────────────└──────────┘ ◄── delay over │                   └─────────┘
 *       │     ▲       all taken        │      ▲                  │                     │     │
 *       │     │                        ▼      │                  │ last response       │     │
 *       │     │                      ┌──────────┐                │                     │     │
 *       │     │                      │ delayed  │ (rejection or  │                     │     │
 *       │     │                      └──────────┘  holdBack)     ▼                     │     │
 *       │     │                                             ┌─────────┐ ◄──────────────┘     │
 *       └─────┼── bad request, time-out, client ended ────► │ closing │   last response      │
 *             │                                             └─────────┘                      │
 *             └────────────────────────────── all taken ─────────────────────────────────────┘
 *
 * Time-outs: `reading` head, body or idle; `writing` send; `closing` linger. `handling` has none:
 * the handler has its own. A delayed connection may be closed to make room for another one.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #context: ConnectionContext;
  readonly #input: SocketInput;
  readonly #parser: RequestParser;
  readonly #writer: ResponseWriter;
  readonly #handling: RequestHandling;
  #state: 'reading' | 'handling' | 'delayed' | 'writing' | 'closing' = 'reading';
  #phaseStartedAt: number;
  /** The client has ended its side. */
  #isEnded = false;
  #requests = 0;
  /** A part of the current request was not read. */
  #bodyIncomplete = false;

  constructor(peer: Peer, context: ConnectionContext) {
    const { socket } = peer;
    this.#socket = socket;
    this.#context = context;
    this.#phaseStartedAt = context.timeouts.now();
    this.#input = new SocketInput(socket, context.pollBatches);
    this.#parser = new RequestParser({
      bodies: context.bodies,
      headerBytesMax: context.headerBytesMax,
      problemOf: (head) => context.requests.problemOf(head, peer),
      onExpectContinue: () => void socket.write(CONTINUE),
    });
    this.#writer = new ResponseWriter(socket, context, {
      onPieces: () => this.#enter('writing'),
      onWritten: (isLast) => this.#onResponseWritten(isLast),
      onFailed: ({ request, requestId, reply }, thrown) =>
        reply.failed ? this.#respond(request, requestId, reply.failed(thrown)) : socket.destroy(),
    });
    this.#handling = new RequestHandling(peer, context, {
      onReply: (head, requestId, reply) => this.#respond(head, requestId, reply),
      onDelayed: () => this.#enter('delayed'),
      onResumed: () => {
        if (this.#state === 'delayed') this.#state = 'handling';
      },
    });
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onEnd());
    socket.on('error', () => {}); // 'close' follows
    socket.on('close', () => this.#parser.drop());
  }

  /** Called at every tick of the time-outs. */
  onTick(): void {
    const { ticks, now } = this.#context.timeouts;
    const elapsed = now() - this.#phaseStartedAt;
    if (this.#state === 'reading') {
      const { stage } = this.#parser;
      if (stage === 'nothing' && this.#requests > 0) {
        if (elapsed > ticks.idle) this.closeIfIdle();
      } else if (elapsed > (stage === 'body' ? ticks.body : ticks.head)) this.#endWith(requestTimeout());
    } else if (this.#state === 'writing' || this.#socket.writableLength > 0) {
      if (elapsed > ticks.writing) this.#socket.destroy();
    } else if (this.#state === 'closing' && elapsed > ticks.closing) {
      this.#socket.destroy();
    }
  }

  closeIfIdle(): void {
    if (this.#isIdle) this.#socket.destroySoon();
  }

  get #isIdle(): boolean {
    return this.#state === 'reading' && this.#parser.stage === 'nothing';
  }

  /** Whether it can be closed to make room for another connection; undefined while it is in use. */
  get eviction(): Eviction | undefined {
    const { now, ticks } = this.#context.timeouts;
    const since = this.#phaseStartedAt;
    const isSilent = this.#state === 'reading' && this.#requests === 0;
    const isLong = now() - since > ticks.evictable;
    if (isSilent && isLong) return { rank: 0, since };
    if (this.#state === 'delayed') return { rank: 1, since };
    if (this.#isIdle && isLong) return { rank: 2, since };
    return isSilent ? { rank: 3, since } : undefined; // its request may be on its way
  }

  /** Closes it at once: no time-out watches it any longer. */
  evict(): void {
    this.#socket.write(tooManyConnections());
    this.#close(false);
  }

  #enter(state: 'reading' | 'delayed' | 'writing'): void {
    this.#state = state;
    this.#phaseStartedAt = this.#context.timeouts.now();
  }

  #onData(chunk: Buffer): void {
    const pollId = this.#input.batchOf(chunk, this.#parser.stage !== 'nothing');
    if (this.#state === 'closing') return; // lingering: arriving bytes are dropped
    if (this.#state === 'reading') {
      const isIdle = this.#requests > 0 && this.#parser.stage === 'nothing';
      if (isIdle && beginsRequest(chunk)) this.#phaseStartedAt = this.#context.timeouts.now();
      this.#parser.add(chunk);
      this.#readNext(pollId);
    } else {
      this.#parser.add(chunk);
      this.#input.pause();
    }
  }

  #onEnd(): void {
    this.#isEnded = true;
    if (this.#state === 'reading') this.#readNext(undefined);
  }

  #readNext(pollId: number | undefined): void {
    const next = this.#parser.next();
    if (typeof next === 'string') this.#endWith(next);
    else if (next) this.#handle(next, pollId);
    else this.#waitForBytes();
  }

  #waitForBytes(): void {
    if (this.#isEnded && this.#parser.stage !== 'nothing') this.#endWith(badRequest());
    else if (this.#isEnded) this.#socket.end();
    else this.#input.resume();
  }

  #handle(parsed: ParsedRequest, pollId: number | undefined): void {
    this.#state = 'handling';
    this.#bodyIncomplete = parsed.bodyIncomplete;
    this.#requests += 1;
    if (requestArrived.hasSubscribers) requestArrived.publish({ socket: this.#socket, method: parsed.head.method });
    this.#handling.begin(parsed, pollId);
  }

  #respond(request: RequestHead, requestId: string, reply: Reply): void {
    if (this.#socket.destroyed || this.#state === 'closing') return;
    const { requestsPerConnectionMax, isStopping } = this.#context;
    const isLast =
      this.#bodyIncomplete || // its rest must not be parsed as a request
      !request.persists ||
      reply.closes === true ||
      this.#requests === requestsPerConnectionMax ||
      isStopping();
    this.#writer.write({ request, requestId, reply, isLast });
  }

  #onResponseWritten(isLast: boolean): void {
    if (responseWritten.hasSubscribers) responseWritten.publish({ socket: this.#socket });
    if (isLast) {
      this.#close(this.#bodyIncomplete || this.#parser.stage !== 'nothing');
    } else if (this.#socket.writableLength === 0) {
      this.#onResponseTaken(); // usually the system has accepted everything by now
    } else {
      if (this.#state !== 'writing') this.#enter('writing');
      this.#socket.write(NO_BYTES, () => this.#onResponseTaken());
    }
  }

  #onResponseTaken(): void {
    this.#enter('reading');
    if (this.#parser.stage === 'nothing') {
      this.#waitForBytes();
      return;
    }
    // Each pipelined request has an event-loop turn: many of them delay nobody else.
    afterPoll(() => {
      if (this.#state === 'reading') this.#readNext(undefined);
    });
  }

  /** The bytes on this connection are not a request. */
  #endWith(response: RawErrorResponse): void {
    this.#socket.write(response);
    this.#close(true);
  }

  /**
   * RFC 9112 §9.6: a client that writes everything before it reads would lose the response if we
   * closed at once. Where it may still write, we read on until the linger time-out.
   */
  #close(mayStillSend: boolean): void {
    if (this.#state !== 'writing') this.#phaseStartedAt = this.#context.timeouts.now();
    this.#state = 'closing';
    this.#parser.drop();
    if (!mayStillSend) {
      this.#socket.destroySoon();
      return;
    }
    this.#socket.end();
    this.#socket.resume();
  }
}
