import { BoundedMap } from '../base/bounded-map.ts';
import type { Clock } from '../base/clock.ts';
import { customerNetwork } from '../base/networks.ts';
import { Problem } from '../base/problem.ts';
import { type ConnectorRecord, createConnectors, type NewConnector } from '../domain/sending/connectors.ts';
import { newWebhookSecret } from '../domain/webhooks/webhooks.ts';
import type { Database } from '../store/database.ts';
import { createCallback } from './callback/callback.ts';
import type { CarrierEvents, Connector } from './connector.ts';
import type { Noticed } from './dependencies.ts';
import type { Gateway } from './gateway.ts';
import { createConnector } from './kinds.ts';

/**
 * Answers carriers that call the web listener. If the dispatchers run in this process, their
 * connectors answer; otherwise this process makes connectors of its own, which submit nothing.
 * Either way this process writes what a carrier reports, so that it is on disk before it is
 * acknowledged.
 */
export interface CarrierCallbacks {
  /** A request that is not authentic gets the same answer for every name, known or not. */
  handle(name: string, request: Request, client?: string): Promise<Response>;
  stop(): Promise<void>;
}

export interface CallbackParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly events: CarrierEvents;
  /** Finds the connectors of dispatchers in this process. */
  readonly runningOf?: Gateway['runningOf'];
  /** Connectors of the file, with their configuration. */
  readonly ofFile: readonly NewConnector[];
  /** Called with the reason of a refusal, for the log, because the answer does not say it. */
  readonly denied?: (name: string, reason: string, client: string) => void;
  readonly noticed?: Noticed;
  /** Tests make connectors of their own. */
  readonly create?: typeof createConnector;
}

interface Known {
  readonly revision: string;
  readonly connector: Connector;
  readonly started: Promise<void>;
}

export function createCarrierCallbacks(parts: CallbackParts): CarrierCallbacks {
  const connectors = createConnectors(parts.database, parts.clock.now);
  const configs = new Map(parts.ofFile.map(({ name, config }) => [name, config]));
  const known = new Map<string, Known>();
  const refusals = createRefusals(parts.clock.now);

  /** Reads the table each time, so that a changed secret counts for the next request. */
  async function connectorOf(name: string): Promise<Connector | undefined> {
    const record = await connectors.show(name).catch(absent);
    const running = record && parts.runningOf?.(name);
    if (running && running.revision === record.revision) return running.connector;
    const before = known.get(name);
    const isSame = before && before.revision === record?.revision;
    const current = isSame ? before : record && launch(record);
    if (!record) known.delete(name);
    if (before && !isSame) await before.connector.stop();
    await current?.started;
    return current?.connector;
  }

  function launch(record: ConnectorRecord): Known {
    const config = record.origin === 'file' ? (configs.get(record.name) ?? {}) : record.config;
    const deps = { clock: parts.clock, unread: keepUnread };
    const connector = (parts.create ?? createConnector)(record.name, record.kind, config, deps);
    // A connector that carriers do not call is not started: it would only open connections.
    const started = connector.handle ? connector.start(parts.events) : Promise.resolve();
    const launched = { revision: record.revision, connector, started };
    known.set(record.name, launched);
    return launched;
  }

  /** The answer only helps the operator, so it is lost if the database cannot store it. */
  const keepUnread = (name: string, answer: string): void => {
    parts.noticed?.(name, 'unread');
    connectors.setUnreadAnswer(name, answer).catch(() => {});
  };

  /** Compares with a secret that nobody has, which takes as long as comparing with a real one. */
  const unknown = createCallback('', { ...NOWHERE, secret: newWebhookSecret() }, { clock: parts.clock });

  const compareNothing = (request: Request): Promise<unknown> | undefined =>
    unknown.handle?.(request).catch((thrown) => {
      if (!(thrown instanceof Problem) || thrown.kind !== 'denied') throw thrown; // for example, the body is too large
    });

  return {
    async handle(name, request, client = '') {
      const connector = await connectorOf(name);
      try {
        if (!connector) throw new Problem('denied', 'there is no such connector');
        if (!connector.handle) throw new Problem('denied', 'carriers do not call this connector');
        return await connector.handle(request);
      } catch (thrown) {
        if (!(thrown instanceof Problem) || thrown.kind !== 'denied') throw thrown;
        // A connector whose carrier signs bodies has read it.
        if (!request.bodyUsed) await compareNothing(request);
        const waitSeconds = refusals.add(client);
        if (waitSeconds !== null) return tooMany(waitSeconds);
        parts.denied?.(name, thrown.message, client);
        return refused();
      }
    },
    async stop() {
      for (const { connector } of known.values()) await connector.stop();
      known.clear();
    },
  };
}

const REFUSED_MAX = 100;
const REFUSED_WINDOW_MS = 60_000;
const NETWORKS_MAX = 10_000;

/**
 * Counts the refused requests of each network. A network with too many gets 429 for them, and they
 * are not logged. Requests that are authentic still pass: anybody who has an account with a
 * provider can make it call a wrong address, and must not keep its other calls out by that.
 */
function createRefusals(now: () => number) {
  const counts = new BoundedMap<string, { readonly since: number; count: number }>(NETWORKS_MAX);
  return {
    /** The seconds to wait, if this is one too many; else null. */
    add(client: string): number | null {
      const network = customerNetwork(client) || client;
      const at = now();
      const before = counts.get(network);
      const isOver = !before || Math.abs(at - before.since) >= REFUSED_WINDOW_MS;
      const own = isOver ? { since: at, count: 0 } : before;
      counts.set(network, own);
      own.count++;
      return own.count > REFUSED_MAX ? Math.ceil((own.since + REFUSED_WINDOW_MS - at) / 1_000) : null;
    },
  };
}

const NOWHERE = { url: 'https://nowhere.invalid/', timeoutMs: 100, allowPrivate: false };

const DETAIL =
  'There is no connector with this name, or the request does not prove that it comes from the carrier. The log of the service says which.';

const refused = (): Response => problem(401, DETAIL);

const tooMany = (waitSeconds: number): Response =>
  problem(429, `More than ${REFUSED_MAX} requests of this network in a minute did not prove where they come from.`, {
    'Retry-After': String(waitSeconds),
  });

const problem = (status: number, detail: string, more: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ status, detail }), {
    status,
    headers: { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store', ...more },
  });

function absent(thrown: unknown): undefined {
  if (thrown instanceof Problem && thrown.kind === 'not-found') return undefined;
  throw thrown;
}
