import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { COLUMBA, columba, folder, freshDatabase, freshPath } from '../support/command.ts';
import { onOneEngine, SAMPLE } from '../support/engines.ts';
import { account, lines } from '../support/import-files.ts';

/** Where commands write to, and what was there before. */

const freshFolder = () => mkdtempSync(join(folder, 'out-'));

onOneEngine('columba export --output', (engine) => {
  test('columba export --output of an unknown account leaves the file as it was, and nothing beside it', async () => {
    const database = await engine.fresh('sample');
    const place = freshFolder();
    const path = join(place, 'good.json');
    writeFileSync(path, 'precious');
    for (const force of [[], ['--force']]) {
      const args = ['export', '--account', 'nobody', '--output', path, ...force, '--database', database];
      const { code, stdout } = await columba(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.equal(readFileSync(path, 'utf8'), 'precious');
    }
    assert.equal(
      (await columba(['export', '--account', 'nobody', '--output', join(place, 'new'), '--database', database])).code,
      1,
    );
    assert.deepEqual(readdirSync(place), ['good.json']);
  });

  test('columba export --output replaces a file only with --force, and behind a symbolic link the file that it leads to', async () => {
    const database = await engine.fresh('sample');
    const place = freshFolder();
    const path = join(place, 'accounts.json');
    const link = join(place, 'link.json');
    writeFileSync(path, 'precious');
    symlinkSync(path, link);
    const export_ = (...args: string[]) => columba(['export', '--output', ...args, '--database', database]);
    assert.deepEqual(await export_(path), {
      code: 1,
      stdout: '',
      stderr: `columba: ${path}: the file exists already. Replace it with --force.\n`,
    });
    assert.equal(readFileSync(path, 'utf8'), 'precious');
    assert.deepEqual(await export_(link, '--force'), { code: 0, stdout: '', stderr: '' });
    assert.equal(JSON.parse(readFileSync(path, 'utf8')).accounts.length, 2);
    assert.deepEqual(readdirSync(place), ['accounts.json', 'link.json']);
  });
});

describe('commands and their files', () => {
  let database = '';
  before(async () => {
    database = freshDatabase();
    const file = freshPath('ndjson');
    // More than a pipe takes.
    const names = Array.from({ length: 40 }, (_, index) => `a${index}`);
    writeFileSync(
      file,
      lines(
        ...names.map((name) =>
          account(name, { templates: Array.from({ length: 5 }, (_, each) => `${each}`.repeat(2_000)) }),
        ),
      ),
    );
    assert.equal((await columba(['import', file, '--database', database])).code, 0);
  });

  test('columba backup replaces a file only with --force, and the new file is a whole database', async () => {
    const path = freshPath('db');
    writeFileSync(path, 'precious');
    assert.equal((await columba(['backup', path, '--database', database])).code, 1);
    assert.equal(readFileSync(path, 'utf8'), 'precious');
    const { code, stderr } = await columba(['backup', path, '--force', '--database', database]);
    assert.deepEqual([code, stderr], [0, '']);
    const copy = new DatabaseSync(path, { readOnly: true });
    assert.equal(copy.prepare('select count(*) as accounts from account').get()?.accounts, 40);
    copy.close();
  });

  test('a folder is not replaced, with --force or without', async () => {
    const place = freshFolder();
    for (const args of [['backup'], ['export', '--output']]) {
      const { code, stderr } = await columba([...args, place, '--force', '--database', database]);
      assert.deepEqual([code, stderr], [1, `columba: ${place}: a folder is there\n`]);
    }
    assert.ok(existsSync(place));
  });

  for (const args of [['export'], ['export', '--ndjson'], ['serve', '--help'], ['settings']]) {
    test(`${args.join(' ')} ends quietly when nobody reads on, as in columba export | head`, async () => {
      const child = spawn(COLUMBA, args, { env: { PATH: process.env.PATH, COLUMBA_DATABASE: database }, cwd: folder });
      let stderr = '';
      child.stderr.setEncoding('utf8').on('data', (text) => {
        stderr += text;
      });
      child.stdout.destroy();
      const [code] = await once(child, 'close');
      assert.deepEqual([code, stderr], [141, '']);
    });
  }

  test('a signal while a file is written leaves nothing of it, and the old one as it was', async () => {
    const place = freshFolder();
    const path = join(place, 'good.json');
    writeFileSync(path, 'precious');
    const module = fileURLToPath(new URL('../../src/commands/output.ts', import.meta.url));
    const script = `
      const { writeWhole } = await import(process.argv[1]);
      await writeWhole(process.argv[2], { force: true }, async (temporary) => {
        (await import('node:fs')).writeFileSync(temporary, 'half');
        process.stdout.write('half');
        await new Promise((resolve) => setTimeout(resolve, 600_000));
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, module, path]);
    await once(child.stdout, 'data');
    assert.equal(readdirSync(place).length, 2);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM']);
    assert.deepEqual(readdirSync(place), ['good.json']);
    assert.equal(readFileSync(path, 'utf8'), 'precious');
  });

  test('columba export writes to a device without replacing it', async () => {
    const { code, stderr } = await columba(['export', '--output', '/dev/null', '--database', database]);
    assert.deepEqual([code, stderr], [0, '']);
  });

  test('columba import - reads standard input, a document as well as lines', async () => {
    for (const input of [readFileSync(SAMPLE, 'utf8'), lines(account('a'), account('b'))]) {
      const target = freshDatabase();
      const outcome = await columba(['import', '-', '--database', target], { input });
      assert.deepEqual([outcome.code, outcome.stderr], [0, '']);
      assert.match(outcome.stdout, /^Imported 2 accounts /);
    }
    const empty = await columba(['import', '-', '--database', freshDatabase()]);
    assert.deepEqual([empty.code, empty.stderr], [1, 'columba: standard input: the file is empty\n']);
  });
});
