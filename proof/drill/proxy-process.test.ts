import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { listRecordings } from '../../src/migration/compare/recorder.ts';
import { columba, freshPath, launch, type Outcome, serving } from '../../test/support/command.ts';
import { engines, SAMPLE } from '../../test/support/engines.ts';
import { until } from '../../test/support/program.ts';
import { send } from '../../test/support/proxied.ts';
import { ACME, startService } from '../../test/support/service.ts';

/** The proxy as people run it: a process of its own, with signals and kills. */

const [sqlite] = engines;
assert.ok(sqlite);

interface ProxyProcess {
  readonly address: string;
  readonly child: ChildProcess;
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly ended: Promise<Outcome>;
}

async function startProxy(env: Record<string, string>, args: readonly string[]): Promise<ProxyProcess> {
  const { child, output, ended } = launch(['migrate', 'proxy', '--port', '0', '--json', ...args], { env });
  const address = new Promise<string>((resolve) => {
    child.stdout?.on('data', () => {
      const found = /"address":"(http:[^"]+)"/.exec(output.stdout)?.[1];
      if (found) resolve(found);
    });
  });
  const early = ended.then(({ code, stderr }): never => {
    throw new Error(`the proxy ended with ${code}: ${stderr}`);
  });
  return { address: await Promise.race([address, early]), child, output, ended };
}

test('a write that Columba acknowledged reaches the old server once, though the proxy is killed', async (t) => {
  const database = `sqlite:${freshPath('db')}`;
  const env = { COLUMBA_DATABASE: database, COLUMBA_LOG_KEY: 'a key', COLUMBA_WEB_PORT: 'off' };
  await columba(['import', SAMPLE], { env });
  const served = await serving([], { env });
  t.after(() => served.child.kill('SIGKILL'));
  const oldService = await startService(sqlite);
  const oldUrl = await oldService.app.start();
  t.after(() => oldService.stop());
  const folder = freshPath('recordings');
  const options = ['--new', served.address, '--folder', folder, '--stage', 'lead', '--account', 'acme'];
  const args = { user_id: ACME, message: 'Once and only once' };
  const templates = async () => (await oldService.call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text;

  // Nobody listens there, so the write waits.
  const first = await startProxy(env, ['--old', 'http://127.0.0.1:1', ...options]);
  const { text } = await send(first.address, 'soap11', 'account', 'SaveMessageTemplate', args);
  assert.match(text, />true</);
  first.child.kill('SIGKILL');
  await first.ended;
  assert.doesNotMatch(await templates(), /Once/);

  const second = await startProxy(env, ['--old', oldUrl, ...options]);
  await until('the old server has it', async () => /Once and only once/.test(await templates()));
  assert.equal((await templates()).match(/Once and only once/g)?.length, 1);
  const report = async () => JSON.parse((await columba(['migrate', 'report', '--json'], { env })).stdout);
  await until('no write waits', async () => (await report()).waitingWrites.total === 0);

  const changed = await columba(['migrate', 'stage', 'acme', 'record'], { env });
  assert.match(changed.stdout, /acme: lead → record/);
  await until('a call is recorded', async () => {
    await send(second.address, 'get', 'inbox', 'CountUnread', { user_id: ACME });
    return (await report()).operations.some(({ recorded }: { recorded: number }) => recorded > 0);
  });
  second.child.kill('SIGTERM');
  assert.equal((await second.ended).code, 0);
  assert.ok(listRecordings(folder).length > 0);
  assert.doesNotMatch(second.output.stdout + second.output.stderr, new RegExp(ACME));
});

test('a write that the old server acknowledged in compare reaches Columba once, though the proxy is killed', async (t) => {
  const env = { COLUMBA_DATABASE: `sqlite:${freshPath('db')}`, COLUMBA_LOG_KEY: 'a key', COLUMBA_WEB_PORT: 'off' };
  await columba(['import', SAMPLE], { env });
  const served = await serving([], { env });
  t.after(() => served.child.kill('SIGKILL'));
  const oldService = await startService(sqlite);
  const oldUrl = await oldService.app.start();
  t.after(() => oldService.stop());
  const options = ['--old', oldUrl, '--folder', freshPath('recordings'), '--stage', 'compare'];
  const args = { user_id: ACME, mobile: '+27825550123', sample_message: 'STOP' };
  const blacklist = async () => (await columba(['blacklist', 'list', 'acme', '--json'], { env })).stdout;

  // Nobody listens there, so the write waits.
  const first = await startProxy(env, [...options, '--new', 'http://127.0.0.1:1']);
  assert.match((await send(first.address, 'soap11', 'account', 'BlackListNumber', args)).text, />true</);
  first.child.kill('SIGKILL');
  await first.ended;
  assert.doesNotMatch(await blacklist(), /27825550123/);

  const second = await startProxy(env, [...options, '--new', served.address]);
  await until('Columba has it', async () => /27825550123/.test(await blacklist()));
  assert.equal((await blacklist()).match(/27825550123/g)?.length, 1);
  second.child.kill('SIGTERM');
  assert.equal((await second.ended).code, 0);
});

test('SIGUSR2 makes the proxy a plain pass-through, and a second SIGUSR2 ends the pass-through', async (t) => {
  const database = `sqlite:${freshPath('db')}`;
  const env = { COLUMBA_DATABASE: database, COLUMBA_LOG_LEVEL: 'info' };
  await columba(['import', SAMPLE], { env });
  const oldService = await startService(sqlite);
  const oldUrl = await oldService.app.start();
  t.after(() => oldService.stop());
  const folder = freshPath('recordings');
  const options = ['--old', oldUrl, '--new', 'http://127.0.0.1:1', '--folder', folder, '--stage', 'record'];
  const proxy = await startProxy(env, options);
  const call = () => send(proxy.address, 'get', 'inbox', 'CountUnread', { user_id: ACME });
  for (const isPassing of [true, false]) {
    proxy.child.kill('SIGUSR2');
    await until('the proxy tells it', () => proxy.output.stderr.includes(`"passThrough":${isPassing}`));
    assert.equal((await call()).status, 200);
  }
  proxy.child.kill('SIGTERM');
  const { code } = await proxy.ended;
  assert.equal(code, 0);
  const report = JSON.parse((await columba(['migrate', 'report', '--json'], { env })).stdout);
  assert.equal(report.operations[0]?.recorded, 1);
});

test('the proxy creates its database, names the old server that does not answer, and leaves accounts to the import', async () => {
  const database = freshPath('db');
  const env = { COLUMBA_DATABASE: `sqlite:${database}` };
  const dry = await columba(['migrate', 'proxy', '--old', 'http://127.0.0.1:1', '--dry-run'], { env });
  assert.match(dry.stderr, /create this one with: columba migrate proxy or columba migrate import/);
  const options = ['--old', 'http://127.0.0.1:1', '--new', 'http://127.0.0.1:1', '--folder', freshPath('recordings')];
  const proxy = await startProxy(env, options);
  assert.equal((await send(proxy.address, 'get', 'inbox', 'CountUnread', { user_id: ACME })).status, 502);
  await until('the log names it', () => /the old server at 127\.0\.0\.1:1 does not answer/.test(proxy.output.stderr));
  proxy.child.kill('SIGTERM');
  assert.equal((await proxy.ended).code, 0);
});

test('an outage of the old server is one line of the log at its beginning and one at its end, however many calls there are', async (t) => {
  const answering = createServer((_request, response) => response.end('<?xml version="1.0"?><int>0</int>'));
  const listen = (port: number) =>
    new Promise<number>((resolve) => {
      answering.listen(port, '127.0.0.1', () => resolve((answering.address() as AddressInfo).port));
    });
  const port = await listen(0);
  const end = () => {
    answering.closeAllConnections();
    return new Promise((resolve) => answering.close(resolve));
  };
  t.after(end);
  const env = { COLUMBA_DATABASE: `sqlite:${freshPath('db')}` };
  const old = `http://127.0.0.1:${port}`;
  const proxy = await startProxy(env, ['--old', old, '--new', old, '--folder', freshPath('recordings')]);
  const once = async () => (await send(proxy.address, 'get', 'inbox', 'CountUnread', { user_id: ACME })).status;
  // The proxy closes a client's connection after that of the old server, perhaps at the moment of a call.
  const ask = () =>
    once().catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'ECONNRESET') throw thrown;
      return once();
    });
  assert.equal(await ask(), 200);
  await end();
  for (let calls = 0; calls < 5; calls++) assert.equal(await ask(), 502);
  await new Promise((resolve) => setTimeout(resolve, 1_100)); // longer than lines of the log are apart
  assert.equal(await ask(), 502);
  await listen(port);
  assert.equal(await ask(), 200);
  await until('the end is told', () => /answers again/.test(proxy.output.stderr));
  const lines = proxy.output.stderr.split('\n').filter((line) => line.includes(`the old server at 127.0.0.1:${port}`));
  assert.deepEqual(
    lines.map((line) =>
      /does not answer; the proxy continues|answers again; its outage took \d+ s/.exec(line)?.[0].slice(0, 15),
    ),
    ['does not answer', 'answers again; '],
  );
  assert.match(lines[1] ?? '', /"calls":6/);
  proxy.child.kill('SIGTERM');
  assert.equal((await proxy.ended).code, 0);
});

test('a dry run says whether both servers answer, and a wrong address is refused', async (t) => {
  const env = { COLUMBA_DATABASE: `sqlite:${freshPath('db')}` };
  await columba(['account', 'add', 'acme'], { env });
  const oldService = await startService(sqlite);
  const oldUrl = await oldService.app.start();
  t.after(() => oldService.stop());
  const folder = ['--folder', freshPath('recordings')];
  const both = await columba(['migrate', 'proxy', '--old', oldUrl, '--new', oldUrl, '--dry-run', ...folder], { env });
  assert.deepEqual([both.code, both.stdout], [0, 'old: answers 200\nnew: answers 200\n']);
  const none = ['--old', 'http://127.0.0.1:1', '--new', oldUrl, '--dry-run', '--json'];
  const one = await columba(['migrate', 'proxy', ...none, ...folder], { env });
  assert.equal(one.code, 1);
  assert.deepEqual(JSON.parse(one.stdout), { old: 'does not answer: ECONNREFUSED', new: 'answers 200' });
  const wrong = await columba(['migrate', 'proxy', '--old', 'ftp://old'], { env });
  assert.deepEqual([wrong.code, /Expected an address such as/.test(wrong.stderr)], [2, true]);
  const known = await columba(['migrate', 'proxy', '--old', oldUrl, '--without-known-difference', 'nothing'], { env });
  assert.deepEqual([known.code, /Expected one of header-date, /.test(known.stderr)], [2, true]);
  const former = await columba(['migrate', 'proxy', ...none, ...folder, '--without-mask', 'header-date'], { env });
  assert.match(former.stderr, /--without-mask is now called --without-known-difference/);
});
