import type { Clock } from '../../base/clock.ts';
import { version } from '../../base/version.ts';
import { sqlitePath } from '../../config/database-name.ts';
import type { Config } from '../../config/settings.ts';
import { webUrlOf } from '../../config/web-address.ts';
import type { Services } from '../../operator/action.ts';
import { readBackupState } from '../backup/status.ts';
import type { App } from './contract.ts';

type WebConfig = Parameters<typeof webUrlOf>[0] &
  Pick<Config, 'region' | 'retryHours' | 'connectors' | 'backup' | 'database'>;

/**
 * The services that the operator's actions use, for routes and for commands. `address` is the
 * address of the web listener, if the process has one.
 */
export const servicesOf = (
  { database, engine, extensions }: Pick<App, 'database' | 'engine' | 'extensions'>,
  config: WebConfig,
  clock: Clock,
  changed: () => void = () => {},
  address: () => string | undefined = () => undefined,
): Services => ({
  database,
  engine,
  now: clock.now,
  sleep: clock.sleep,
  extensions,
  version,
  defaultRegion: config.region || null,
  tryForMs: config.retryHours * 3_600_000,
  changed,
  connectorsOfFile: () => [], // a running service has them in its table
  testConnector: async (name) => {
    const [{ testConnector }, ofFile] = await carriersOf(config);
    return testConnector(database, ofFile, name, { clock });
  },
  tryConnector: async (name, given) => {
    const [{ tryConnector }, ofFile] = await carriersOf(config);
    return tryConnector(database, ofFile, name, given, { clock });
  },
  webUrl: () => webUrlOf(config) ?? address() ?? 'http://localhost',
  backup: () => {
    const path = sqlitePath(config);
    return config.backup === '' || path === undefined ? null : readBackupState(path, clock.now());
  },
  openapi: async () => (await import('../../operator/openapi.ts')).openapi(version),
});

/** Loaded late: most commands need no carrier, and all of them take 0.1 s of CPU to load. */
const carriersOf = async ({ connectors }: WebConfig) =>
  [
    await import('../../carriers/connector-check.ts'),
    (await import('../../carriers/connector-file.ts')).readConnectorFile(connectors),
  ] as const;
