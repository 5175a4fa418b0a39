import { type ChildProcess, execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { writeData } from './data.ts';
import { answers, end, freePort, launch, type Running, temporaryFolder, untilReady } from './processes.ts';

/** Columba as an operator runs it, in a process of its own. */
export interface Columba extends Running {
  readonly child: ChildProcess;
  readonly pid: number;
}

export interface ColumbaOptions {
  /** As a setting: sqlite: and a path, or postgres://… */
  readonly database: string;
  /** Further flags, such as ['--response-cache-bytes-max', '0']. */
  readonly flags?: readonly string[];
  /** Options of Node. */
  readonly node?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly messages?: boolean;
}

export const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The work of each call is measured, and not the response cache. */
export const CACHE_OFF = ['--response-cache-bytes-max', '0'];

/** On a busy machine no request is rejected for waiting long. */
const NO_SHEDDING = ['--turn-max-ms', '60000'];

/** Only started: whether it serves yet is for the caller to find out. */
export async function launchColumba(options: ColumbaOptions): Promise<Columba> {
  const { database, flags = [], node = [], env, messages = false } = options;
  const port = await freePort();
  const own = [
    '--database',
    database,
    '--port',
    String(port),
    '--log-level',
    'warn',
    '--drain-timeout-ms',
    '0',
    '--web-port',
    'off',
  ];
  const args = [...node, MAIN, 'serve', ...own, ...NO_SHEDDING, ...flags];
  const child = launch({ args, messages, ...(env && { env }) });
  const pid = child.pid as number;
  return { child, pid, port, pids: () => [pid], stop: () => end(child) };
}

export async function startColumba(options: ColumbaOptions): Promise<Columba> {
  const columba = await launchColumba(options);
  await untilReady(columba.child, () => answers(columba.port, '/health/ready'));
  return columba;
}

/**
 * After an import of a million messages the service fills its search index for minutes, between
 * the calls. That work is not the calls': it made each of them cost 1.3 to 2.2 times as much.
 */
async function forgetSearch(database: string): Promise<void> {
  if (database.startsWith('sqlite:')) {
    const file = new DatabaseSync(database.slice('sqlite:'.length));
    const [known] = file.prepare("select 1 from sqlite_schema where name = 'search_change'").all();
    if (known) file.exec('delete from search_change');
    return file.close();
  }
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const { rows } = await client.query("select to_regclass('search_change') is not null as known");
  if (rows[0].known) await client.query('delete from search_change');
  await client.query('vacuum analyze');
  await client.end();
}

/** The data of data.ts, by the operator's own way in, of this checkout or of another one's program. */
export async function importData(database: string, main = MAIN): Promise<void> {
  const file = join(temporaryFolder(), 'data.ndjson');
  await writeData(file);
  const args = ['--disable-warning=ExperimentalWarning', main, 'import', file, '--database', database];
  execFileSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  rmSync(file);
  await forgetSearch(database);
}
