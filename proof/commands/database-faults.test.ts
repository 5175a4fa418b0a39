import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { columba, folder, freshPath } from '../../test/support/command.ts';
import { engines, SAMPLE } from '../../test/support/engines.ts';
import { pathOf } from '../../test/support/opened-database.ts';
import { type Peer, testWith } from '../../test/support/peers.ts';

/** What an operator is told of a database file that cannot be used: which file, what is wrong, and what to do. */
const COLUMBA = fileURLToPath(new URL('../../columba', import.meta.url));
const sqlite = engines[0] as (typeof engines)[number];

async function told(path: string, args = ['check'], command = COLUMBA): Promise<string> {
  const { code, stdout, stderr } = await columba([...args, '--database', `sqlite:${path}`], { command });
  assert.deepEqual([code, stdout], [3, ''], stderr);
  assert.match(stderr, /^columba: [^\n]+\n$/, 'one sentence');
  assert.doesNotMatch(stderr, /does not answer/);
  return stderr;
}

/** A database that this Columba has made. */
async function made(): Promise<string> {
  const path = freshPath('db');
  copyFileSync(pathOf(await sqlite.fresh('sample')), path);
  return path;
}

describe('the operator is told which database file cannot be used, and why:', () => {
  test('the operator is told that the database file is no database', async () => {
    assert.ok((await told(SAMPLE)).includes(`The file ${SAMPLE} is not an SQLite database.`));
    const path = freshPath('db');
    writeFileSync(path, readFileSync(SAMPLE), { mode: 0o600 });
    for (const workers of ['1', '2']) {
      const { code, stderr } = await columba([
        'serve',
        '--port',
        '0',
        '--workers',
        workers,
        '--database',
        `sqlite:${path}`,
      ]);
      assert.equal(code, 3, `serve ended with 1, workers: ${workers}`);
      assert.ok(stderr.includes(`The file ${path} is not an SQLite database.`), stderr);
    }
  });

  test('the operator is told that the database file belongs to another program, and it gets no tables', async () => {
    const path = freshPath('db');
    const foreign = new DatabaseSync(path);
    foreign.exec('create table theirs (content text)');
    foreign.close();
    const before = readFileSync(path);
    assert.ok((await told(path)).includes(`The file ${path} is a database of another program.`));
    assert.ok(before.equals(readFileSync(path)));
  });

  test('the operator is told that the database file is empty, and a command that reads makes no database of it', async () => {
    const path = freshPath('db');
    writeFileSync(path, '', { mode: 0o600 });
    const { code, stderr } = await columba(['account', 'list', '--database', `sqlite:${path}`]);
    assert.equal(code, 1);
    assert.match(stderr, /There is no database at /);
    assert.equal(readFileSync(path).length, 0);
  });

  test('the operator is told that the database file is a folder', async () => {
    assert.ok((await told(folder)).includes(`The database ${folder} is a folder.`));
  });

  test('the operator is told that the folder of the database cannot be created', async () => {
    const said = await told('/dev/null/below/columba.db', ['import', SAMPLE]);
    assert.ok(said.includes('The folder of the database /dev/null/below/columba.db cannot be created.'), said);
  });

  test('the operator is told that the folder of the database cannot be created in /proc, where Node itself would never end', async () => {
    const said = await told('/proc/nothing/below/columba.db', ['import', SAMPLE]);
    assert.ok(said.includes('The folder of the database /proc/nothing/below/columba.db cannot be created.'), said);
  });

  test('the operator is told the absolute path of a database that was named by a relative one', async () => {
    writeFileSync(join(folder, 'relative.db'), 'this is no database, and long enough to be read as a header of one');
    assert.ok((await told('relative.db')).includes(`The file ${join(folder, 'relative.db')} is not`));
  });

  test('the operator is told that the database file is damaged', async () => {
    const path = await made();
    const bytes = readFileSync(path);
    bytes.fill(0xff, 100, 4_096); // the first page, after the header of the file
    writeFileSync(path, bytes);
    assert.ok((await told(path)).includes(`The database ${path} is damaged.`));
  });

  test('the operator is told that another process has locked the database file', async () => {
    const path = await made();
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    assert.ok((await told(path)).includes(`Another process keeps the database ${path} locked.`));
    other.close();
  });

  test('the operator is told that the folder of a backup does not exist', async () => {
    const to = join(folder, 'nowhere', 'backup.db');
    const { code, stderr } = await columba(['backup', to, '--database', `sqlite:${await made()}`]);
    assert.deepEqual([code, stderr], [1, `columba: ${to}: its folder does not exist. Make it first.\n`]);
  });
});

/** Mounts of its own, which end with the process: the disk is a real one to SQLite. */
const unshare: Peer = {
  name: 'unshare with the right to mount',
  command:
    spawnSync('unshare', ['--mount', '--map-root-user', 'mount', '-t', 'tmpfs', 'tmpfs', folder]).status === 0
      ? 'unshare'
      : null,
};

/** The command, with a disk of its own below a folder. */
function onDisk(mount: string): { command: string; disk: string } {
  const disk = freshPath('disk');
  mkdirSync(disk);
  const [command, inside] = [freshPath('sh'), freshPath('sh')];
  writeFileSync(inside, `#!/bin/sh\nset -e\n${mount.replaceAll('DISK', `'${disk}'`)}\nexec '${COLUMBA}' "$@"\n`);
  writeFileSync(command, `#!/bin/sh\nexec unshare --mount --map-root-user '${inside}' "$@"\n`);
  for (const file of [command, inside]) chmodSync(file, 0o755);
  return { command, disk };
}

describe('the disk of the database', () => {
  testWith(unshare, 'the operator is told that the disk of the database is full', async () => {
    const { command, disk } = onDisk('mount -t tmpfs -o size=64k tmpfs DISK');
    const path = join(disk, 'full.db');
    const said = await told(path, ['import', SAMPLE], command);
    assert.ok(said.includes(`The disk of the database ${path} is full. Make room there`), said);
  });

  testWith(
    unshare,
    'the operator is told that the disk of the database is read-only, whether the database and its folder exist or not',
    async () => {
      const from = await made();
      const { command, disk } = onDisk(
        `mount -t tmpfs tmpfs DISK\ncp '${from}' DISK/there.db\nmount -o remount,ro DISK`,
      );
      for (const name of ['there.db', 'new.db', 'folder/new.db']) {
        const path = join(disk, name);
        const said = await told(path, ['import', SAMPLE], command);
        assert.ok(said.includes(`The database ${path} is on a disk that is read-only.`), said);
      }
    },
  );
});
