import { resolve } from 'node:path';
import { withoutPassword } from '../base/url-password.ts';
import type { Config } from './settings.ts';

/** The path of an SQLite database, undefined for PostgreSQL. */
export const sqlitePath = ({ database }: Pick<Config, 'database'>): string | undefined =>
  database.startsWith('sqlite:') ? resolve(database.slice('sqlite:'.length)) : undefined;

/** For people: the absolute path, or the URL without its password. */
export const databaseName = (config: Pick<Config, 'database'>): string =>
  sqlitePath(config) ?? withoutPassword(config.database);
