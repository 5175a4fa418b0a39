import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Handler, Traffic } from '../../exchange.ts';
import { type BodyLimits, createBodies } from './body-receiver.ts';
import { type AddressRules, createAddresses } from './client-address.ts';
import { Connection, type Host } from './connection.ts';
import { createSlots, type SlotSettings } from './connection-slots.ts';
import { noRoom } from './error-response.ts';
import { createOverload, type OverloadSettings, RETRY_AFTER_MS } from './load-shedding.ts';
import { type Bursts, createBursts } from './poll-batch.ts';
import { createRequests, type RequestLimits } from './request.ts';
import { createCollecting } from './response-collector.ts';
import { createStay } from './response-writer.ts';
import { createUnsent } from './unsent-bytes.ts';

/** The process's side of HTTP: sockets, limits, bodies. What is in them is nobody's business here. */
export interface HttpSettings extends AddressRules, BodyLimits, OverloadSettings, RequestLimits, SlotSettings {
  readonly host: string;
  readonly port: number;
  readonly headerBytesMax: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly unsentBytesMax: number;
  readonly drainTimeoutMs: number;
  /** 0 for any number. */
  readonly requestsPerConnectionMax: number;
}

export interface HttpServer {
  /** Where it listens, e.g. http://127.0.0.1:8080. */
  readonly address: string;
  /** Now, and since the start. */
  readonly traffic: Traffic;
  /** Waits with the answer of a request, which keeps us from nothing meanwhile. */
  holdBack(wait: () => Promise<void>): Promise<void>;
  /**
   * Takes no more connections and answers every request that still comes on the open ones, telling their clients to close
   * them. One that stays idle is closed in the end.
   */
  close(): Promise<void>;
}

export async function listen(
  settings: HttpSettings,
  handle: Handler,
  bursts: Bursts = createBursts(),
): Promise<HttpServer> {
  let closing = false;
  let isDrained = false;
  let bytesSent = 0;
  const overload = createOverload(settings);
  const unsent = createUnsent(settings.unsentBytesMax);
  const addresses = createAddresses(settings);
  const clock = createClock(settings);
  const slots = createSlots<Connection>(settings);
  const bodies = createBodies(settings);
  const host: Host = {
    ...{ handle, bursts, overload, bodies },
    requests: createRequests(settings, addresses, bodies, () => overload.judge() === 'refused'),
    ...{ headerBytesMax: settings.headerBytesMax, requestsPerConnectionMax: settings.requestsPerConnectionMax },
    ...{ patience: clock.patience, now: clock.now, isClosing: () => closing },
    ...{ stay: createStay(settings.idleTimeoutMs), collecting: createCollecting(unsent) },
    sent: (bytes) => {
      bytesSent += bytes;
    },
  };

  function closeIdle(): void {
    for (const connection of slots.all) connection.closeIfIdle();
  }

  function accept(socket: Socket): void {
    bursts.opened();
    socket.once('close', bursts.closed);
    const peer = addresses.peer(socket);
    const client = addresses.countedAs(peer);
    overload.accepted();
    if (!slots.makeRoom(client)) {
      socket.on('error', () => {}); // whoever is gone already need not be told
      socket.write(noRoom());
      socket.destroySoon();
      return;
    }
    const connection = new Connection(peer, host);
    slots.add(client, connection);
    socket.once('close', () => slots.remove(client, connection));
  }

  // A client that says that it sends no more still waits for its answers.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(settings.port, settings.host, resolve);
  });
  clock.start(() => {
    if (isDrained) closeIdle();
    for (const connection of slots.all) connection.check();
  });
  return {
    address: addressOf(server),
    get traffic() {
      const { bytes: unsentBytes, refused: unsentRefused } = unsent;
      return { connectionsOpen: slots.size, bytesSent, refused: overload.refused, unsentBytes, unsentRefused };
    },
    async holdBack(wait) {
      overload.ended();
      await wait().finally(overload.started);
    },
    close: () =>
      new Promise((resolve) => {
        closing = true;
        const timer = setTimeout(() => {
          isDrained = true; // from now on none may become idle: it would be kept for as long as clients were told
          closeIdle();
        }, settings.drainTimeoutMs);
        server.close(() => {
          clearTimeout(timer);
          clock.stop();
          resolve();
        });
      }),
  };
}

// How long a client may still talk after it has got its last answer.
const LINGER_MS = 1_000;
const IDLE_GRACE_MS = 1_000;
// Who has just been answered may be about to ask again: a request that crosses our closing is lost.
const SPARE_AFTER_MS = 1_000;
const TICK_MS_MAX = 500;

/**
 * One clock for the time-outs of all connections, as a timer for each of them would cost every request. It counts ticks: when
 * the process stood still, its clients are not to blame.
 */
function createClock({ headersTimeoutMs, requestTimeoutMs, sendTimeoutMs, idleTimeoutMs }: HttpSettings) {
  const shortest = Math.min(headersTimeoutMs, requestTimeoutMs, sendTimeoutMs, idleTimeoutMs);
  const tickMs = Math.min(TICK_MS_MAX, Math.ceil(shortest / 4));
  const ticks = (ms: number) => Math.ceil(ms / tickMs);
  let now = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    now: () => now,
    patience: {
      head: ticks(Math.min(headersTimeoutMs, requestTimeoutMs)),
      body: ticks(requestTimeoutMs),
      // Longer than clients are told: who uses it in the last moment has its request on the way.
      idle: ticks(idleTimeoutMs + IDLE_GRACE_MS),
      spare: ticks(SPARE_AFTER_MS),
      again: ticks(RETRY_AFTER_MS),
      sending: ticks(sendTimeoutMs),
      last: ticks(LINGER_MS),
    },
    start(tick: () => void) {
      timer = setInterval(() => {
        now += 1;
        tick();
      }, tickMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
