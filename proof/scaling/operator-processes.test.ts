import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { columba, type Server, serving } from '../../test/support/command.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { callAt } from '../../test/support/operator-api.ts';

/** What one process changes counts in every other from the next request on. */

const webOf = ({ output, child }: Server): Promise<string> =>
  new Promise((resolve) => {
    const look = () => {
      const [, address] = /"web":"(http:[^"]+)"/.exec(output.stderr) ?? [];
      if (address !== undefined) resolve(address);
    };
    child.stderr?.on('data', look);
    look();
  });

const newToken = async (database: string): Promise<string> => {
  const args = [
    'token',
    'add',
    'ci',
    '--scopes',
    'accounts,audit,gateway,messages:read,messages:send,credits',
    '--database',
    database,
  ];
  const { code, stdout, stderr } = await columba(args);
  assert.deepEqual([code, stderr], [0, '']);
  return /^colo_\S+$/m.exec(stdout)?.[0] ?? assert.fail(stdout);
};

onEveryEngine("the operator's side in several processes", (engine) => {
  let database: string;
  let servers: readonly [Server, Server];
  let webs: readonly [string, string];
  let token: string;
  before(async () => {
    database = await engine.fresh('sample');
    const args = ['--database', database, '--workers', '2', '--web-port', '0'];
    servers = [await serving(args), await serving(args)];
    webs = [await webOf(servers[0]), await webOf(servers[1])];
    assert.equal((await callAt(webs[0], 'GET', '/accounts', {})).status, 404, 'there is no token yet');
    token = await newToken(database);
  });
  after(async () => {
    for (const { child } of servers) child.kill('SIGTERM');
    for (const { ended } of servers) assert.equal((await ended).code, 0);
  });

  test('2 processes with 2 workers each: a new token works, and its revocation holds from the next request on', async () => {
    const [one, other] = webs;
    const { json } = await callAt(one, 'POST', '/tokens', { token, body: { name: 'short', scopes: ['accounts'] } });
    const short = { token: json.token as string };
    for (const web of webs) assert.equal((await callAt(web, 'GET', '/accounts', short)).status, 200);
    assert.equal((await callAt(other, 'DELETE', `/tokens/${json.id}`, { token })).status, 200);
    for (const web of webs) assert.equal((await callAt(web, 'GET', '/accounts', short)).status, 401);
  });

  test('2 processes with 2 workers each: a disabled account and a revoked user_id are denied at the next call', async () => {
    const [one, other] = webs;
    const added = await callAt(one, 'POST', '/accounts', { token, body: { username: 'initech' } });
    const userId: string = added.json.userId;
    // Several times: each connection may reach another worker.
    const statuses = async () => {
      const calls = servers.flatMap(({ address }) =>
        Array.from({ length: 4 }, () =>
          fetch(`${address}/api/inbox.asmx/CountUnread?user_id=${userId}`, { headers: { Connection: 'close' } }),
        ),
      );
      return [...new Set((await Promise.all(calls)).map(({ status }) => status))];
    };
    assert.deepEqual(await statuses(), [200]);
    await callAt(other, 'POST', '/accounts/initech/disable', { token });
    assert.deepEqual(await statuses(), [403]);
    await callAt(one, 'POST', '/accounts/initech/enable', { token });
    assert.deepEqual(await statuses(), [200]);
    const { json } = await callAt(other, 'GET', '/accounts/initech/user-ids', { token });
    await callAt(other, 'DELETE', `/accounts/initech/user-ids/${json.items[0].hash}`, { token });
    assert.deepEqual(await statuses(), [403]);
  });

  test('2 processes with 2 workers each: a message that is accepted after its connector was paused waits until the connector is resumed', async () => {
    const [one, other] = webs;
    const body = { username: 'pausing', credits: '100', region: 'ZA' };
    assert.equal((await callAt(one, 'POST', '/accounts', { token, body })).status, 201);
    const list = async (): Promise<string[]> => {
      const { json } = await callAt(one, 'GET', '/accounts/pausing/messages', { token });
      return json.items.map(({ status }: { status: string }) => status);
    };
    assert.equal((await callAt(one, 'POST', '/connectors/loopback/pause', { token })).status, 200);
    for (const web of [other, one, other]) {
      const sent = { recipients: ['+27825550201'], text: 'hello' };
      assert.equal((await callAt(web, 'POST', '/accounts/pausing/messages', { token, body: sent })).status, 202);
    }
    await sleep(500); // a dispatcher is woken at once
    assert.deepEqual(await list(), ['QUEUED', 'QUEUED', 'QUEUED']);
    assert.equal((await callAt(other, 'POST', '/connectors/loopback/resume', { token })).status, 200);
    while ((await list()).includes('QUEUED')) await sleep(50);
  });

  test('50 equal requests with one key at once over 2 processes have one effect', async () => {
    const headers = { 'Idempotency-Key': 'fifty' };
    const body = { name: 'made once', scopes: ['audit'] };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        callAt(webs[index % 2] as string, 'POST', '/tokens', { token, body, headers }),
      ),
    );
    for (const { status } of answers) assert.ok(status === 201 || status === 409, String(status));
    const made = answers.filter(({ status }) => status === 201);
    assert.ok(made.length >= 1);
    assert.equal(new Set(made.map(({ text }) => text)).size, 1);
    assert.equal(made.filter(({ headers: fields }) => !fields.has('idempotent-replayed')).length, 1);
    const last = await callAt(webs[0], 'POST', '/tokens', { token, body, headers });
    assert.deepEqual([last.status, last.text], [201, made[0]?.text]);
    const { json } = await callAt(webs[1], 'GET', '/tokens', { token });
    const names = json.items.map(({ name }: { name: string }) => name);
    assert.equal(names.filter((name: string) => name === 'made once').length, 1);
  });

  test('with workers the web listener is a process of its own, which is replaced when it dies', async () => {
    const [web] = webs;
    const [server] = servers;
    assert.equal((await callAt(web, 'GET', '/accounts', { token })).status, 200);
    const pid = Number(/"web":"[^"]+","pid":(\d+)/.exec(server.output.stderr)?.[1]);
    assert.notEqual(pid, server.child.pid);
    process.kill(pid, 'SIGKILL');
    const replaced = () => [...server.output.stderr.matchAll(/"web":"(http:[^"]+)"/g)][1]?.[1];
    await new Promise<void>((resolve) => {
      const look = () => void (replaced() && resolve());
      server.child.stderr?.on('data', look);
      look();
    });
    assert.equal((await callAt(replaced() as string, 'GET', '/accounts', { token })).status, 200);
    assert.match(server.output.stderr, /died and is replaced/);
  });
});
