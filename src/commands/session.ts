import cluster from 'node:cluster';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import { version } from '../base/version.ts';
import { type ConfigFile, findConfigFile } from '../config/config-file.ts';
import { databaseName, sqlitePath } from '../config/database-name.ts';
import { type Config, flagOf, holdsSecrets, readConfig, settings } from '../config/settings.ts';
import type { AppDependencies } from '../serve/compose/contract.ts';
import type { Services } from '../serve/compose/services.ts';
import { isOpenToOthers, remark, remarkOnTerminal } from './output.ts';

/** What a command uses: the settings, and the services on its database. */
export interface Session {
  readonly services: Services;
  readonly config: Config;
}

/**
 * Options that are settings. Other options may have the same name, such as --time-zone of an
 * account.
 */
const settingOptions = new WeakSet<Option>();

const asSetting = (option: Option): Option => {
  settingOptions.add(option);
  return option;
};

export function settingOption(name: string): Option {
  const { variable, fallback, meaning } = settings[name as keyof typeof settings];
  const text = `${meaning} ${variable}${fallback && `, default ${fallback}`}`;
  return asSetting(new Option(`--${flagOf(name)} <VALUE>`, text));
}

export const databaseOption = (): Option =>
  asSetting(new Option('--database <VALUE>', 'the database to use instead of COLUMBA_DATABASE'));

/** The settings of a command, from its flags, the environment and the file. */
export function configOf(command: Command): { config: Config; file: ConfigFile | undefined } {
  const given = command.optsWithGlobals();
  const flags = Object.fromEntries(
    Object.keys(settings)
      .filter((name) => command.options.some((each) => settingOptions.has(each) && each.long === `--${flagOf(name)}`))
      .map((name) => [flagOf(name), given[name]]),
  );
  try {
    const file = findConfigFile(process.env, process.cwd());
    const config = readConfig(process.env, flags, file, (warning) => {
      if (cluster.isPrimary) remark(`columba: ${warning}`);
    });
    if (cluster.isPrimary && file && holdsSecrets(file) && isOpenToOthers(file.path)) {
      remark(`columba: ${file.path} contains secrets and other users can read it. Run: chmod 600 ${file.path}`);
    }
    return { config, file };
  } catch (thrown) {
    throw new Problem('bad-argument', (thrown as Error).message);
  }
}

/** Who runs the command. A process may run as a user who is not in the list of users. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Loaded late, because help and the version need none of it. */
export async function appDependencies(config: Config): Promise<AppDependencies> {
  const { createLog } = await import('../serve/telemetry/log.ts');
  const { migrationExtension } = await import('../migration/stages/extension.ts');
  return { clock: systemClock, log: createLog(config.logLevel), pages: { version }, extensions: [migrationExtension] };
}

/** False if the user may not look into the folder; opening the database then reports that. */
function isMissing(path: string): boolean {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found === undefined || (found.isFile() && found.size === 0); // an empty file was never used
  } catch {
    return false;
  }
}

/**
 * The command with which to begin. Before a move, an account that was created by hand would prevent
 * its import.
 */
const beginningOf = (command: Command): string =>
  command.parent?.name() === 'migrate'
    ? 'columba migrate proxy or columba migrate import'
    : 'columba account add USERNAME';

/**
 * Runs work on the database. Only a command that may begin a new installation creates a missing
 * database.
 */
export async function withSession<T>(
  command: Command,
  { creates }: { readonly creates: boolean },
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { config, file } = configOf(command);
  if (file) remarkOnTerminal(`Settings: ${file.path}`);
  remarkOnTerminal(`Database: ${databaseName(config)}`);
  const path = sqlitePath(config);
  if (path !== undefined && !creates && isMissing(path)) {
    throw new Problem(
      'bad-argument',
      `There is no database at ${path}. Name the right one with --database or COLUMBA_DATABASE, ` +
        `or create this one with: ${beginningOf(command)}`,
    );
  }
  const { createServices } = await import('../serve/compose/services.ts');
  const services = await createServices(config, await appDependencies(config));
  try {
    return await work({ services, config });
  } finally {
    await services.stop();
  }
}
