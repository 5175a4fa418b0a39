import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/free-port.ts';
import type { Disk } from './disks.ts';

/** A machine with a service whose database is backed up, and which can be lost with its disk. */
export interface Machine {
  /** Where messages of an account are sent; a number chooses the account. */
  api(number: number): string;
  userId(number: number): string;
  readonly contract: string;
  readonly token: string;
  start(): Promise<void>;
  /** Stops it with a signal, and starts it. Returns whether the backup continued its chain. */
  restart(): Promise<boolean>;
  /** Takes a backup where the service does not do that itself. */
  backUp(): Promise<void>;
  /** kill -9, and the database is gone. Returns the time of the kill. */
  lose(): Promise<number>;
  restore(): Promise<void>;
  /** The tokens of all messages, and the blocked numbers. */
  stored(): Promise<Set<string>>;
  /** Throws if the credits of an account do not add up. */
  checkLedger(): Promise<void>;
  end(): Promise<void>;
}

/** On a cluster, they are on several nodes. */
const ACCOUNTS = 4;
const usernameOf = (number: number): string => `disaster-${number % ACCOUNTS}`;
const userIdOf = (number: number): string => `user_id of disaster ${number % ACCOUNTS}`;
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const CREATED = '2026-01-01T00:00:00Z';
const START_MAX_MS = 300_000;

export async function createMachine(
  folder: string,
  carrier: string,
  disk: Disk,
  env: Readonly<Record<string, string>>,
): Promise<Machine> {
  const connectors = join(folder, 'connectors.json');
  const config = { url: carrier, secret: SECRET, allowPrivate: true, timeoutMs: 2_000 };
  const connector = { name: 'carrier', kind: 'callback', isDefault: true, config };
  writeFileSync(connectors, JSON.stringify({ connectors: [connector] }));
  const [port, webPort] = [await freePort(), await freePort()];
  const settings = {
    ...env,
    COLUMBA_CONNECTORS: connectors,
    COLUMBA_PORT: String(port),
    COLUMBA_WEB_PORT: String(webPort),
    COLUMBA_TURN_MAX_MS: '60000', // nobody is refused because the machine is busy
    COLUMBA_DATABASE_TIMEOUT_MS: '60000',
    NODE_COMPILE_CACHE: join(folder, 'cache'), // each round starts the program twice
    PATH: process.env.PATH ?? '',
  };
  const launch = (args: readonly string[]) => {
    const options = ['--disable-warning=ExperimentalWarning', MAIN, ...args];
    const own = { ...settings, COLUMBA_DATABASE: disk.setting() };
    return spawn(process.execPath, options, { cwd: folder, env: own, stdio: ['ignore', 'pipe', 'pipe'] });
  };
  const run = async (...args: string[]): Promise<string> => {
    const child = launch(args);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`columba ${args[0]} ended with ${code}: ${output}`);
    return output;
  };

  const accounts = Array.from({ length: ACCOUNTS }, (_, number) => ({
    userID: userIdOf(number),
    username: usernameOf(number),
    credits: '1000000000',
    usedCredits: '0',
    datetimeCreated: CREATED,
  }));
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify({ accounts }));
  await run('import', join(folder, 'accounts.json'));
  const added = await run('token', 'add', 'disasters', '--scopes', 'messages:send', '--json');
  const { token } = JSON.parse(added) as { token: string };
  let service: ChildProcess | undefined;
  let log = '';
  const lastSnapshot = async (): Promise<string | undefined> => {
    if (!env.COLUMBA_BACKUP) return undefined;
    const { backups } = JSON.parse(await run('backup', 'list', '--json')) as { backups: { startedAt: string }[] };
    return backups
      .map(({ startedAt }) => startedAt)
      .sort()
      .at(-1);
  };

  async function start(): Promise<void> {
    const child = launch(['serve']);
    service = child;
    log = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (log += text));
    for (const until = Date.now() + START_MAX_MS; ; await sleep(20)) {
      if (child.exitCode !== null || Date.now() > until) throw new Error(`the service does not start: ${log}`);
      const ready = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null);
      const web = ready?.ok ? await fetch(`http://127.0.0.1:${webPort}/operator/`).catch(() => null) : null;
      if (web) return;
    }
  }

  return {
    api: (number) => `http://127.0.0.1:${webPort}/operator/v1/accounts/${usernameOf(number)}/messages`,
    userId: userIdOf,
    contract: `http://127.0.0.1:${port}/api/account.asmx`,
    token,
    start,
    async restart() {
      const before = await lastSnapshot();
      const child = service as ChildProcess;
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'close');
      if (child.exitCode !== 0) throw new Error(`the service ended with ${child.exitCode}: ${log}`);
      await start();
      return before !== undefined && (await lastSnapshot()) === before;
    },
    async lose() {
      const child = service as ChildProcess;
      if (child.exitCode !== null) throw new Error(`the service ended by itself: ${log}`);
      const killedAt = Date.now();
      child.kill('SIGKILL');
      await once(child, 'close');
      await disk.lose();
      return killedAt;
    },
    backUp: async () => disk.backUp?.(),
    restore: () => disk.restore(run),
    stored: disk.stored,
    checkLedger: async () => void (await run('check', '--ledger')),
    async end() {
      service?.kill('SIGKILL');
      if (service && service.exitCode === null && service.signalCode === null) await once(service, 'close');
      await disk.end();
    },
  };
}
