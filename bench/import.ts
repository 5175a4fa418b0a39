import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newAccount } from '../test/support/old-server/accounts.ts';
import { startOldServer } from '../test/support/old-server/server.ts';
import { PLAIN_WAYS } from '../test/support/old-server/ways.ts';
import { startDatabaseServer } from './database-server.ts';
import { end, launch, temporaryFolder } from './processes.ts';
import { heading, megabytes, printTable, say } from './report.ts';

/**
 * The memory that `columba migrate import` and `check` take for an account with many sent messages.
 * MESSAGES is a list of how many. The old server is a process of its own.
 */
const MESSAGES = (process.env.MESSAGES ?? '1000,100000,300000').split(',').map(Number);
const USER_ID = 'the user id of the account';
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const SELF = fileURLToPath(import.meta.url);

if (process.argv[2] === 'old') await serveOld(Number(process.argv[3]));
else await measure();

async function serveOld(messages: number): Promise<void> {
  const account = newAccount(USER_ID, 'large');
  const now = Date.now();
  for (let id = 1; id <= messages; id++) {
    const at = now - 86_400_000 - (messages - id) * 1_000;
    account.sent.push({
      id,
      reference: `order ${id}`,
      recipient: `+2783${String(id).padStart(7, '0')}`,
      message: `Your order ${id} has left our warehouse. It arrives in two days, between 9 and 12 in the morning. ✓`,
      status: 'DELIVERED',
      sentAt: at,
      updatedAt: at + 5_000,
      marked: id % 10 !== 0,
    });
  }
  const old = await startOldServer({ accounts: [account], writes: [], deliveries: [] }, PLAIN_WAYS);
  process.send?.(old.url);
}

async function measure(): Promise<void> {
  const folder = temporaryFolder();
  const users = join(folder, 'users.txt');
  writeFileSync(users, USER_ID, { mode: 0o600 });
  const postgres = await startDatabaseServer();
  heading('Import and check of an account with many sent messages');
  const rows: string[][] = [];
  for (const messages of MESSAGES) {
    const server = launch({ args: [SELF, 'old', String(messages)], messages: true });
    const [url] = (await once(server, 'message')) as [string];
    const databases = { SQLite: `sqlite:${join(folder, `${messages}.db`)}`, PostgreSQL: await postgres?.create() };
    for (const [engine, database] of Object.entries(databases)) {
      if (database === undefined) continue;
      const shared = ['--old', url, '--users', users, '--rate', '1000', '--reads-mark', 'none'];
      const run = (command: string) => measured(['migrate', command, ...shared], { COLUMBA_DATABASE: database });
      rows.push([engine, String(messages), ...run('import'), ...run('import'), ...run('check')]);
    }
    await end(server);
  }
  const columns = ['import', 's', 'import again', 's', 'check', 's'];
  printTable(['engine', 'sent messages', ...columns], rows);
  await postgres?.stop();
}

/** The peak of resident memory, and the seconds. */
function measured(args: readonly string[], env: Record<string, string>): [string, string] {
  const report = `process.on('exit', () => process.stderr.write('PEAK ' + process.resourceUsage().maxRSS))`;
  const told = `data:text/javascript,${encodeURIComponent(report)}`;
  const startedAt = performance.now();
  const command = ['--disable-warning=ExperimentalWarning', '--import', told, MAIN, ...args];
  const options = {
    env: { ...process.env, COLUMBA_NAMESPACE: PLAIN_WAYS.namespace, ...env },
    encoding: 'utf8',
  } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, command, options);
  const seconds = (performance.now() - startedAt) / 1_000;
  const peak = /PEAK (\d+)/.exec(stderr)?.[1];
  if (status !== 0) say(`${args[1]} ended with ${status}: ${stdout}${stderr}`);
  return [status === 0 ? megabytes(Number(peak) * 1_024) : 'refused', seconds.toFixed(1)];
}
