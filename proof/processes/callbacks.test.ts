import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signedFields } from '../../src/domain/webhooks/standard-webhooks.ts';
import { columba, type Server, serving } from '../../test/support/command.ts';
import { onOneEngine } from '../../test/support/engines.ts';
import { callAt } from '../../test/support/operator-api.ts';
import { ACME } from '../../test/support/service.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const connectorBody = (secret: string) => ({
  kind: 'callback',
  config: { url: 'http://127.0.0.1:1/', secret, allowPrivate: true },
});
const MESSAGE = { sender: '0825550201', destination: '31234', text: 'from a carrier' };

async function callback(address: string, data: object, given: { at: number; secret?: string; id?: string }) {
  const body = JSON.stringify({ type: 'message.incoming', data });
  const { at, secret = SECRET, id = 'msg_1' } = given;
  const headers = { ...signedFields([secret], { id, at, body }), 'Content-Type': 'application/json' };
  return fetch(`${address}/carriers/hook/`, { method: 'POST', headers, body });
}

const webOf = ({ output, child }: Server): Promise<string> =>
  new Promise((resolve) => {
    const look = () => {
      const [, address] = /"web":"(http:[^"]+)"/.exec(output.stderr) ?? [];
      if (address !== undefined) resolve(address);
    };
    child.stderr?.on('data', look);
    look();
  });

onOneEngine('carriers that call a process that is killed', (engine) => {
  for (const workers of ['1', '2']) {
    test(`with --workers ${workers} an acknowledged callback survives a kill of the process that accepted it`, async () => {
      const database = await engine.fresh('sample');
      const added = await columba([
        'token',
        'add',
        'ci',
        '--scopes',
        'accounts,gateway,messages:read',
        '--database',
        database,
      ]);
      const token = /^colo_\S+$/m.exec(added.stdout)?.[0] ?? assert.fail(added.stderr);
      const server = await serving(['--database', database, '--workers', workers]);
      try {
        const web = await webOf(server);
        const put = await callAt(web, 'PUT', '/connectors/hook', { token, body: connectorBody(SECRET) });
        assert.equal(put.status < 300, true, put.text);
        await callAt(web, 'PUT', '/routes/code', { token, body: { username: 'acme', destination: '31234' } });
        assert.equal((await callback(web, MESSAGE, { at: Date.now() })).status, 204);
        const pids = [...server.output.stderr.matchAll(/"web":"[^"]+","pid":(\d+)/g)].map(([, pid]) => Number(pid));
        process.kill(pids.at(-1) as number, 'SIGKILL');
        const again = workers === '1' ? await serving(['--database', database]) : server;
        try {
          const url = `${again.address}/api/inbox.asmx/Unread?user_id=${ACME}&max_count=100`;
          assert.match(await (await fetch(url)).text(), /from a carrier/);
        } finally {
          again.child.kill('SIGTERM');
          await again.ended;
        }
      } finally {
        server.child.kill('SIGTERM');
        await server.ended;
        engine.release(database);
      }
    });
  }
});
