import type { App } from '../app.ts';
import { type Config, webUrlOf } from '../config/settings.ts';
import type { Services } from '../operator/action.ts';
import { createOpenapi } from '../operator/openapi.ts';
import { version } from '../version.ts';

type WebConfig = Parameters<typeof webUrlOf>[0] & Pick<Config, 'region' | 'retryHours'>;

export interface ServiceHooks {
  /** Where the web listener is, for a process that has one. */
  readonly address?: () => string | undefined;
  /** Called after a change, so that dispatchers look for work. */
  readonly changed?: () => void;
}

/** What the operator's actions work with, for routes and for commands. */
export const servicesOf = (
  { database, engine }: Pick<App, 'database' | 'engine'>,
  config: WebConfig,
  now: () => number,
  { address = () => undefined, changed = () => {} }: ServiceHooks = {},
): Services => ({
  database,
  engine,
  now,
  version,
  defaultRegion: config.region || null,
  webUrl: () => webUrlOf(config) ?? address() ?? 'http://localhost',
  tryForMs: config.retryHours * 3_600_000,
  changed,
  openapi: createOpenapi(version),
});
