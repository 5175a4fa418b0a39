import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CommandOptions, launch, type Outcome, serving } from '../../test/support/command.ts';

/** The commit of version 0.1.0, by its hash, because a clone may have no tags. */
const FIRST_VERSION = 'e827bd4bbadc8f8bccfaa12d2811066b290a22c1';
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const git = (...args: string[]) => spawnSync('git', ['-C', ROOT, ...args], { maxBuffer: 2 ** 30 });
const hasHistory = git('cat-file', '-e', `${FIRST_VERSION}^{commit}`).status === 0;
export const whyNot = hasHistory
  ? false
  : 'skipped: this clone has no history back to version 0.1.0 (git fetch --unshallow gets it)';

/** The program of 0.1.0 as it was, on the dependencies of now. */
export function firstVersion(folder: string): string {
  const at = join(folder, 'columba-0.1.0');
  mkdirSync(at);
  execFileSync('tar', ['-x', '-C', at], { input: git('archive', FIRST_VERSION).stdout });
  symlinkSync(join(ROOT, 'node_modules'), join(at, 'node_modules'));
  return join(at, 'columba');
}

export type Run = (command: string, args: readonly string[], database?: readonly string[]) => Promise<Outcome>;

/** Runs commands on a database, which must succeed. */
export const runOn =
  (on: readonly string[]): Run =>
  async (command, args, database = on) => {
    const { child, ended } = launch([...args, ...database], { command });
    child.stdin?.end();
    const outcome = await ended;
    assert.equal(outcome.code, 0, `columba ${args.join(' ')}: ${outcome.stderr}`);
    return outcome;
  };

/** Serves a database until it answers, and what is done meanwhile is over. */
export async function serveWith<T>(
  on: readonly string[],
  options: CommandOptions,
  work: (address: string) => Promise<T>,
): Promise<T> {
  const { address, child, ended } = await serving([...on, '--web-port', 'off'], options);
  try {
    return await work(address);
  } finally {
    child.kill('SIGTERM');
    assert.equal((await ended).code, 0);
  }
}

/** Everything that 0.1.0 can store: most by its own commands, the rest as rows. */
export async function fill(old: string, run: Run, exec: (sql: string) => Promise<string | undefined>): Promise<void> {
  await run(old, ['import', join(ROOT, 'examples/sample.json')]);
  const carrier = JSON.stringify({ receiptAfterMs: 1_000 });
  for (const line of [
    ['connector', 'put', 'carrier', '--kind', 'loopback', '--config', carrier, '--is-default'],
    ['route', 'put', 'win', '--username', 'acme', '--destination', '31234', '--keyword', 'WIN'],
    ['webhook', 'add', 'https://shop.example/events', '--events', 'credits.low,message.status,message.undecided'],
    ['operator', 'add', 'ann'],
    ['retention', 'set', '--audit', '3650'],
    ['token', 'add', 'provisioning', '--scope', 'accounts'],
    ['message', 'send', 'acme', '+27825550201,+27825550202,+27825550203', '--text', 'One of three'],
  ]) {
    await run(old, line);
  }
  const id = await exec("select cast(account_id as text) as id from account where username = 'acme'");
  const rows = readFileSync(new URL('every-table.sql', import.meta.url), 'utf8');
  await exec(rows.replaceAll('$acme', String(id)).replaceAll('$now', String(Date.now())));
}
