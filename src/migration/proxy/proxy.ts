import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { RawAnswer, RawRequest } from '../compare/redaction.ts';
import type { Syncs } from '../copy/syncs.ts';
import { nameCall, readCall, type SeenCall, unknownCall } from '../old-server/call-reader.ts';
import { isTlsFailure } from '../old-server/server-tls.ts';
import { beginningOf, ClientConnection, isRefused, type Upstream } from '../old-server/upstream.ts';
import { UNKNOWN } from '../stages/counts.ts';
import type { ClientInventory } from './client-inventory.ts';
import { stageOfRead } from './client-rules.ts';
import type { ComparedWrites } from './compared-writes.ts';
import { type Lead, NotNow } from './lead.ts';
import { keyOf, type PendingCounts } from './pending-counts.ts';
import { Relay, Unavailable } from './relay.ts';
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
      const relay = new Relay(request, response, { connection, copies, monotonic: settings.clock.monotonic });
      const exchange = new ProxyExchange(request, response, settings, relay);
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
  readonly #settings: ProxySettings;
  readonly #relay: Relay;
  readonly #at: number;

  constructor(request: IncomingMessage, response: ServerResponse, settings: ProxySettings, relay: Relay) {
    this.#request = request;
    this.#response = response;
    this.#settings = settings;
    this.#relay = relay;
    this.#at = settings.clock.now();
  }

  async passThrough(): Promise<void> {
    await this.#relay.forward(this.#settings.old, undefined);
  }

  async run(): Promise<void> {
    const { stages, old, columba } = this.#settings;
    const start = await beginningOf(this.#request, BODY_BYTES_MAX, () => new ClientGone());
    if (!start.isWhole) {
      this.#settings.clients.note(this.#request, null);
      const isOurs = stages.defaultStage === 'lead' || stages.defaultStage === 'alone';
      await this.#relay.forward(isOurs ? columba : old, start.bytes, { isBeginning: true });
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
    if (known.isStageUnknown) return this.#relay.refuse(503, 'The stage of this account is not known now.');
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
      const answer = await this.#relay.forward(old, request.body);
      if (answer) shadow.observe({ at: this.#at, stage, call, client, request, old: answer });
      if (call === null) this.#countUnknown(request, answer);
      return;
    }
    if (call === null) this.#settings.clients.note(this.#request, null);
    const own = withClient(request, this.#request.socket.remoteAddress);
    if (stage === 'lead') return this.#answerLed(call, own, account);
    const answer = await this.#relay.forward(columba, request.body, { rawHeaders: own.rawHeaders });
    if (answer && call) this.#countLed(call, answer);
  }

  /** The old server answers. Its result is in the database before the client knows it. */
  async #writeCompared(call: SeenCall, client: string, request: RawRequest, account: bigint): Promise<void> {
    const { old, compared, shadow } = this.#settings;
    const { answer, id } = await compared.write(account, call, request, (before) =>
      this.#relay.forward(old, request.body, { before }),
    );
    const write = id === undefined ? undefined : { account, id };
    if (answer) shadow.observe({ at: this.#at, stage: 'compare', call, client, request, old: answer, write });
  }

  /** Columba answers. If it does not, the old server does, which has every write. */
  async #answerLed(call: SeenCall | null, own: RawRequest, account: bigint | null): Promise<void> {
    const { old, columba, lead, syncs } = this.#settings;
    if (call?.changes && account !== null) {
      const answer = await lead.write(account, call, own);
      this.#relay.give(answer);
      if (answer.isOld) this.#countMissed(call);
      else this.#countLed(call, answer);
      return;
    }
    if (await lead.isReady(account, call?.userId ?? null)) {
      if (call && !call.changes) await syncs?.freshen(queueKeyOf(call));
      try {
        const answer = await this.#relay.forward(columba, own.body, {
          rawHeaders: own.rawHeaders,
          isReplaceable: true,
        });
        if (answer && call) this.#countLed(call, answer);
        return;
      } catch (thrown) {
        if (this.#response.headersSent || this.#response.destroyed) throw thrown;
        if (!(thrown instanceof Unavailable)) lead.noteFailure();
        this.#settings.failed(thrown);
      }
    }
    if (account !== null && !(await lead.isOldComplete(account))) throw new NotNow();
    await this.#relay.forward(old, own.body);
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

  /** Sends a plain error if nothing was sent yet; otherwise ends the connection. */
  fail(thrown: unknown): void {
    if (thrown instanceof ClientGone || this.#response.destroyed) return;
    if (thrown instanceof NotNow) {
      this.#relay.refuse(503, 'Neither server can answer this account now.');
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
    this.#relay.refuse(code === 'ETIMEDOUT' ? 504 : 502, 'The server behind the proxy does not answer.');
  }
}

class ClientGone extends Error {}
