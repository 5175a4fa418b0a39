import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { freshDatabase, serving } from '../../test/support/command.ts';

describe('the port of the web listener', () => {
  const taken = async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: (server.address() as { port: number }).port, free: () => server.close() };
  };

  test('the web listener can be switched off', async () => {
    const { child, ended, output } = await serving(['--database', freshDatabase(), '--web-port', 'off']);
    assert.doesNotMatch(output.stderr, /"web":/);
    child.kill('SIGTERM');
    assert.equal((await ended).code, 0);
  });

  test('the service serves calls although the default port of the web listener is taken', async () => {
    const blocker = createServer()
      .listen(8081, '127.0.0.1')
      .on('error', () => {}); // or somebody else has it
    await Promise.race([once(blocker, 'listening'), once(blocker, 'error').catch(() => {})]);
    const { port: free, free: release } = await taken();
    release();
    const { child, ended, output } = await serving(['--database', freshDatabase(), '--port', String(free)]);
    assert.match(output.stderr, /port 8081 is taken, so the console and the operator's API are not served/);
    assert.equal((await fetch(`http://127.0.0.1:${free}/health/ready`)).status, 200);
    child.kill('SIGTERM');
    assert.equal((await ended).code, 0);
    blocker.close();
  });

  test('the demo takes and prints another web port if 8081 is taken', async () => {
    const blocker = createServer()
      .listen(8081, '127.0.0.1')
      .on('error', () => {}); // or somebody else has it
    await Promise.race([once(blocker, 'listening'), once(blocker, 'error').catch(() => {})]);
    const { port: free, free: release } = await taken();
    release();
    const { child, ended, output } = await serving(['--demo', '--port', String(free)]);
    const [, web = ''] = /API +(http:\S+)\/operator\/\n/.exec(output.stdout) ?? [];
    assert.notEqual(new URL(web).port, '8081');
    assert.equal((await fetch(`${web}/health/ready`)).status, 200);
    child.kill('SIGTERM');
    assert.equal((await ended).code, 0);
    blocker.close();
  });
});
