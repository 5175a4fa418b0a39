import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { columba, folder, freshDatabase, serving } from '../support/command.ts';

const temporary = () => mkdtempSync(join(folder, 'tmp-'));

/** A port that somebody else listens on. */
async function takenPort(): Promise<{ port: number; free: () => void }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as { port: number }).port, free: () => server.close() };
}

/** Each start costs a second: what else the program does as a process is in proof/commands/serve.test.ts. */
describe('columba serve', () => {
  test('columba serve --demo shows an address and a call that works, and SIGTERM ends it without a trace', async () => {
    const TMPDIR = temporary();
    const { address, output, child, ended } = await serving(['--demo'], { env: { TMPDIR } });
    assert.equal(readdirSync(TMPDIR).length, 1);
    assert.equal((await fetch(`${address}/`)).status, 200);
    const call = /^ {2}Try {5}curl '([^']+)'$/m.exec(output.stdout)?.[1] ?? assert.fail(output.stdout);
    const answer = await fetch(call);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /<ArrayOfReceivedMessage .*>\n {2}<ReceivedMessage>\n {4}<id>1003<\/id>/);
    child.kill('SIGTERM');
    const { code, stdout, stderr } = await ended;
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(readdirSync(TMPDIR), []);
    assert.ok(stdout.includes(`Pages   ${address}/\n`));
  });

  test('a taken port is reported in one sentence, with what to do', async () => {
    const { port, free } = await takenPort();
    const TMPDIR = temporary();
    for (const args of [['--database', freshDatabase()], ['--demo']]) {
      const { code, stdout, stderr } = await columba(['serve', '--port', String(port), ...args], { env: { TMPDIR } });
      assert.deepEqual([code, stdout], [1, '']);
      assert.equal(stderr, `columba: Port ${port} is taken. Choose another port with --port or COLUMBA_PORT.\n`);
    }
    assert.deepEqual(readdirSync(TMPDIR), []);
    free();
  });
});
