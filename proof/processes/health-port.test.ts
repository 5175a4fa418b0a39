import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEveryEngine } from '../../test/support/engines.ts';
import { freePort } from '../../test/support/free-port.ts';
import { startProgram, until } from '../../test/support/program.ts';

const probe = async (port: number, path: string): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return `${answer.status} ${(await answer.text()).trim()}`;
};

onEveryEngine('health on a port of its own', (engine) => {
  test('the primary process serves the health port for all workers', async () => {
    const healthPort = await freePort();
    const program = await startProgram(await engine.fresh('sample'), 2, ['--health-port', String(healthPort)]);
    await until('one is ready', async () => (await probe(healthPort, '/health/ready')) === '200 ready');
    assert.equal(await probe(healthPort, '/health/live'), '200 live');
    program.kill('SIGTERM');
    assert.equal((await program.ended).code, 0);
    await assert.rejects(probe(healthPort, '/health/live'));
  });
});
