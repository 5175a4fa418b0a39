import { type ChildProcess, execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { writeData } from './data.ts';
import { answers, end, freePort, launch, type Running, untilReady } from './processes.ts';

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

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

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
 * After an import of a million messages the service fills its search index for ten minutes, between
 * the calls. That work is not the calls': it made each of them cost 1.3 to 2.2 times as much.
 */
function forgetSearch(path: string): void {
  const database = new DatabaseSync(path);
  database.exec('delete from search_change');
  database.close();
}

/** The data of data.ts, by the operator's own way in: a setting that names the database. */
export async function importData(folder: string): Promise<string> {
  const database = `sqlite:${join(folder, 'bench.db')}`;
  const file = join(folder, 'data.ndjson');
  await writeData(file);
  const args = ['--disable-warning=ExperimentalWarning', MAIN, 'import', file, '--database', database];
  execFileSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  rmSync(file);
  forgetSearch(database.slice('sqlite:'.length));
  return database;
}
