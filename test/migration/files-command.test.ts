import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { COLUMBA, columba, folder, freshDatabase, freshPath } from '../support/command.ts';

test('columba migrate files has the exit codes 0, 1 and 2, and writes nothing in a dry run', async () => {
  const env = { COLUMBA_DATABASE: freshDatabase(), COLUMBA_TIME_ZONE: 'Europe/Berlin' };
  const run = (...args: string[]) => columba(args, { env });
  assert.equal((await run('account', 'add', 'acme')).code, 0);
  const file = freshPath('csv');
  writeFileSync(file, 'Handy Nr;Text;Datum;Status\n0825550201;Hallo;07/01/2026 10:45;zugestellt\n');
  const sent = ['migrate', 'files', 'sent', file, '--username', 'acme'];
  const missing = await run(...sent);
  assert.equal(missing.code, 2);
  assert.match(
    missing.stderr,
    /names no column for number; .* --column number="Header"\. The first row has "Handy Nr"/,
  );
  const named = [...sent, '--column', 'number=Handy Nr', '--column', 'sent=Datum'];
  const format = await run(...named, '--dates', 'dd/MM/yyyy');
  assert.deepEqual([format.code, /it lacks the hour, minute/.test(format.stderr)], [2, true]);
  const refused = await run(...named, '--dates', 'dd/MM/yyyy HH:mm');
  const reason =
    'columba: line 2: status: "zugestellt" is unknown. Name what it means, as --status "zugestellt"=DELIVERED\n';
  assert.deepEqual(refused, { code: 1, stdout: 'Added 0, known before 0. Refused 1.\n', stderr: reason });
  const whole = [...named, '--dates', 'dd/MM/yyyy HH:mm', '--status', 'zugestellt=DELIVERED'];
  const dry = await run(...whole, '--dry-run');
  const nothing = 'Added 1, known before 0. A dry run: nothing is written.\n';
  assert.deepEqual(dry, { code: 0, stdout: nothing, stderr: '' });
  const done = await run(...whole);
  assert.deepEqual(done, { code: 0, stdout: 'Added 1, known before 0.\n', stderr: '' });
  const again = JSON.parse((await run(...whole, '--json')).stdout);
  assert.deepEqual([again.added, again.known, again.refusedRows, again.encoding], [0, 1, 0, 'utf-8']);
  const shown = (await run('message', 'list', 'acme', '--json')).stdout;
  assert.match(shown, /"sentAt": ?"2026-01-07T09:45:00\.000Z"/);
});

test('the example of MIGRATION.md prints word for word what is written there', async () => {
  const guide = readFileSync(new URL('../../docs/MIGRATION.md', import.meta.url), 'utf8');
  const section = guide.slice(guide.indexOf('### Files'));
  const [csv, command, output] = [.../^```\w*\n(.*?)^```/gms[Symbol.matchAll](section)].map(([, text]) => text ?? '');
  assert(csv && command && output);
  const cwd = mkdtempSync(join(folder, 'guide-'));
  writeFileSync(join(cwd, 'history.csv'), csv);
  const env = { ...process.env, COLUMBA_DATABASE: freshDatabase(), PATH: `${dirname(COLUMBA)}:${process.env.PATH}` };
  const shell = (line: string) => spawnSync('sh', ['-c', `${line} 2>&1`], { cwd, env, encoding: 'utf8' }).stdout;
  shell('columba account add acme');
  assert.deepEqual(shell(command.trim()), output);
  assert.match(shell(command.replace('--dry-run', '').trim()), /^Added 2, known before 0\./m);
  assert.match(shell(command.replace('--dry-run', '').trim()), /^Added 0, known before 2\./m);
});
