import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RawAnswer } from '../compare/redaction.ts';
import {
  ANSWER_BYTES_MAX,
  type Beginning,
  beginningOf,
  type ClientConnection,
  cutOff,
  endToEnd,
  isClosing,
  isUnavailableStatus,
  pairsOf,
  type Upstream,
} from '../old-server/upstream.ts';
import { AnswerCopy } from './answer-copy.ts';

export interface Forwarding {
  /** Whether the rest of the body still comes from the client. */
  readonly isBeginning?: boolean;
  readonly rawHeaders?: readonly string[];
  /** Whether another server can answer: then it rejects with Unavailable by the status. */
  readonly isReplaceable?: boolean;
  /** Awaited before the client gets anything of the answer. */
  readonly before?: (answer: RawAnswer) => Promise<void>;
}

export interface RelayParts {
  readonly connection: ClientConnection;
  /** The bytes of all copies of answers, which share a limit. */
  readonly copies: { bytes: number };
  readonly monotonic: () => number;
}

/** The server behind does not serve now, and another one can answer. */
export class Unavailable extends Error {}

/** Passes a client's request to a server behind the proxy, and the answer back. */
export class Relay {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #parts: RelayParts;

  constructor(request: IncomingMessage, response: ServerResponse, parts: RelayParts) {
    this.#request = request;
    this.#response = response;
    this.#parts = parts;
  }

  /**
   * Forwards the request, and the answer as it arrives. Resolves with a copy of the answer when the
   * client has all of it; undefined if the exchange ended before.
   */
  forward(
    upstream: Upstream,
    body: Uint8Array | undefined,
    {
      isBeginning = body === undefined,
      rawHeaders = this.#request.rawHeaders,
      isReplaceable = false,
      before,
    }: Forwarding = {},
  ): Promise<RawAnswer | undefined> {
    const { method = '', url = '/' } = this.#request;
    const agent = this.#parts.connection.agentFor(upstream);
    const startedAt = this.#parts.monotonic();
    return new Promise((resolve, reject) => {
      const sent = upstream.begin({ method, target: url, rawHeaders }, agent);
      const onGone = () => {
        if (!this.#response.writableFinished) sent.destroy();
      };
      this.#response.once('close', onGone);
      // If another server can answer, the client does not notice that this one is gone.
      if (!isReplaceable) sent.once('socket', (socket) => this.#parts.connection.follow(socket));
      sent.on('error', reject);
      sent.on('response', (answer) => {
        if (isReplaceable && isUnavailableStatus(answer.statusCode ?? 0)) {
          this.#response.off('close', onGone);
          answer.resume();
          reject(new Unavailable(`the status ${answer.statusCode}`));
          return;
        }
        const relaying = before ? this.#relayLater(answer, startedAt, before) : this.#relay(answer, startedAt);
        relaying.then((copy) => {
          this.#response.off('close', onGone);
          resolve(copy);
        }, reject);
      });
      if (!isBeginning) sent.end(body);
      else {
        if (body) sent.write(body);
        this.#request.pipe(sent);
      }
    });
  }

  /** Gives the client nothing of the answer before `before` is done. */
  async #relayLater(
    answer: IncomingMessage,
    startedAt: number,
    before: NonNullable<Forwarding['before']>,
  ): Promise<RawAnswer | undefined> {
    const { bytes, isWhole } = await beginningOf(answer, ANSWER_BYTES_MAX, cutOff);
    const { statusCode: status = 0, rawHeaders } = answer;
    const ms = this.#parts.monotonic() - startedAt;
    await before({ status, rawHeaders, body: isWhole ? bytes : undefined, ms });
    // The close event of a client that left meanwhile has already passed.
    return this.#response.destroyed ? undefined : this.#relay(answer, startedAt, { bytes, isWhole });
  }

  #relay(answer: IncomingMessage, startedAt: number, start?: Beginning): Promise<RawAnswer | undefined> {
    const response = this.#response;
    this.#writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', answer.rawHeaders);
    const copy = new AnswerCopy(this.#parts.copies);
    if (start) {
      copy.add(start.bytes);
      response.write(start.bytes);
    }
    let ms = 0;
    return new Promise((resolve, reject) => {
      answer.on('data', (chunk: Buffer) => copy.add(chunk));
      answer.on('error', reject);
      response.once('close', () => {
        copy.release();
        const isWhole = answer.complete && response.writableFinished;
        const { statusCode: status = 0, rawHeaders } = answer;
        resolve(isWhole ? { status, rawHeaders, body: copy.bytes, ms } : undefined);
      });
      const end = (): void => {
        ms = this.#parts.monotonic() - startedAt;
        const trailers = pairsOf(answer.rawTrailers);
        if (trailers.length > 0) response.addTrailers(trailers);
        response.end();
      };
      if (start?.isWhole) return end();
      answer.on('end', end);
      answer.pipe(response, { end: false });
    });
  }

  /** Sends an answer that is complete. */
  give({ status, rawHeaders, body }: RawAnswer): void {
    this.#writeHead(status, '', rawHeaders);
    this.#response.end(body);
  }

  #writeHead(status: number, message: string, rawHeaders: readonly string[]): void {
    const response = this.#response;
    response.sendDate = false; // the server behind sends its own
    const fields = pairsOf(endToEnd(rawHeaders)).filter(([name]) => name.toLowerCase() !== 'transfer-encoding');
    if (isClosing(rawHeaders)) response.shouldKeepAlive = false;
    response.writeHead(status, message || undefined, fields.flat());
  }

  refuse(status: number, sentence: string): void {
    const text = `${sentence}\n`;
    this.#response.writeHead(status, {
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
      ...(status === 503 ? { 'Retry-After': '5' } : {}),
    });
    this.#response.end(text);
  }
}
