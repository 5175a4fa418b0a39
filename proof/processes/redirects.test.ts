import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type Server, serving } from '../../test/support/command.ts';

/** The contract's port sends people who look for the operator's side there to the web listener. */

const folder = mkdtempSync(join(tmpdir(), 'columba-redirects-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

async function withServer(args: readonly string[], work: (server: Server) => Promise<void>): Promise<void> {
  const server = await serving(['--database', `sqlite:${join(folder, `${++count}.db`)}`, ...args]);
  try {
    await untilServing(server, args.includes('--workers') ? /serving with workers/ : /"serving"/);
    await work(server);
  } finally {
    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0);
  }
}

/** With workers the web process begins after them. */
const untilServing = ({ output, child }: Server, line: RegExp): Promise<void> =>
  new Promise((resolve) => {
    const look = () => line.test(output.stderr) && resolve();
    child.stderr?.on('data', look);
    look();
  });

const locationOf = async (url: string): Promise<[number, string | null]> => {
  const reply = await fetch(url, { redirect: 'manual' });
  await reply.body?.cancel();
  return [reply.status, reply.headers.get('location')];
};

/** fetch does not let a caller choose the Host. */
const get = (url: string, headers: Record<string, string>) =>
  new Promise<{ status?: number | undefined; location?: string | undefined; text: string }>((resolve, reject) => {
    request(url, { headers }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      reply.on('end', () => resolve({ status: reply.statusCode, location: reply.headers.location, text }));
    })
      .on('error', reject)
      .end();
  });

for (const [model, args] of [
  ['one process', []],
  ['workers', ['--workers', '2']],
] as const) {
  describe(`redirects to the web listener with ${model}`, () => {
    test('/console and /operator redirect to the address of the web listener, but not a forwarded request', async () => {
      await withServer(args, async ({ address: url }) => {
        const [status, location] = await locationOf(`${url}/operator/?a=1`);
        assert.equal(status, 307);
        assert.match(location ?? '', /^http:\/\/127\.0\.0\.1:\d+\/operator\/\?a=1$/);
        assert.equal((await fetch(location ?? '')).status, 200, 'the reference is there');
        assert.match((await locationOf(`${url}/console`))[1] ?? '', /:\d+\/console$/);
        assert.equal((await locationOf(`${url}/consoles`))[0], 404);
        const { port } = new URL(url);
        for (const fields of [
          { host: 'sms.example' },
          { host: `192.0.2.7:${port}` },
          { 'x-forwarded-for': '203.0.113.9' },
          { 'x-forwarded-host': 'sms.example' },
          { 'x-forwarded-proto': 'https' },
          { forwarded: 'for=203.0.113.9' },
          { via: '1.1 proxy' },
        ]) {
          const reply = await get(`${url}/console/`, fields);
          assert.deepEqual([reply.status, reply.location], [404, undefined], JSON.stringify(fields));
          assert.match(reply.text, /set COLUMBA_WEB_URL/);
        }
      });
    });

    test('redirects of a web listener on all interfaces lead to the host by which the client came', async () => {
      await withServer([...args, '--web-host', '0.0.0.0'], async ({ address: url }) => {
        const { port } = new URL(url);
        const [, location] = await locationOf(`http://localhost:${port}/operator/`);
        assert.match(location ?? '', /^http:\/\/localhost:\d+\/operator\/$/);
      });
    });

    test('without a web listener /console and /operator are unknown paths', async () => {
      await withServer([...args, '--web-port', 'off'], async ({ address: url }) => {
        for (const path of ['/console', '/operator/']) assert.equal((await locationOf(`${url}${path}`))[0], 404, path);
      });
    });
  });
}

test('the redirects lead to the public URL of the web listener if it has one', async () => {
  await withServer(['--web-url', 'https://operator.example/sms/'], async ({ address: url }) => {
    assert.deepEqual(await locationOf(`${url}/console/inbox`), [307, 'https://operator.example/sms/console/inbox']);
  });
});
