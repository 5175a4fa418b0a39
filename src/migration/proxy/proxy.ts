import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { RawAnswer, RawRequest } from '../compare/redaction.ts';
import type { Syncs } from '../copy/syncs.ts';
import { nameCall, readCall, type SeenCall, unknownCall } from '../old-server/call-reader.ts';
import { isTlsFailure } from '../old-server/server-tls.ts';
import {
  ANSWER_BYTES_MAX,
  type Beginning,
  beginningOf,
  ClientConnection,
  cutOff,
  endToEnd,
  isClosing,
  isRefused,
  isUnavailableStatus,
  pairsOf,
  type Upstream,
} from '../old-server/upstream.ts';
import { UNKNOWN } from '../stages/counts.ts';
import { AnswerCopy } from './answer-copy.ts';
import type { ClientInventory } from './client-inventory.ts';
import { stageOfRead } from './client-rules.ts';
import type { ComparedWrites } from './compared-writes.ts';
import { type Lead, NotNow } from './lead.ts';
import { keyOf, type PendingCounts } from './pending-counts.ts';
import { withClient } from './sealed-write.ts';
import { queueKeyOf, type Shadow } from './shadow.ts';
import type { AccountOfCall, StageCache } from './stage-cache.ts';

/**
 * A reverse proxy in front of the old server and Columba. Which of them answers a call depends on
 * the stage of its account. Bodies and end-to-end header fields pass unchanged.
 */
export interface ProxySettings {
  readonly old: Upstream;
  readonly columba: Upstream;
  readonly stages: Pick<StageCache, 'of' | 'defaultStage' | 'readStage'>;
  readonly shadow: Pick<Shadow, 'observe' | 'applied'>;
  readonly lead: Pick<Lead, 'write' | 'drained' | 'isReady' | 'isOldComplete' | 'noteFailure'>;
  readonly compared: ComparedWrites;
  /** Called for each call of an account that is compared, which is synced soon. */
  readonly compareSoon: (account: bigint | null, userId: string) => void;
  /** Undefined if nothing is synced. */
  readonly syncs: Pick<Syncs, 'freshen'> | undefined;
  readonly pendingCounts: PendingCounts;
  readonly clients: Pick<ClientInventory, 'note' | 'addressOf'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly failed: (thrown: unknown) => void;
}

export interface ReverseProxy {
  readonly server: Server;
  /** Whether everything goes to the old server, and nothing else happens. */
  isPassThrough: boolean;
  listen(port: number, host: string): Promise<number>;
  close(): Promise<void>;
}

// Longer requests go to the server of the default stage and are not compared.
const BODY_BYTES_MAX = 1_048_576;
const CONNECTIONS_MAX = 10_000;
const IDLE_MS = 120_000;
const HEAD_BYTES_MAX = 65_536;

export function createProxy(settings: ProxySettings): ReverseProxy {
  const connections = new WeakMap<Socket, ClientConnection>();
  const copies = { bytes: 0 };
  const server = createServer(
    { keepAlive: true, noDelay: true, maxHeaderSize: HEAD_BYTES_MAX, requestTimeout: 300_000, headersTimeout: 60_000 },
    (request, response) => {
      const connection = connectionOf(request.socket);
      connection.began();
      response.once('close', () => connection.ended());
      const exchange = new ProxyExchange(request, response, connection, settings, copies);
      (proxy.isPassThrough ? exchange.passThrough() : exchange.run()).catch((thrown) => exchange.fail(thrown));
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  server.keepAliveTimeout = IDLE_MS;

  function connectionOf(socket: Socket): ClientConnection {
    const found = connections.get(socket) ?? new ClientConnection(socket);
    connections.set(socket, found);
    return found;
  }

  const proxy: ReverseProxy = {
    server,
    isPassThrough: false,
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve((server.address() as { port: number }).port);
        });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
  return proxy;
}

/** One request of a client on its way to its answer. */
class ProxyExchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connection: ClientConnection;
  readonly #settings: ProxySettings;
  readonly #copies: { bytes: number };
  readonly #at: number;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    connection: ClientConnection,
    settings: ProxySettings,
    copies: { bytes: number },
  ) {
    this.#request = request;
    this.#response = response;
    this.#connection = connection;
    this.#settings = settings;
    this.#copies = copies;
    this.#at = settings.clock.now();
  }

  async passThrough(): Promise<void> {
    await this.#forward(this.#settings.old, undefined);
  }

  async run(): Promise<void> {
    const { stages, old, columba } = this.#settings;
    const start = await beginningOf(this.#request, BODY_BYTES_MAX, () => new ClientGone());
    if (!start.isWhole) {
      this.#settings.clients.note(this.#request, null);
      const isOurs = stages.defaultStage === 'lead' || stages.defaultStage === 'alone';
      await this.#forward(isOurs ? columba : old, start.bytes, { isBeginning: true });
      if (stages.defaultStage === 'compare') this.#countDropped(start.bytes);
      return;
    }
    const request = this.#raw(start.bytes);
    const call = readCall({ ...request, headers: this.#request.headers, body: start.bytes });
    if (call) this.#settings.clients.note(this.#request, call);
    const found = stages.of(call?.userId ?? null);
    await this.#answer(call, request, found instanceof Promise ? await found : found);
  }

  async #answer(call: SeenCall | null, request: RawRequest, known: AccountOfCall): Promise<void> {
    const { old, columba, lead, shadow } = this.#settings;
    const { account } = known;
    if (known.isStageUnknown) return this.#refuse(503, 'The stage of this account is not known now.');
    const client = this.#settings.clients.addressOf(this.#request);
    const { headers } = this.#request;
    const stage =
      call && !call.changes
        ? await stageOfRead(this.#settings, call, known, { address: client, headers })
        : known.stage;
    if (stage === 'record' || stage === 'compare') {
      if (known.hasWaiting && account !== null) await lead.drained(account);
      if (stage === 'compare' && call?.userId) this.#settings.compareSoon(account, call.userId);
      if (stage === 'compare' && call?.changes && account !== null)
        return this.#writeCompared(call, client, request, account);
      const answer = await this.#forward(old, request.body);
      if (answer) shadow.observe({ at: this.#at, stage, call, client, request, old: answer });
      if (call === null) this.#countUnknown(request, answer);
      return;
    }
    if (call === null) this.#settings.clients.note(this.#request, null);
    const own = withClient(request, this.#request.socket.remoteAddress);
    if (stage === 'lead') return this.#answerLed(call, own, account);
    const answer = await this.#forward(columba, request.body, { rawHeaders: own.rawHeaders });
    if (answer && call) this.#countLed(call, answer);
  }

  /** The old server answers. Its result is in the database before the client knows it. */
  async #writeCompared(call: SeenCall, client: string, request: RawRequest, account: bigint): Promise<void> {
    const { old, compared, shadow } = this.#settings;
    const { answer, id } = await compared.write(account, call, request, (before) =>
      this.#forward(old, request.body, { before }),
    );
    const write = id === undefined ? undefined : { account, id };
    if (answer) shadow.observe({ at: this.#at, stage: 'compare', call, client, request, old: answer, write });
  }

  /** Columba answers. If it does not, the old server does, which has every write. */
  async #answerLed(call: SeenCall | null, own: RawRequest, account: bigint | null): Promise<void> {
    const { old, columba, lead, syncs } = this.#settings;
    if (call?.changes && account !== null) {
      const answer = await lead.write(account, call, own);
      this.#give(answer);
      if (answer.isOld) this.#countMissed(call);
      else this.#countLed(call, answer);
      return;
    }
    if (await lead.isReady(account, call?.userId ?? null)) {
      if (call && !call.changes) await syncs?.freshen(queueKeyOf(call));
      try {
        const answer = await this.#forward(columba, own.body, { rawHeaders: own.rawHeaders, isReplaceable: true });
        if (answer && call) this.#countLed(call, answer);
        return;
      } catch (thrown) {
        if (this.#response.headersSent || this.#response.destroyed) throw thrown;
        if (!(thrown instanceof Unavailable)) lead.noteFailure();
        this.#settings.failed(thrown);
      }
    }
    if (account !== null && !(await lead.isOldComplete(account))) throw new NotNow();
    await this.#forward(old, own.body);
    if (call) this.#countMissed(call);
  }

  /**
   * Counts an operation that the old server has and Columba lacks. A name that the old server
   * refuses is not counted, so a caller cannot add names by making them up.
   */
  #countUnknown({ target, body = new Uint8Array() }: RawRequest, answer: RawAnswer | undefined): void {
    const { method = '', headers } = this.#request;
    const unknown = answer && answer.status < 300 ? unknownCall({ method, target, headers, body }) : null;
    if (unknown) this.#settings.pendingCounts.add(keyOf(unknown), UNKNOWN);
    this.#settings.clients.note(this.#request, unknown);
  }

  /** Counts a request whose body is too long to be read, which may have changed data there. */
  #countDropped(body: Uint8Array): void {
    const { method = '', url: target = '/', headers } = this.#request;
    const call = nameCall({ method, target, headers, body });
    if (call) this.#settings.pendingCounts.add(keyOf(call), 'dropped');
  }

  #countMissed(call: SeenCall): void {
    this.#settings.pendingCounts.add(keyOf(call), 'failed', 'Columba did not answer, and the old server did');
  }

  #countLed(call: SeenCall, { status, ms }: RawAnswer): void {
    const { pendingCounts } = this.#settings;
    const key = keyOf(call);
    const isFault = status >= 500 && (status !== 500 || call.protocol === 'get' || call.protocol === 'post');
    pendingCounts.add(key, isFault ? 'failed' : 'led', isFault ? `Columba answered ${status}` : undefined);
    pendingCounts.addLatency(key, 'our', ms);
  }

  #raw(body: Uint8Array | undefined): RawRequest {
    const { method = '', url = '/', rawHeaders } = this.#request;
    return { method, target: url, rawHeaders, body };
  }

  /**
   * Forwards the request, and the answer as it arrives. Resolves with a copy of the answer when the
   * client has all of it; undefined if the exchange ended before.
   */
  #forward(
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
    const agent = this.#connection.agentFor(upstream);
    const startedAt = this.#settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      const sent = upstream.begin({ method, target: url, rawHeaders }, agent);
      const onGone = () => {
        if (!this.#response.writableFinished) sent.destroy();
      };
      this.#response.once('close', onGone);
      // If another server can answer, the client does not notice that this one is gone.
      if (!isReplaceable) sent.once('socket', (socket) => this.#connection.follow(socket));
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
    const ms = this.#settings.clock.monotonic() - startedAt;
    await before({ status, rawHeaders, body: isWhole ? bytes : undefined, ms });
    // The close event of a client that left meanwhile has already passed.
    return this.#response.destroyed ? undefined : this.#relay(answer, startedAt, { bytes, isWhole });
  }

  #relay(answer: IncomingMessage, startedAt: number, start?: Beginning): Promise<RawAnswer | undefined> {
    const response = this.#response;
    this.#writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', answer.rawHeaders);
    const copy = new AnswerCopy(this.#copies);
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
        ms = this.#settings.clock.monotonic() - startedAt;
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
  #give({ status, rawHeaders, body }: RawAnswer): void {
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

  #refuse(status: number, sentence: string): void {
    const text = `${sentence}\n`;
    this.#response.writeHead(status, {
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
      ...(status === 503 ? { 'Retry-After': '5' } : {}),
    });
    this.#response.end(text);
  }

  /** Sends a plain error if nothing was sent yet; otherwise ends the connection. */
  fail(thrown: unknown): void {
    if (thrown instanceof ClientGone || this.#response.destroyed) return;
    if (thrown instanceof NotNow) {
      this.#refuse(503, 'Neither server can answer this account now.');
      return;
    }
    this.#settings.failed(thrown);
    const { code } = thrown as NodeJS.ErrnoException;
    const isKnown = isRefused(thrown) || code === 'ETIMEDOUT' || isTlsFailure(code);
    if (this.#response.headersSent || !isKnown) {
      this.#response.destroy();
      return;
    }
    this.#response.shouldKeepAlive = false;
    this.#refuse(code === 'ETIMEDOUT' ? 504 : 502, 'The server behind the proxy does not answer.');
  }
}

interface Forwarding {
  /** Whether the rest of the body still comes from the client. */
  readonly isBeginning?: boolean;
  readonly rawHeaders?: readonly string[];
  /** Whether another server can answer: then it rejects with Unavailable by the status. */
  readonly isReplaceable?: boolean;
  /** Awaited before the client gets anything of the answer. */
  readonly before?: (answer: RawAnswer) => Promise<void>;
}

class ClientGone extends Error {}
class Unavailable extends Error {}
