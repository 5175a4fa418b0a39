import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childrenOf } from './proc.ts';
import { freePort, type Running, removeFolder } from './processes.ts';
import { APACHE, phpModule, startPhp } from './servers/php/start.ts';

/** Servers on toolkits of others, which are Debian packages: the same four operations with the same data. */
export interface Peer extends Running {
  readonly name: string;
  readonly version: string;
  readonly child: ChildProcess;
}

interface Toolkit {
  readonly name: string;
  readonly packages: string;
  /** Null where it is not installed. */
  version(): string | null;
  start(folder: string): Promise<{ child: ChildProcess; port: number }>;
  pids(child: ChildProcess): number[];
}

const gsoap = (name: string, source: string): Toolkit => ({
  name,
  packages: 'gsoap libgsoap-dev libsqlite3-dev g++',
  version: () =>
    ['stdsoap2.h', 'sqlite3.h'].every((header) => existsSync(`/usr/include/${header}`)) && printed('g++', ['--version'])
      ? printed('soapcpp2', ['-V'])
      : null,
  async start(folder) {
    const here = fileURLToPath(new URL('servers/gsoap', import.meta.url));
    execFileSync(join(here, 'build.sh'), [folder, source], { stdio: ['ignore', 'ignore', 'inherit'] });
    const child = spawn(join(folder, 'server'), [folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    const line = await new Promise((resolve) => child.stdout.once('data', resolve).once('close', resolve));
    if (!line) throw new Error('the gSOAP server did not start');
    return { child, port: Number(line) };
  },
  pids: ({ pid }) => [pid as number],
});

export const toolkits: readonly Toolkit[] = [
  gsoap('gSOAP', 'server'),
  gsoap('gSOAP with data in SQLite', 'sqlite-server'),
  {
    name: 'PHP SoapServer',
    packages: 'libapache2-mod-php php-cli php-soap php-sqlite3',
    version() {
      const loaded = 'extension_loaded("soap") && extension_loaded("pdo_sqlite") ? PHP_VERSION : ""';
      const php = existsSync(APACHE) && phpModule() ? printed('php', ['-r', `echo ${loaded};`]) : null;
      const [, apache] = /Apache\/(\S+)/.exec(printed(APACHE, ['-v']) ?? '') ?? [];
      return php && `${php}, Apache ${apache}`;
    },
    async start(folder) {
      const port = await freePort();
      const child = startPhp(folder, port);
      await untilAnswering(port, child, join(folder, 'errors.log'));
      return { child, port };
    },
    pids: ({ pid }) => [pid as number, ...childrenOf(pid as number)],
  },
];

export async function startPeer(toolkit: Toolkit, version: string): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-peer-'));
  const remove = () => removeFolder(folder);
  try {
    const { child, port } = await toolkit.start(folder);
    const abandon = () => {
      child.kill('SIGTERM');
      remove();
    };
    process.once('exit', abandon);
    return {
      name: toolkit.name,
      version,
      child,
      port,
      pids: () => toolkit.pids(child),
      /** Ends it and removes its folder. */
      async stop() {
        process.off('exit', abandon);
        const ended = new Promise((resolve) => child.once('exit', resolve));
        if (child.kill('SIGTERM')) await ended;
        remove();
      },
    };
  } catch (thrown) {
    remove();
    throw thrown;
  }
}

/** Those that are installed. Says which are not. */
export async function startPeers(): Promise<Peer[]> {
  const peers: Peer[] = [];
  for (const toolkit of toolkits) {
    const version = toolkit.version();
    if (version) peers.push(await startPeer(toolkit, version));
    else process.stderr.write(`${toolkit.name}: not installed (apt-get install ${toolkit.packages}), left out\n`);
  }
  return peers;
}

/** Null where it cannot be run, or says nothing. */
function printed(command: string, args: string[]): string | null {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? (stdout || stderr).trim() || null : null;
}

const TRIES_MAX = 100;

async function untilAnswering(port: number, child: ChildProcess, log: string): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX && child.exitCode === null; tries++) {
    const answers = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (answers) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill('SIGTERM');
  throw new Error(`Apache did not start: ${existsSync(log) ? readFileSync(log, 'utf8') : `exit ${child.exitCode}`}`);
}
