import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { afterPoll } from '../base/event-loop.ts';
import type { Handler, Traffic } from '../base/exchange.ts';
import { type BodyLimits, createBodyReceiver } from './body-receiver.ts';
import { type AddressRules, createAddresses } from './client-address.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { tooManyConnections } from './error-response.ts';
import { createLoadShedder, type Load, type LoadSheddingSettings, RETRY_AFTER_MS } from './load-shedding.ts';
import { createOpenBodies } from './open-bodies.ts';
import { type ConnectionLimits, createOpenConnections } from './open-connections.ts';
import { createPollBatches } from './poll-batch.ts';
import { createRequests, type RequestLimits } from './request.ts';
import { createResponseCollector } from './response-collector.ts';
import { createConnectionFields } from './response-writer.ts';
import { createTimeouts, type TimeoutSettings } from './timeouts.ts';
import { createUnsent } from './unsent-bytes.ts';

/** HTTP/1.1 on sockets, with all its limits. It knows nothing of what the handler answers. */
export interface HttpSettings
  extends AddressRules,
    BodyLimits,
    LoadSheddingSettings,
    RequestLimits,
    ConnectionLimits,
    TimeoutSettings {
  readonly host: string;
  readonly port: number;
  readonly headerBytesMax: number;
  readonly unsentBytesMax: number;
  readonly drainTimeoutMs: number;
  /** 0 for any number. */
  readonly requestsPerConnectionMax: number;
}

export interface HttpServer {
  /** The URL it listens at, e.g. http://127.0.0.1:8080. */
  readonly address: string;
  readonly traffic: Traffic;
  /** Delays a response. Meanwhile load shedding does not count its request. */
  holdBack(wait: () => Promise<void>): Promise<void>;
  /** For work that comes after all requests. */
  readonly load: Load;
  /** Throws Problem `too-many` if there is no room for another streamed answer. */
  admitPieces(receiver: bigint | undefined): void;
  /**
   * Accepts no more connections. Answers every request that still arrives on open ones, with
   * `Connection: close`. Idle connections are closed after the drain time-out. Resolves when no
   * handler's body reads any more.
   */
  close(): Promise<void>;
}

export async function listen(settings: HttpSettings, handle: Handler, clock: Clock): Promise<HttpServer> {
  let isStopping = false;
  let isDrained = false;
  let bytesSent = 0;
  const unsent = createUnsent(settings.unsentBytesMax);
  const loadShedder = createLoadShedder(settings, { ...clock, afterPoll });
  const addresses = createAddresses(settings);
  const bodies = createBodyReceiver(settings);
  const pollBatches = createPollBatches();
  const openBodies = createOpenBodies();
  const timeouts = createTimeouts(settings, RETRY_AFTER_MS, clock);
  const context: ConnectionContext = {
    handle,
    requests: createRequests(settings, addresses, bodies, () => loadShedder.decide() === 'reject'),
    bodies,
    loadShedder,
    pollBatches,
    openBodies,
    timeouts,
    headerBytesMax: settings.headerBytesMax,
    requestsPerConnectionMax: settings.requestsPerConnectionMax,
    isStopping: () => isStopping,
    collector: createResponseCollector(unsent),
    connectionFields: createConnectionFields(settings.idleTimeoutMs),
    onBytesSent: (bytes) => {
      bytesSent += bytes;
    },
  };
  const connections = createOpenConnections<Connection>(settings);

  function accept(socket: Socket): void {
    pollBatches.opened();
    socket.once('close', pollBatches.closed);
    const peer = addresses.peer(socket);
    const client = addresses.countedAs(peer);
    loadShedder.accepted();
    if (!connections.makeRoom(client)) {
      socket.on('error', () => {}); // the client may have closed already
      socket.write(tooManyConnections());
      socket.destroySoon();
      return;
    }
    const connection = new Connection(peer, context);
    connections.add(client, connection);
    socket.once('close', () => connections.remove(client, connection));
  }

  function closeIdle(): void {
    for (const connection of connections.all) connection.closeIfIdle();
  }

  // A client that ends its side still waits for its responses.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(settings.port, settings.host, resolve);
  });
  timeouts.start(() => {
    if (isDrained) closeIdle();
    for (const connection of connections.all) connection.onTick();
  });
  return {
    address: addressOf(server),
    get traffic() {
      const { bytes: unsentBytes, refused: unsentRefused } = unsent;
      return {
        connectionsOpen: connections.size,
        bytesSent,
        refused: loadShedder.rejected,
        unsentBytes,
        unsentRefused,
      };
    },
    get load() {
      return loadShedder.load;
    },
    admitPieces: unsent.admit,
    async holdBack(wait) {
      loadShedder.end();
      await wait().finally(loadShedder.begin);
    },
    close: () =>
      new Promise((resolve) => {
        isStopping = true;
        const cancel = clock.after(settings.drainTimeoutMs, () => {
          isDrained = true; // from now on no connection may stay idle
          closeIdle();
        });
        server.close(() => {
          cancel();
          timeouts.stop();
          openBodies.ended().then(resolve);
        });
      }),
  };
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
