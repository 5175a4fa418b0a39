import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { COLUMBA, columba, folder } from '../../test/support/command.ts';
import { script, testWith } from '../../test/support/peers.ts';

/** What only people see: on a terminal, which the program script of util-linux makes. */

/** Runs a command on a terminal; `until` is the text after which Ctrl-C is typed. */
async function onTerminal(args: string, cwd: string, until?: string): Promise<{ code: number; shown: string }> {
  const env = { PATH: process.env.PATH, SHELL: '/bin/sh', COLUMBA_LOG_LEVEL: 'warn' };
  const child = spawn('script', ['-qec', `exec '${COLUMBA}' ${args}`, '/dev/null'], { cwd, env });
  let shown = '';
  let typed = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text.replaceAll('\r\n', '\n');
    if (typed || until === undefined || !shown.includes(until)) return;
    typed = true;
    child.stdin.write('\u0003');
  });
  const [code] = await once(child, 'close');
  child.stdin.destroy();
  return { code, shown };
}

describe('on a terminal', () => {
  testWith(script(), 'every command shows the absolute path of its database, and of the file of settings', async () => {
    const cwd = mkdtempSync(join(folder, 'tty-'));
    const path = join(cwd, 'data', 'columba.db');
    assert.deepEqual(await onTerminal('account list', cwd), {
      code: 1,
      shown: `Database: ${path}\n${(await columba(['account', 'list'], { cwd })).stderr}`,
    });
    assert.match((await onTerminal('account add a', cwd)).shown, new RegExp(`^Database: ${path}\nAdded a\\.`));
    writeFileSync(join(cwd, 'columba.conf'), 'COLUMBA_PORT=1\n');
    const { shown } = await onTerminal('account list', cwd);
    assert.equal(
      shown,
      `Settings: ${join(cwd, 'columba.conf')}\nDatabase: ${path}\nUSERNAME  COMPANY  CREDITS    STATE\na                  0 credits\n`,
    );
  });

  for (const workers of [1, 2]) {
    testWith(
      script(),
      `serve with ${workers} processes shows its address, its database, and how to begin without an account`,
      async () => {
        const cwd = mkdtempSync(join(folder, 'tty-'));
        const path = join(cwd, 'data', 'columba.db');
        const serve = `serve --port 0 --drain-timeout-ms 0 --workers ${workers}`;
        const first = await onTerminal(serve, cwd, 'Ctrl-C.');
        assert.equal(first.code, 0, first.shown);
        assert.match(first.shown, /^ {2}Pages {6}http:\/\/127\.0\.0\.1:\d+\/$/m);
        assert.ok(first.shown.includes(`\n  Database   ${path}\n`), first.shown);
        assert.match(first.shown, /^ {2}Accounts {3}no account yet: columba account add USERNAME$/m);
        assert.equal((await columba(['account', 'add', 'a'], { cwd })).code, 0);
        assert.match((await onTerminal(serve, cwd, 'Ctrl-C.')).shown, /^ {2}Accounts {3}1$/m);
      },
    );
  }
});
