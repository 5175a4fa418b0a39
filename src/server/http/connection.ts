import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { type Handler, isWhole, type Reply } from '../../exchange.ts';
import type { Bodies } from './body-receiver.ts';
import type { Peer } from './client-address.ts';
import { pack } from './compression.ts';
import type { Spare } from './connection-slots.ts';
import { late, noRequest, noRoom } from './error-response.ts';
import { isProbe } from './host-header.ts';
import type { Overload } from './load-shedding.ts';
import type { Bursts } from './poll-batch.ts';
import type { Requests } from './request.ts';
import type { Head } from './request-head.ts';
import { requestIdOf } from './request-id.ts';
import { type Arrival, beginsRequest, isLineEnd, type LastWords, Reading } from './request-parser.ts';
import type { Collecting, Pieces } from './response-collector.ts';
import { type Framing, headOf, sendPieces } from './response-writer.ts';

/** What all connections of a server have in common. */
export interface Host {
  readonly handle: Handler;
  readonly requests: Requests;
  readonly bodies: Bodies;
  readonly overload: Overload;
  readonly bursts: Bursts;
  readonly collecting: Collecting;
  readonly headerBytesMax: number;
  /** 0 for any number. */
  readonly requestsPerConnectionMax: number;
  /** How many ticks of the server's clock each may take. */
  readonly patience: { readonly [S in 'head' | 'body' | 'idle' | 'spare' | 'again' | 'sending' | 'last']: number };
  /** The header fields that say whether the connection stays open. */
  readonly stay: (isLast: boolean) => string;
  /** The clock, which a server that stands still does not advance. */
  readonly now: () => number;
  /** Whether every answer is the last one of its connection. */
  readonly isClosing: () => boolean;
  /** Told how many bytes of a body go out. */
  readonly sent: (bytes: number) => void;
}

/** For who watches from outside: a request is there, and its answer has been handed to the system. */
const began = channel('columba.request');
const answered = channel('columba.answered');

const NOTHING: Buffer = Buffer.alloc(0);
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/**
 * One connection, on which requests are answered one after the other (RFC 9112 §9.3.2 forbids another order for most calls).
 * While one is answered nothing more is read: who sends ahead keeps what is sent.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #peer: Peer;
  readonly #host: Host;
  readonly #reading: Reading;
  /** `heldBack`: only its refusal waits to be told. `last`: it has got its last answer. */
  #state: 'reading' | 'busy' | 'heldBack' | 'sending' | 'last' = 'reading';
  /** When what is waited for began. */
  #since: number;
  #isPaused = false;
  /** What comes was read from the system while it was paused. */
  #isResuming = false;
  /** The turn of the event loop in which something came last. */
  #turn = 0;
  /** The client has said that it sends no more. */
  #isEnded = false;
  #served = 0;
  /** When it was last refused for overload. */
  #refusedAt = Number.NEGATIVE_INFINITY;
  /** A part of the request that is answered was not read. */
  #isCut = false;

  constructor(peer: Peer, host: Host) {
    this.#peer = peer;
    this.#socket = peer.socket;
    this.#host = host;
    this.#since = host.now();
    this.#reading = new Reading({
      ...{ bodies: host.bodies, headerBytesMax: host.headerBytesMax },
      problemOf: (head) => host.requests.problemOf(head, peer),
      expected: () => void this.#socket.write(CONTINUE),
    });
    this.#socket.on('data', (chunk: Buffer) => {
      if (this.#isInBurst(chunk)) host.bursts.enter();
      try {
        this.#came(chunk);
      } finally {
        host.bursts.leave();
      }
    });
    this.#socket.on('end', () => {
      this.#isEnded = true;
      if (this.#state === 'reading') this.#read();
    });
    this.#socket.on('error', () => {}); // it is closed after it
    this.#socket.on('close', () => this.#reading.drop());
  }

  /** Called at every tick of the clock. */
  check(): void {
    const { patience, now } = this.#host;
    const waited = now() - this.#since;
    if (this.#state === 'reading') {
      const { stage } = this.#reading;
      if (stage === 'nothing' && this.#served > 0) {
        if (waited > patience.idle) this.closeIfIdle();
      } else if (waited > (stage === 'body' ? patience.body : patience.head)) this.#end(late());
    } else if (this.#state === 'sending' || this.#socket.writableLength > 0) {
      if (waited > patience.sending) this.#socket.destroy(); // it must not hold its answer, and its connection, for ever
    } else if (this.#state === 'last' && waited > patience.last) {
      this.#socket.destroy();
    }
  }

  closeIfIdle(): void {
    if (this.#isIdle) this.#socket.destroySoon();
  }

  get #isIdle(): boolean {
    return this.#state === 'reading' && this.#reading.stage === 'nothing';
  }

  /** How easily its place can be given to another: the lower the easier; undefined while it is in use. */
  get spare(): Spare | undefined {
    const { now, patience } = this.#host;
    const since = this.#since;
    const isSilent = this.#state === 'reading' && this.#served === 0;
    const isLong = now() - since > patience.spare;
    if (isSilent && isLong) return { rank: 0, since };
    if (this.#state === 'heldBack') return { rank: 1, since };
    if (this.#isIdle && isLong) return { rank: 2, since };
    return isSilent ? { rank: 3, since } : undefined; // its request may be on its way
  }

  /** Its place is needed. It is not listened to any longer, as it is nobody's to look after from now on. */
  drop(): void {
    this.#socket.write(noRoom());
    this.#close(false);
  }

  /**
   * Whether the request in it had begun to come when the system said that there is something to read.
   * That is certain for the first chunk of a turn alone: libuv reads again in the same turn after a
   * chunk that filled its 64 KiB, and what it reads then may have been sent later.
   */
  #isInBurst(chunk: Buffer): boolean {
    const turn = this.#host.bursts.turn();
    const isFirst = turn !== this.#turn;
    this.#turn = turn;
    const isInside = this.#reading.stage !== 'nothing' || !isLineEnd(chunk[0]);
    return isFirst && isInside && !this.#isResuming;
  }

  #came(chunk: Buffer): void {
    if (this.#state === 'last') return; // it is only taken off the line
    if (this.#state === 'reading') {
      if (this.#served > 0 && this.#reading.stage === 'nothing' && beginsRequest(chunk)) this.#since = this.#host.now();
      this.#reading.add(chunk);
      this.#read();
    } else {
      this.#reading.add(chunk);
      this.#isPaused = true;
      this.#socket.pause();
    }
  }

  #read(): void {
    const next = this.#reading.next();
    if (typeof next === 'string') this.#end(next);
    else if (next) this.#serve(next);
    else this.#wait();
  }

  /** What has come is not enough. */
  #wait(): void {
    if (this.#isEnded && this.#reading.stage !== 'nothing') this.#end(noRequest());
    else if (this.#isEnded) this.#socket.end();
    else if (this.#isPaused) {
      this.#isPaused = false;
      this.#isResuming = true;
      this.#socket.resume(); // hands over what it holds in the next tick
      process.nextTick(() => {
        this.#isResuming = false;
      });
    }
  }

  #serve(arrival: Arrival): void {
    const { overload, bursts } = this.#host;
    const { head, body } = arrival;
    this.#state = 'busy';
    this.#isCut = arrival.isCut;
    this.#served += 1;
    if (began.hasSubscribers) began.publish({ socket: this.#socket, method: head.method });
    const verdict = isProbe(head) ? 'now' : overload.judge();
    if (verdict === 'now') this.#perform(arrival);
    else if (verdict === 'refused') this.#refuse(head);
    else {
      const serve = (slice: number) => {
        if (this.#socket.destroyed) return; // nobody waits for it
        bursts.enterSlice(slice);
        this.#perform(arrival);
        bursts.leave();
      };
      overload.line(body instanceof Uint8Array ? body.length : 0, serve, () => this.#refuse(head));
    }
  }

  #perform({ head, refused, body }: Arrival): void {
    const { requests, overload, handle } = this.#host;
    const request = requests.make(head, this.#peer, refused, body, this.#holdBack);
    overload.started();
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
          this.#pack(head, request.id, ready);
        },
        () => {
          request.release();
          this.#fail();
        },
      );
    } else {
      request.release();
      this.#pack(head, request.id, reply);
    }
  }

  /** Costs little: it is not even made a request. Who has asked again too soon is told so later, and so slowed down. */
  #refuse(head: Head): void {
    const { overload, now, patience } = this.#host;
    const answer = () => {
      this.#refusedAt = now();
      this.#answer(head, requestIdOf(head.headers['x-request-id']), BUSY);
    };
    if (now() - this.#refusedAt > patience.again) answer();
    else {
      this.#state = 'heldBack';
      this.#since = now();
      overload.later(answer);
    }
  }

  /** Its place may be given to another meanwhile, who then need not wait for guesses to be answered. */
  readonly #holdBack = async (wait: () => Promise<void>): Promise<void> => {
    const { overload, now } = this.#host;
    overload.ended();
    this.#state = 'heldBack';
    this.#since = now();
    await wait().finally(() => {
      overload.started();
      if (this.#state === 'heldBack') this.#state = 'busy';
    });
  };

  /** Everything is answered: this is for what cannot be answered. */
  #fail(): void {
    this.#host.overload.ended();
    this.#socket.destroy();
  }

  #pack(head: Head, id: string, reply: Reply): void {
    this.#host.overload.ended();
    const packed = pack(reply, head.headers['accept-encoding']);
    if (packed instanceof Promise) {
      packed.then(
        (ready) => this.#answer(head, id, ready),
        () => this.#socket.destroy(),
      );
    } else this.#answer(head, id, packed);
  }

  #answer(head: Head, id: string, reply: Reply): void {
    if (this.#socket.destroyed || this.#state === 'last') return;
    const { requestsPerConnectionMax, isClosing, sent, stay } = this.#host;
    const isLast =
      this.#isCut || // the rest of it must not be taken for a request
      !head.persists ||
      reply.closes ||
      this.#served === requestsPerConnectionMax ||
      isClosing();
    const { body } = reply;
    if (!isWhole(body)) {
      this.#answerInPieces(head, id, reply, body, isLast);
      return;
    }
    // As a text of one character a byte it goes out in one write with the head; encoding it there would cost several times as much.
    const bytes =
      typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const content = head.method === 'HEAD' ? '' : bytes.toString('latin1');
    sent(content.length);
    this.#socket.write(headOf(reply, id, bytes.length, stay(isLast)) + content, 'latin1');
    this.#handedOver(isLast);
  }

  #answerInPieces(head: Head, id: string, reply: Reply, pieces: Pieces, isLast: boolean): void {
    const unmeasured = head.version === '1.0' ? 'closed' : 'chunked';
    if (head.method === 'HEAD') {
      this.#socket.write(headOf(reply, id, unmeasured, this.#host.stay(true)), 'latin1');
      this.#handedOver(true);
      return;
    }
    const fail = (thrown: unknown) =>
      reply.failed ? this.#answer(head, id, reply.failed(thrown)) : this.#socket.destroy();
    this.#host.collecting
      .collect(reply, pieces, () => this.#socket.destroyed)
      .then((whole) => whole && this.#sendPieces(reply, id, whole.pieces, whole.length ?? unmeasured, isLast), fail);
  }

  #sendPieces(reply: Reply, id: string, pieces: Pieces, framing: Framing, isLast: boolean): void {
    const closes = isLast || framing === 'closed';
    const head = headOf(reply, id, framing, this.#host.stay(closes));
    this.#state = 'sending';
    this.#since = this.#host.now();
    sendPieces(this.#socket, head, pieces, framing === 'chunked', this.#host.sent).then(
      () => this.#handedOver(closes),
      () => this.#socket.destroy(), // a part must not be taken for the whole
    );
  }

  #handedOver(isLast: boolean): void {
    if (answered.hasSubscribers) answered.publish({ socket: this.#socket });
    if (isLast) {
      this.#close(this.#isCut || this.#reading.stage !== 'nothing');
    } else if (this.#socket.writableLength === 0) {
      this.#goOn(); // mostly the system has taken it all by now
    } else {
      if (this.#state !== 'sending') this.#since = this.#host.now();
      this.#state = 'sending';
      this.#socket.write(NOTHING, () => this.#goOn());
    }
  }

  #goOn(): void {
    this.#state = 'reading';
    this.#since = this.#host.now();
    if (this.#reading.stage === 'nothing') {
      this.#wait();
      return;
    }
    // In a turn of its own, so that who sends many at once holds up nobody.
    setImmediate(() => {
      if (this.#state === 'reading') this.#read();
    });
  }

  /** Nothing more can be read from it. */
  #end(lastWords: LastWords): void {
    this.#socket.write(lastWords);
    this.#close(true);
  }

  /**
   * A client that writes all before it reads would lose the answer if we closed while it writes (RFC 9112 §9.6): then it is
   * listened to a little longer.
   */
  #close(mayStillTalk: boolean): void {
    if (this.#state !== 'sending') this.#since = this.#host.now();
    this.#state = 'last';
    this.#reading.drop();
    if (!mayStillTalk) {
      this.#socket.destroySoon();
      return;
    }
    this.#socket.end();
    this.#socket.resume();
  }
}

const BUSY: Reply = {
  status: 503,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'private', 'Retry-After': '1' },
  body: 'There is more to do than can be done in time. Try again later.\n',
};
