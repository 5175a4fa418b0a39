import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columba, serving } from '../support/command.ts';
import { onOneEngine } from '../support/engines.ts';
import { ACME } from '../support/service.ts';

onOneEngine('columba account find --log-name', (engine) => {
  test('columba account find --log-name finds the username of an account in a log line, with the key of the log and not without', async (t) => {
    const database = await engine.fresh('sample');
    t.after(() => engine.release(database));
    const env = { COLUMBA_DATABASE: database, COLUMBA_LOG_KEY: 'marzipan' };
    const server = await serving([], { env });
    assert.equal((await fetch(`${server.address}/api/account.asmx/Profile?user_id=${ACME}`)).status, 200);
    server.child.kill('SIGTERM');
    const { stderr: log } = await server.ended;
    const name = /"account":"([0-9a-f]{12})","msg":"call"/.exec(log)?.[1] ?? assert.fail(log);

    const find = (logName: string, key: string) =>
      columba(['account', 'find', '--log-name', logName], { env: { ...env, COLUMBA_LOG_KEY: key } });
    assert.deepEqual(await find(name, 'marzipan'), { code: 0, stdout: 'acme\n', stderr: '' });
    assert.deepEqual(await find(name.toUpperCase(), 'marzipan'), { code: 0, stdout: 'acme\n', stderr: '' });
    const nobody = `columba: No account has the name ${name} in a log that was written with this key.\n`;
    assert.deepEqual(await find(name, 'another'), { code: 1, stdout: '', stderr: nobody });
    const { code, stdout, stderr } = await find(name, '');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^columba: COLUMBA_LOG_KEY: [^\n]+\n$/);
  });
});
