import type { Clock } from '../../base/clock.ts';
import { version } from '../../base/version.ts';
import { testConnector, tryConnector } from '../../carriers/connector-check.ts';
import { readConnectorFile } from '../../carriers/connector-file.ts';
import { sqlitePath } from '../../config/database-name.ts';
import type { Config } from '../../config/settings.ts';
import { webUrlOf } from '../../config/web-address.ts';
import type { Services } from '../../operator/action.ts';
import { createOpenapi } from '../../operator/openapi.ts';
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
  testConnector: (name) => testConnector(database, readConnectorFile(config.connectors), name, { clock }),
  tryConnector: (name, given) => tryConnector(database, readConnectorFile(config.connectors), name, given, { clock }),
  webUrl: () => webUrlOf(config) ?? address() ?? 'http://localhost',
  backup: () => {
    const path = sqlitePath(config);
    return config.backup === '' || path === undefined ? null : readBackupState(path, clock.now());
  },
  openapi: createOpenapi(version),
});
