import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseSchemaDate } from '../../asmx/contract/dates.ts';
import type { Dialect } from '../../asmx/dialect/dialect.ts';
import { systemClock } from '../../base/clock.ts';
import { Problem } from '../../base/problem.ts';
import { isOpenToOthers, remark } from '../../commands/output.ts';
import { type Session, settingOption } from '../../commands/session.ts';
import type { Config } from '../../config/settings.ts';
import { USER_ID_LENGTH_MAX } from '../../domain/accounts/credentials.ts';
import type { CopyDependencies } from '../copy/copy-account.ts';
import type { MigrationDatabase } from '../copy/database.ts';
import type { ImportedUser } from '../copy/import.ts';
import { createOldServer, type OldServerOptions } from '../old-server/old-server.ts';
import { TESTED } from '../old-server/read-effects.ts';
import { type ReadEffects, readEffects, storeReadEffects } from '../stages/migrated-accounts.ts';
import { dialectOf, readCount, readText, readUrl } from './settings.ts';

/** Options and input of the commands that call the old server themselves. */
export interface OldOptions {
  readonly rate: number;
  readonly oldCa?: string;
  readonly oldInsecureCertificate?: true;
  readonly oldLegacyTls?: true;
  readonly oldTimeoutMs: number;
}
export interface UsersOptions extends OldOptions {
  readonly old: string;
  readonly users: string;
  readonly readsMark?: ReadEffects;
}

export const withOldOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--rate <N>', 'the most calls to the old server per second').argParser(readCount(1, 1_000)).default(5),
    )
    .option('--old-ca <FILE>', 'PEM certificates that the certificate of the old server may be signed by')
    .option('--old-insecure-certificate', 'accept any certificate of the old server')
    .option('--old-legacy-tls', 'speak TLS 1.0 and 1.1 with the old server too')
    .addOption(
      new Option('--old-timeout-ms <N>', 'how long a call may take').argParser(readCount(1, 3_600_000)).default(60_000),
    );

export const withUsersOptions = (command: Command): Command =>
  withOldOptions(command)
    .addOption(new Option('--old <URL>', 'the old server').argParser(readUrl).makeOptionMandatory())
    .requiredOption('--users <FILE>', 'the user_ids, one per line; # begins a remark; - is standard input')
    .addOption(
      new Option(
        '--reads-mark <LIST>',
        `the reads that mark what they return, or none: then nothing is tested (${TESTED.join(', ')})`,
      ).argParser(readMarks),
    )
    .addOption(settingOption('dialect'));

/** Each repetition of the option names further reads. */
function readMarks(text: string, before: ReadEffects = {}): ReadEffects {
  const marking = text === 'none' ? [] : text.split(',').map((name) => name.trim());
  const unknown = marking.find((name) => !(TESTED as readonly string[]).includes(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`Expected none, or some of ${TESTED.join(',')}.`);
  return Object.fromEntries(
    TESTED.map((name) => [name, before[name] === 'marks' || marking.includes(name) ? 'marks' : 'leaves']),
  );
}

export const readInstant = (text: string): number => {
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? parseSchemaDate(text, { now: 0, zone: 'UTC' }) : null;
  if (at === null) throw new InvalidArgumentError('Expected a date such as 2026-10-02 or 2026-10-02T10:45:30Z.');
  return at;
};

// How often a read without an answer is tried again.
const RETRIES_MAX = 3;

export const oldServerOptions = (url: string, options: OldOptions, config: Config): OldServerOptions => ({
  url,
  namespace: config.namespace,
  zone: config.timeZone,
  rate: options.rate,
  timeoutMs: options.oldTimeoutMs,
  retriesMax: RETRIES_MAX,
  tls: {
    ...(options.oldCa === undefined ? {} : { ca: readText(options.oldCa, '--old-ca') }),
    insecure: options.oldInsecureCertificate === true,
    legacy: options.oldLegacyTls === true,
  },
});

/** `services` is absent in a dry run before there is a database. */
export interface CopySession extends Pick<Session, 'config'> {
  readonly services?: Session['services'];
}

/** Connects with the dialect of the settings, and with what is known about reading. */
export async function copyDependencies(
  { services, config }: CopySession,
  options: UsersOptions & { readonly dryRun?: true },
): Promise<CopyDependencies & { readonly dialect: Dialect }> {
  const dialect = await dialectOf(config);
  const old = createOldServer({ ...oldServerOptions(options.old, options, config), dialect });
  const { readsMark } = options;
  if (!services) return { database: NO_DATABASE, old, dialect, effects: readsMark ?? {}, now: systemClock.now };
  const { database } = services;
  if (readsMark && !options.dryRun) await storeReadEffects(database, old.url, readsMark, systemClock.now());
  const effects = readsMark ?? (await readEffects(database, old.url));
  return { database, old, dialect, effects, now: systemClock.now };
}

/** Stands for the database in a dry run without one, which never uses it. */
const NO_DATABASE = new Proxy({} as MigrationDatabase, {
  get(_, name) {
    throw new Error(`a dry run without a database has asked for ${String(name)}`);
  },
});

const USERS_MAX = 100_000;

/** Reads user_ids with their line numbers, which are shown instead of the user_ids. */
export async function readUsers(path: string): Promise<ImportedUser[]> {
  if (path !== '-' && isOpenToOthers(path)) {
    remark(`columba: ${path} holds secrets and others may read it. Run: chmod 600 ${path}`);
  }
  const text = path === '-' ? await standardInput() : readText(path, '--users');
  const users = text
    .split(/\r?\n/)
    .map((line, index) => ({ line: index + 1, userId: line.trim() }))
    .filter(({ userId }) => userId !== '' && !userId.startsWith('#'));
  const long = users.find(({ userId }) => userId.length > USER_ID_LENGTH_MAX);
  if (long)
    throw new Problem('bad-argument', `${path}: line ${long.line} has more than ${USER_ID_LENGTH_MAX} characters`);
  if (users.length === 0) throw new Problem('bad-argument', `${path}: there is no user_id in it`);
  if (users.length > USERS_MAX) throw new Problem('bad-argument', `${path}: more than ${USERS_MAX} lines`);
  return users;
}

async function standardInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > USERS_MAX * USER_ID_LENGTH_MAX) break;
  }
  return text;
}
