import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { columba, columbaAlone, freshPath, launch, serving } from '../../test/support/command.ts';

/** A folder for the database of one machine, and the target of its backup. */
function machine() {
  const folder = freshPath('machine');
  mkdirSync(folder);
  const path = join(folder, 'columba.db');
  const target = `file:${freshPath('target')}`;
  const on = ['--database', `sqlite:${path}`];
  return { folder, path, target, on, from: [...on, '--from', target] };
}

type Machine = ReturnType<typeof machine>;

const serve = ({ on, target }: Machine, more: readonly string[] = []) =>
  serving([...on, '--backup', target, '--backup-lag-ms', '100', '--web-port', 'off', ...more]);

/** Waits until the backup has as many accounts as there are. */
async function covered({ from }: Machine, accounts: number, more: readonly string[] = []): Promise<string> {
  for (let tries = 0; tries < 100; tries++) {
    const { stdout } = await columba(['backup', 'verify', ...from, ...more]);
    if (stdout.includes(`Accounts: ${accounts}.`)) return stdout;
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  throw new Error('the backup never had the account');
}

const usernames = async ({ on }: Machine) =>
  JSON.parse((await columba(['account', 'list', '--json', ...on])).stdout).items.map(
    ({ username }: { username: string }) => username,
  );

/** A database of its own that was served. */
async function servedDatabase(): Promise<string> {
  const { on, path } = machine();
  const { child, ended } = await serving([...on, '--web-port', 'off']);
  child.kill('SIGTERM');
  await ended;
  return `sqlite:${path}`;
}

/** The system refuses to write more than so many bytes to new files in a folder. */
const fullAfter = (room: string, folder: string) => ({
  env: { NODE_OPTIONS: `--import=${FULL_DISK}`, FULL_DISK_FOLDER: folder, FULL_DISK_ROOM: room },
});
const FULL_DISK = new URL('../../test/support/full-disk.ts', import.meta.url).href;

describe('a continuous backup', () => {
  test('columba restore recovers a lost machine, with everything that its service and commands wrote', async () => {
    const one = machine();
    const first = await serve(one);
    assert.equal((await columba(['account', 'add', 'acme', ...one.on])).code, 0);
    assert.match(await covered(one, 1), /The backup can be restored\. It reaches 20/);
    first.child.kill('SIGKILL');
    await first.ended;
    rmSync(one.folder, { recursive: true });
    mkdirSync(one.folder);
    const tried = await columba(['restore', '--dry-run', ...one.from]);
    assert.match(tried.stdout, /Would restore the state of 20.* hold 0 messages .* Nothing was changed/);
    assert.deepEqual(readdirSync(one.folder), []);
    const restored = await columba(['restore', ...one.from]);
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stdout, /Restored the state of 20.* as generation \d+\. Held for a decision: 0 messages/);
    assert.deepEqual(readdirSync(one.folder).sort(), ['columba.db', 'columba.db-generation']);
    const second = await serve(one);
    assert.deepEqual(await usernames(one), ['acme']);
    second.child.kill('SIGTERM');
    assert.equal((await second.ended).code, 0);
    assert.match(
      (await columba(['backup', 'list', ...one.from])).stdout,
      /^20\S+ to 20\S+ {2}\d+ segments {2}generation \d+$/m,
    );
  });

  test('columba restore says in a sentence what it cannot do, and overwrites nothing', async () => {
    const one = machine();
    const key = freshPath('key');
    writeFileSync(key, 'ab'.repeat(32));
    const other = freshPath('key');
    writeFileSync(other, 'cd'.repeat(32));
    const nothing = await columba(['restore', ...one.from]);
    assert.deepEqual(
      [nothing.code, /There is no backup: the folder .* does not exist\./.test(nothing.stderr)],
      [1, true],
    );
    const { child, ended } = await serve(one, ['--backup-key-file', key]);
    await columba(['account', 'add', 'acme', ...one.on]);
    await covered(one, 1, ['--backup-key-file', key]);
    const keyed = [...one.from, '--backup-key-file', key];
    const inUse = await columba(['restore', '--force', ...keyed]);
    assert.match(inUse.stderr, /a service or a command uses this database\. Stop it first/);
    child.kill('SIGTERM');
    await ended;
    const before = readFileSync(one.path);
    for (const [args, sentence] of [
      [keyed, /the file exists already\. Replace it with --force/],
      [['--force', ...one.from], /is encrypted\. Name the file of the key with COLUMBA_BACKUP_KEY_FILE/],
      [['--force', ...one.from, '--backup-key-file', other], /encrypted with another key/],
      [['--force', '--at', '2020-01-01T00:00:00Z', ...keyed], /begin at 20.*, which is later than the given time/],
      [['--force', '--at', 'yesterday', ...keyed], /expected a time with its zone, such as/],
      [['--force', ...keyed, '--from', 'ftp:nowhere'], /Name the target of the backup with COLUMBA_BACKUP/],
    ] as const) {
      const { code, stderr } = await columba(['restore', ...args]);
      assert.equal(code, 1, stderr);
      assert.match(stderr, sentence);
      assert.ok(readFileSync(one.path).equals(before), String(sentence));
      assert.deepEqual(
        readdirSync(one.folder).filter((name) => name.includes('restoring')),
        [],
      );
    }
    const forced = await columba(['restore', '--force', ...keyed]);
    assert.equal(forced.code, 0, forced.stderr);
    const aside = /is now (\S+)\.\n/.exec(forced.stdout)?.[1] ?? '';
    const kept = await columba(['check', '--ledger', '--database', `sqlite:${aside}`]);
    assert.match(kept.stdout, /Accounts: 1\n/, 'what was there is kept');
  });

  test('a standby follows and is promoted, and the former service refuses to start', async () => {
    const [one, two] = [machine(), machine()];
    const standby = { ...two, from: [...two.on, '--from', one.target] };
    const { child, ended } = await serve(one);
    await columba(['account', 'add', 'acme', ...one.on]);
    await covered(one, 1);
    const followed = await columba(['follow', '--once', ...standby.from]);
    assert.match(followed.stdout, /^Follows the folder .*, up to 20/, followed.stderr);
    assert.ok(!existsSync(two.path), 'it serves nothing');
    await columba(['account', 'add', 'second', ...one.on]);
    await covered(one, 2);
    child.kill('SIGKILL');
    await ended;
    const files = readdirSync(one.folder).map((name) => [name, readFileSync(join(one.folder, name))] as const);
    const follower = launch(['follow', ...standby.from], {});
    await once(follower.child.stdout as NodeJS.EventEmitter, 'data');
    const busy = await columba(['restore', ...standby.from]);
    assert.deepEqual([busy.code, /columba follow keeps a copy beside .* Stop it first/.test(busy.stderr)], [1, true]);
    follower.child.kill('SIGTERM');
    assert.equal((await follower.ended).code, 0);
    assert.equal((await columba(['restore', ...standby.from])).code, 0);
    assert.deepEqual(
      readdirSync(two.folder).filter((name) => name.includes('.following')),
      [],
    );
    const promoted = await serve({ ...two, target: one.target });
    assert.deepEqual(await usernames(two), ['acme', 'second']);
    for (const [name, content] of files) writeFileSync(join(one.folder, name), content);
    const refused = await columbaAlone([
      'serve',
      '--port',
      '0',
      '--web-port',
      'off',
      '--backup',
      one.target,
      ...one.on,
    ]);
    assert.deepEqual([refused.code, /Another machine was restored from the backup/.test(refused.stderr)], [1, true]);
    promoted.child.kill('SIGTERM');
    await promoted.ended;
    copyFileSync(two.path, freshPath('db'));
  });

  test('a demo with a target is backed up, and leaves the backup of another database alone', async () => {
    const one = machine();
    const demo = () => serving(['--demo', '--backup', one.target, '--backup-lag-ms', '100', '--web-port', '0']);
    const first = await demo();
    assert.match(
      (await columba(['backup', 'verify', ...one.from])).stdout,
      /can be restored.*\nSize: .* Accounts: 3\./,
    );
    const chains = async () => (await columba(['backup', 'list', ...one.from])).stdout.trim().split('\n').length;
    assert.equal(await chains(), 1);
    const second = await demo();
    assert.match(second.output.stdout + second.output.stderr, /The backup in the folder \S+ is of another database/);
    first.child.kill('SIGTERM');
    second.child.kill('SIGTERM');
    assert.deepEqual([(await first.ended).code, (await second.ended).code], [0, 0], 'the first one goes on');
    assert.equal(await chains(), 1);
    const now = await columba(['backup', 'now', ...one.from, '--database', await servedDatabase()]);
    assert.deepEqual([now.code, /is of another database\. Name an empty place/.test(now.stderr)], [1, true]);
  });

  test('a full disk is told in a sentence: a restore changes nothing, and a target keeps what it has', async () => {
    const one = machine();
    const { child, ended } = await serve(one);
    await columba(['account', 'add', 'acme', ...one.on]);
    await covered(one, 1);
    child.kill('SIGTERM');
    await ended;
    const state = () => readdirSync(one.folder).map((name) => [name, readFileSync(join(one.folder, name), 'hex')]);
    const before = state();
    const [all] = [(await columba(['restore', '--dry-run', ...one.from])).stdout];
    assert.match(all, /Would restore/);
    for (const room of ['0', '5', '400000']) {
      const { code, stderr } = await columbaAlone(['restore', '--force', ...one.from], fullAfter(room, one.folder));
      assert.deepEqual(
        [code, /^columba: The disk of \S+columba\.db is full\. Nothing was changed/.test(stderr)],
        [1, true],
        stderr,
      );
      assert.deepEqual(state(), before, room);
    }
    const target = one.target.slice('file:'.length);
    const now = await columbaAlone(['backup', 'now', ...one.from], fullAfter('1000', target));
    assert.deepEqual(
      [now.code, /Writing in the folder \S+ failed: the disk is full\./.test(now.stderr)],
      [1, true],
      now.stderr,
    );
    assert.deepEqual(
      readdirSync(target, { recursive: true }).filter((name) => String(name).endsWith('.partial')),
      [],
    );
    assert.match((await columba(['backup', 'verify', ...one.from])).stdout, /Accounts: 1\./);
    assert.equal((await columba(['restore', '--force', ...one.from])).code, 0, 'with room, it is restored');
  });

  test('a snapshot can be taken beside a running service, and without one', async () => {
    const one = machine();
    const { child, ended } = await serving([...one.on, '--web-port', 'off']);
    await columba(['account', 'add', 'acme', ...one.on]);
    assert.equal((await columba(['backup', 'now', ...one.from])).code, 0);
    assert.match((await columba(['backup', 'verify', ...one.from])).stdout, /Accounts: 1\./);
    child.kill('SIGTERM');
    await ended;
    assert.equal((await columba(['backup', 'now', ...one.from])).code, 0);
    assert.equal((await columba(['backup', 'list', ...one.from])).stdout.split('\n').length, 3);
  });
});
