import type { App } from '../app.ts';
import type { Config } from '../config/settings.ts';
import type { Services } from '../operator/action.ts';
import { createOpenapi } from '../operator/openapi.ts';
import { version } from '../version.ts';

/** What the operator's actions work with, for routes and for commands. */
export const servicesOf = (
  { database, engine }: Pick<App, 'database' | 'engine'>,
  { region, retryHours }: Pick<Config, 'region' | 'retryHours'>,
  now: () => number,
  changed: () => void = () => {},
): Services => ({
  database,
  engine,
  now,
  version,
  defaultRegion: region || null,
  tryForMs: retryHours * 3_600_000,
  changed,
  openapi: createOpenapi(version),
});
