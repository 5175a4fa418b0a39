import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { columba, freshDatabase, freshPath } from '../../test/support/command.ts';
import { type Engine, engines, onEveryEngine } from '../../test/support/engines.ts';
import { account, lines } from '../../test/support/import-files.ts';
import { script, testWith } from '../../test/support/peers.ts';
import { onPostgres } from '../../test/support/postgres-engines.ts';
import { digestOf, type Measured, measured, writeAccounts } from './measured-command.ts';

/** MESSAGES=1000000 for the figures of docs/SCALING.md. */
const MESSAGES = Number(process.env.MESSAGES ?? 30_000);
const SIZE = { accounts: 200, messages: MESSAGES, characters: Math.max(200, Math.round(205_000_000 / MESSAGES)) };
/** What the command may have for everything that is not a buffer. */
const HEAP_MB = 64;

const megabytes = (path: string) => Math.round(statSync(path).size / 2 ** 20);
const told = (name: string, { seconds, peakMb }: Measured) => `${name} ${seconds.toFixed(1)} s with ${peakMb} MB`;

onPostgres('moving from SQLite to PostgreSQL', () => {
  const postgres = engines.find(({ name }) => name === 'postgres') as Engine;

  test('an export of SQLite arrives in PostgreSQL byte for byte, in much less memory than the file has', {
    timeout: 1_200_000,
  }, async (t) => {
    const [given, first, second] = [freshPath('ndjson'), freshPath('ndjson'), freshPath('ndjson')];
    t.after(() => {
      for (const path of [given, first, second]) rmSync(path, { force: true });
    });
    await writeAccounts(given, SIZE);
    const size = megabytes(given);
    t.diagnostic(`${MESSAGES.toLocaleString('en')} messages in ${SIZE.accounts} accounts, ${size} MB`);
    assert.ok(size > 3 * HEAP_MB, 'the file is several times larger than the memory');

    const [from, to] = [freshDatabase(), await postgres.fresh('none')];
    const run = async (name: string, ...args: string[]) => {
      const outcome = await measured(args, HEAP_MB);
      t.diagnostic(told(name, outcome));
      assert.equal(outcome.code, 0, outcome.stderr.slice(-2_000));
      assert.equal(outcome.stderr, '');
      return outcome.stdout;
    };
    const imported = `Imported 200 accounts with ${MESSAGES.toLocaleString('en')} messages.\n`;
    assert.equal(await run('import into SQLite', 'import', given, '--database', from), imported);
    assert.equal(await run('export from SQLite', 'export', '--ndjson', '--output', first, '--database', from), '');
    assert.equal(await run('import into PostgreSQL', 'import', first, '--database', to), imported);
    assert.equal(await run('export from PostgreSQL', 'export', '--ndjson', '--output', second, '--database', to), '');
    const [one, two, three] = await Promise.all([given, first, second].map(digestOf));
    assert.equal(one, two, 'the export is not what was imported');
    assert.equal(two, three, 'the exports differ');
  });
});

onEveryEngine('the progress of an import', (engine) => {
  const COLUMBA = fileURLToPath(new URL('../../columba', import.meta.url));
  const PROGRESS = /\r(\d+) accounts? with ([\d,]+) messages…/;
  const file = () => {
    const path = freshPath('ndjson');
    const inbox = Array.from({ length: 1_200 }, (_, id) => ({ id, timestamp: '2026-05-01T00:00:00Z', read: false }));
    writeFileSync(path, lines(account('one', { inbox }), account('two', { inbox: inbox.slice(0, 34) })));
    return path;
  };

  testWith(
    script(),
    'the progress of an import is shown on one line of a terminal, followed by the result',
    async (command) => {
      const line = `'${COLUMBA}' import '${file()}' --database '${await engine.fresh('none')}'`;
      const { status, stdout } = spawnSync(command, ['-qec', line, '/dev/null'], { encoding: 'utf8' });
      assert.equal(status, 0, stdout);
      assert.match(stdout, PROGRESS);
      assert.equal(PROGRESS.exec(stdout)?.[2], '1,200');
      assert.match(stdout, /Imported 2 accounts with 1,234 messages\.\r\n$/);
      assert.match(stdout, /^Database: /);
      assert.equal(stdout.split('\n').length, 3, 'the database, one line and its end');
    },
  );

  test('an import writes no progress if its output is no terminal', async () => {
    const outcome = await columba(['import', file(), '--database', await engine.fresh('none')]);
    assert.deepEqual(outcome, { code: 0, stdout: 'Imported 2 accounts with 1,234 messages.\n', stderr: '' });
  });
});
