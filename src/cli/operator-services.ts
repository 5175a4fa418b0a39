import type { App } from '../app.ts';
import type { Config } from '../config/settings.ts';
import type { Services } from '../operator/action.ts';
import { createOpenapi } from '../operator/openapi.ts';
import { version } from '../version.ts';

/** What the operator's actions work with, for routes and for commands. */
export const servicesOf = (
  { database, engine }: Pick<App, 'database' | 'engine'>,
  { region }: Pick<Config, 'region'>,
  now: () => number,
): Services => ({ database, engine, now, version, defaultRegion: region || null, openapi: createOpenapi(version) });
