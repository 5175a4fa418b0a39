import { type ConnectorRecord, createConnectors, type NewConnector } from '../domain/connectors.ts';
import type { Database } from '../domain/transactions.ts';
import { Problem } from '../problem.ts';
import type { CarrierEvents, Connector } from './connector.ts';
import type { Gateway } from './gateway.ts';
import { createConnector } from './kinds.ts';

/**
 * Answers carriers that call the web listener. Where the dispatchers run in this process, their
 * connectors answer. Else this process makes connectors of its own, which submit nothing. Either
 * way it writes what a carrier tells itself, so that is on disk before it is acknowledged.
 */
export interface CarrierCallbacks {
  /** Undefined where there is no such connector, or where carriers do not call it. */
  handle(name: string, request: Request): Promise<Response | undefined>;
  stop(): Promise<void>;
}

export interface CallbackParts {
  readonly database: Database;
  readonly now: () => number;
  readonly events: CarrierEvents;
  /** Connectors of dispatchers in this process. */
  readonly runningOf?: Gateway['runningOf'];
  /** Connectors of the file, with their configuration. */
  readonly ofFile: readonly NewConnector[];
  /** For tests: connectors of their own. */
  readonly create?: typeof createConnector;
}

interface Known {
  readonly revision: string;
  readonly connector: Connector;
  readonly started: Promise<void>;
}

export function createCarrierCallbacks(parts: CallbackParts): CarrierCallbacks {
  const connectors = createConnectors(parts.database, parts.now);
  const configs = new Map(parts.ofFile.map(({ name, config }) => [name, config]));
  const known = new Map<string, Known>();

  /** The table is asked each time: a secret that was changed counts for the next request. */
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
    const connector = (parts.create ?? createConnector)(record.name, record.kind, config, { now: parts.now });
    // One that carriers do not call would open connections of its own.
    const started = connector.handle ? connector.start(parts.events) : Promise.resolve();
    const launched = { revision: record.revision, connector, started };
    known.set(record.name, launched);
    return launched;
  }

  return {
    handle: async (name, request) => (await connectorOf(name))?.handle?.(request),
    async stop() {
      for (const { connector } of known.values()) await connector.stop();
      known.clear();
    },
  };
}

function absent(thrown: unknown): undefined {
  if (thrown instanceof Problem && thrown.kind === 'not-found') return undefined;
  throw thrown;
}
