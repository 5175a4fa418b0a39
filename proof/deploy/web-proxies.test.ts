import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe } from 'node:test';
import { signedFields } from '../../src/domain/webhooks/standard-webhooks.ts';
import { columba } from '../../test/support/command.ts';
import { freePort } from '../../test/support/free-port.ts';
import { caddy, haproxy, nginx, type Peer, testWith } from '../../test/support/peers.ts';
import { until } from '../../test/support/program.ts';
import { type Behind, type Call, CLIENT, createClient, exchangeTls, startBehind } from './proxies.ts';
import { ca, startCaddy, startHaproxy, startNginx, usable } from './proxy-programs.ts';

/** The second listener behind each proxy of the examples: console, operator's API and callbacks of carriers. */

const ENV = {
  COLUMBA_TRUSTED_PROXIES: '127.0.0.1',
  COLUMBA_HOSTS: 'sms.example',
  COLUMBA_WEB_URL: 'https://sms.example',
};
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

const PROXIES: { peer: Peer; start: typeof startNginx }[] = [
  { peer: nginx(), start: startNginx },
  { peer: haproxy(), start: startHaproxy },
  { peer: caddy(), start: startCaddy },
];

async function call(port: string, sent: Call) {
  const client = createClient({ port, ca });
  try {
    return await client.send(sent);
  } finally {
    client.close();
  }
}

async function command(behind: Behind, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await columba([...args, '--database', behind.database], { env: ENV });
  assert.equal(code, 0, stderr);
  return stdout;
}

for (const { peer, start } of PROXIES) {
  describe(`the web listener behind ${peer.name} with the file of examples/deploy`, () => {
    const needed = usable(peer);
    const check = (behaviour: string, work: () => Promise<void>) => testWith(needed, behaviour, work);
    let behind: Behind;
    let port = '';
    let bearer: Record<string, string>;
    before(async () => {
      if (needed.command === null) return;
      behind = await startBehind(ENV);
      port = (await start(needed.command, behind)).port as string;
      const { token } = JSON.parse(
        await command(behind, ['token', 'add', 'proof', '--scopes', 'accounts,contacts,audit', '--json']),
      );
      bearer = { authorization: `Bearer ${token}` };
      const found = async () => (await call(port, { path: '/operator/v1/accounts', headers: bearer })).status === 200;
      await until('it finds the web listener', found);
    });

    check('old programs are answered beside it', async () => {
      const wsdl = await call(port, { path: '/api/inbox.asmx?wsdl' });
      assert.equal(wsdl.status, 200);
      assert.match(wsdl.text, /<soap:address location="https:\/\/sms\.example\/api\/inbox\.asmx"/);
    });

    check('an operator signs in with the link that the command prints, and stays on the public host', async () => {
      const { link } = JSON.parse(await command(behind, ['operator', 'add', 'ann', '--json']));
      assert.match(link, /^https:\/\/sms\.example\/console\/sign-in\//);
      const { pathname: path } = new URL(link);
      const [guest, page] = [await call(port, { path: '/console' }), await call(port, { path })];
      assert.equal(page.status, 200);
      const headers = { origin: 'https://sms.example', 'content-type': 'application/x-www-form-urlencoded' };
      const signedIn = await call(port, { method: 'POST', path, headers, body: '' });
      for (const { headers } of [guest, signedIn]) assert.match(headers.location ?? '', /^\/console/);
      const [cookie = ''] = signedIn.headers['set-cookie'] ?? [];
      assert.match(cookie, /^__Host-columba=.*; Secure/);
      const overview = await call(port, { path: '/console/', headers: { cookie: cookie.split(';')[0] ?? '' } });
      assert.equal(overview.status, 200);
    });

    check("the reference names the public address, and the client's own address is in the audit", async () => {
      assert.match((await call(port, { path: '/operator/' })).text, /https:\/\/sms\.example/);
      const headers = { ...bearer, 'content-type': 'application/json', 'x-forwarded-for': '198.51.100.9' };
      const path = '/operator/v1/accounts';
      const made = await call(port, { method: 'POST', path, headers, body: JSON.stringify({ username: 'beta' }) });
      assert.equal(made.status, 201, made.text);
      const audit = await call(port, { path: '/operator/v1/audit?limit=5', headers: bearer });
      const entry = JSON.parse(audit.text).items.find(({ action }: { action: string }) => action === 'account add');
      assert.equal(entry.address, CLIENT, audit.text);
    });

    check('a signed callback of a carrier arrives, and an unsigned one is refused by Columba', async () => {
      const config = JSON.stringify({ url: 'https://carrier.example/', secret: SECRET });
      const put = ['connector', 'put', 'hook', '--kind', 'callback', '--config', '-'];
      const { code, stderr } = await columba([...put, '--database', behind.database], { env: ENV, input: config });
      assert.equal(code, 0, stderr);
      const data = { sender: '+27825550201', destination: '31234', text: 'from a carrier' };
      const body = JSON.stringify({ type: 'message.incoming', data });
      const post = (fields: Record<string, string>) =>
        call(port, {
          method: 'POST',
          path: '/carriers/hook/',
          headers: { 'content-type': 'application/json', ...fields },
          body,
        });
      const signed = () => signedFields([SECRET], { id: 'msg_1', at: Date.now(), body });
      await until('the process knows the connector', async () => (await post(signed())).status === 204);
      assert.equal((await exchangeTls({ port, ca }, HEAD, '\r\n\r\n')).slice(9, 12), '401');
    });

    check('a file of 9 MB is uploaded, and one beyond the limit of Columba is 413', async () => {
      const line = (_: unknown, index: number) => `082555${String(index).padStart(4, '0')},${'x'.repeat(990)}\n`;
      const csv = `mobile,notes\n${Array.from({ length: 9_000 }, line).join('')}`;
      const path = '/operator/v1/accounts/acme/contacts/import?dry_run=true&skip_bad=true';
      const headers = { ...bearer, 'content-type': 'text/csv' };
      const taken = await call(port, { method: 'POST', path, headers, body: csv });
      assert.equal(taken.status, 200, taken.text.slice(0, 500));
      assert.equal(JSON.parse(taken.text).rows, 9_000);
      const fields = Object.entries({ ...headers, host: 'sms.example', 'content-length': '12000000' });
      const head = [`POST ${path} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)];
      const refused = await exchangeTls(
        { port, ca },
        `${head.join('\r\n')}\r\nexpect: 100-continue\r\n\r\n`,
        /HTTP\/1\.1 [45]/,
      );
      assert.match(refused, /HTTP\/1\.1 413 /);
    });
  });
}

const HEAD = [
  ...['POST /carriers/hook/ HTTP/1.1', 'Host: sms.example', 'Content-Type: application/json', 'Content-Length: 2'],
  ...['Connection: close', '', '{}'],
].join('\r\n');

/** A server that writes the next event when the test has seen the one before. */
async function startEvents() {
  const webPort = await freePort();
  let next = () => {};
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/health')) return response.end('ready');
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.write('data: one\n\n');
    next = () => response.end('data: two\n\n');
  });
  await new Promise<void>((resolve) => server.listen(webPort, '127.0.0.1', resolve));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: String(webPort), next: () => next() };
}

for (const { peer, start } of PROXIES) {
  describe(`server-sent events through ${peer.name}`, () => {
    testWith(usable(peer), 'each event reaches the client before the next one is written', async (program) => {
      const events = await startEvents();
      // A proxy that waits for the end of the response gets nothing to forward, and the test ends by its deadline.
      const behind = { port: events.port, webPort: events.port } as Behind;
      const { port = '' } = await start(program, behind);
      const get = 'GET /operator/v1/events HTTP/1.1\r\nHost: sms.example\r\nConnection: close\r\n\r\n';
      await until('it finds the server', async () => {
        const answer = await exchangeTls({ port, ca }, get, /data: one|HTTP\/1\.1 5/);
        return answer.includes('data: one');
      });
      events.next(); // Caddy keeps a stream whose client has gone, and would wait for its end when it is stopped
      const both = await exchangeTls({ port, ca }, get, 'data: two', (text) => {
        if (text.includes('data: one')) events.next();
      });
      assert.match(both, /data: one[\s\S]*data: two/);
    });
  });
}
