import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { haproxy, nginx, type Peer, stunnel, testWith } from '../../test/support/peers.ts';
import { until } from '../../test/support/program.ts';
import { requestOf } from '../../test/support/protocols.ts';
import { ACME } from '../../test/support/service.ts';
import { read } from './formats.ts';
import { type Behind, type Call, CLIENT, createClient, exchangeTls, STRANGER, startBehind } from './proxies.ts';
import { ca, type Entrances, startHaproxy, startNginx, startStunnel, usable } from './proxy-programs.ts';

const soap = (operation: string): Call => {
  const { method, path, headers, bytes } = requestOf('soap11', 'inbox', operation, { user_id: ACME, max_count: 3 });
  return { method, path, headers: headers as Record<string, string>, body: bytes };
};
const get = (operation: string, more = ''): Call => ({ path: `/api/inbox.asmx/${operation}?user_id=${ACME}${more}` });
const WSDL: Call = { path: '/api/inbox.asmx?wsdl' };
const addressIn = (wsdl: string): string | undefined => /<soap:address location="([^"]*)"/.exec(wsdl)?.[1];

/** One after the other over one connection, and what each must be. */
async function callAll(port: string, calls: readonly Call[]) {
  const client = createClient({ port, ca });
  try {
    const answers = [];
    for (const call of calls) answers.push(await client.send(call));
    return answers;
  } finally {
    client.close();
  }
}

const PROXIES: { peer: Peer; start: typeof startNginx }[] = [
  { peer: nginx(), start: startNginx },
  { peer: haproxy(), start: startHaproxy },
];

for (const { peer, start } of PROXIES) {
  describe(`${peer.name} with the files of examples/deploy`, () => {
    const needed = usable(peer);
    const check = (behaviour: string, work: () => Promise<void>) => testWith(needed, behaviour, work);
    let behind: Behind;
    let entrances: Entrances;
    let port = '';
    before(async () => {
      if (needed.command === null) return;
      behind = await startBehind({ COLUMBA_TRUSTED_PROXIES: '127.0.0.1', COLUMBA_HOSTS: 'sms.example' });
      entrances = await start(needed.command, behind);
      port = entrances.port as string;
      // HAProxy answers 503 until its first health check went well.
      await until('it finds Columba', async () => (await callAll(port, [WSDL]))[0]?.status === 200);
    });

    check('calls by SOAP and GET are answered over one connection of the client and few to Columba', async () => {
      const before = behind.connections();
      const calls = [soap('Unread'), get('CountUnread'), soap('Unread'), get('CountRead'), soap('Unread'), WSDL];
      const answers = await callAll(port, calls);
      assert.deepEqual(
        answers.map(({ status, reused }) => [status, reused]),
        calls.map((_, index) => [200, index > 0]),
      );
      assert.match(answers[0]?.text ?? '', /<UnreadResult>/);
      assert.match(answers[1]?.text ?? '', /<long [^>]*>\d+<\/long>/);
      assert.ok(behind.connections() - before < calls.length, `${behind.connections() - before} connections`);
    });

    check('the WSDL has https and the name and port of the Host', async () => {
      const hosts = ['sms.example', 'sms.example:8443'];
      const answers = await callAll(
        port,
        hosts.map((host) => ({ ...WSDL, headers: { host } })),
      );
      assert.deepEqual(
        answers.map(({ text }) => addressIn(text)),
        hosts.map((host) => `https://${host}/api/inbox.asmx`),
      );
    });

    check('a request of HTTP/1.0 without Host is answered', async () => {
      const answer = await exchangeTls(
        { port, ca },
        'GET /api/inbox.asmx?wsdl HTTP/1.0\r\n\r\n',
        '</wsdl:definitions>',
      );
      assert.match(answer, /^HTTP\/1\.[01] 200 /);
      assert.equal(addressIn(answer), 'https://sms.example/api/inbox.asmx');
    });

    check("the client's own address is logged, and its own X-Forwarded fields do not count", async () => {
      const headers = {
        'x-forwarded-for': '198.51.100.9',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'ftp',
        'x-forwarded-prefix': '/evil',
      };
      const [wsdl, call] = await callAll(port, [
        { ...WSDL, headers },
        { ...get('InboxDS', '&max_count=1'), headers },
      ]);
      assert.equal(addressIn(wsdl?.text ?? ''), 'https://sms.example/api/inbox.asmx');
      assert.equal(call?.status, 200, call?.text);
      await until('the call is logged', () => behind.clientsOf('InboxDS').length > 0);
      assert.deepEqual(behind.clientsOf('InboxDS'), [CLIENT]);
    });

    check('an address of 50,000 characters and a body of 800 KB get through, one of 1.2 MB is 413', async () => {
      const call = soap('Unread');
      const padding = `<x>${'x'.repeat(200_000)}</x>`.repeat(4);
      const padded = { ...call, body: call.body?.replace('</Unread>', `${padding}</Unread>`) ?? '' };
      const [long, large] = await callAll(port, [get('CountUnread', `&x=${'x'.repeat(50_000)}`), padded]);
      assert.deepEqual([long?.status, large?.status], [200, 200]);
      const head = [
        ...[`POST ${call.path} HTTP/1.1`, 'Host: sms.example', 'Content-Type: text/xml', 'Content-Length: 1200000'],
        ...['Expect: 100-continue', '', ''],
      ];
      const refused = await exchangeTls({ port, ca }, head.join('\r\n'), '\r\n\r\n');
      assert.match(refused, /^HTTP\/1\.[01] 413 /);
    });

    check('the log of the proxy has the calls, and no user_id', async () => {
      await callAll(port, [get('CountRead'), get('CountUnread', '&x=1')]);
      await until('the calls are logged', () => /CountUnread/.test(entrances.log()));
      assert.ok(!entrances.log().includes(ACME), entrances.log());
    });

    check('TLS 1.0 and 1.1 are refused where new programs call, and served at the entrance for old ones', async () => {
      for (const tls of ['TLSv1', 'TLSv1.1'] as const) {
        const refused = createClient({ port, ca, tls });
        await assert.rejects(refused.send(WSDL), /alert|EPROTO|ECONNRESET|hang up/i, tls);
        await oldTls(entrances.oldPort, tls, 'https://sms.example:8443/api/inbox.asmx');
      }
      await until('the calls are logged', () => behind.clientsOf('CountUnMarkedDeliveryStatus').length === 2);
      assert.deepEqual(behind.clientsOf('CountUnMarkedDeliveryStatus'), [CLIENT, CLIENT]);
    });

    check('the entrance for old programs is closed to other addresses', async () => {
      const stranger = createClient({ port: entrances.oldPort, ca, tls: 'TLSv1', from: STRANGER });
      const status = await stranger.send(WSDL).then(
        (answer) => answer.status,
        () => 'no connection',
      );
      assert.equal(status, peer.name === 'haproxy' ? 'no connection' : 403);
      stranger.close();
    });
  });
}

describe('stunnel4 with the file of examples/deploy', () => {
  const behaviour = 'programs with TLS 1.0 and 1.1 are served, and the WSDL has the address of COLUMBA_BASE_URL';
  testWith(usable(stunnel()), behaviour, async (command) => {
    const behind = await startBehind({ COLUMBA_BASE_URL: 'https://sms.example:8443' });
    const { oldPort } = await startStunnel(command, behind);
    for (const tls of ['TLSv1', 'TLSv1.1'] as const)
      await oldTls(oldPort, tls, 'https://sms.example:8443/api/inbox.asmx');
    assert.equal((await callAll(oldPort, [WSDL]))[0]?.protocol, 'TLSv1.3');
  });
});

/** A program with one version of TLS: a call by SOAP, one by GET and the WSDL. */
async function oldTls(port: string, tls: 'TLSv1' | 'TLSv1.1', address: string): Promise<void> {
  const client = createClient({ port, ca, tls });
  try {
    const called = await client.send(soap('Unread'));
    assert.deepEqual([called.status, called.protocol], [200, tls]);
    const path = `/api/sent.asmx/CountUnMarkedDeliveryStatus?user_id=${ACME}`;
    const counted = await client.send({ path, headers: { host: 'sms.example:8443' } });
    assert.deepEqual([counted.status, counted.reused], [200, true]);
    const described = await client.send({ ...WSDL, headers: { host: 'sms.example:8443' } });
    assert.equal(addressIn(described.text), address);
  } finally {
    client.close();
  }
}

describe('docs/PROXIES.md', () => {
  for (const file of [
    'nginx.conf',
    'nginx-old-tls.conf',
    'haproxy.cfg',
    'haproxy-old-tls.cfg',
    'stunnel.conf',
    'Caddyfile',
  ]) {
    test(`docs/PROXIES.md shows examples/deploy/${file} as it is`, () => {
      assert.ok(read('docs/PROXIES.md').includes(`\n${read(`examples/deploy/${file}`)}\`\`\`\n`));
    });
  }

  test('the entrance for old programs passes requests on with the same fields as the other one', () => {
    const contract = (file: string) =>
      read(`examples/deploy/${file}`).split("# The console, the operator's API")[0] ?? '';
    const fields = (file: string) =>
      [...contract(file).matchAll(/^ +(?:proxy_\w+|http-request) .*$/gm)].map(([line]) => line);
    assert.ok(fields('nginx.conf').length >= 8);
    assert.deepEqual(fields('nginx-old-tls.conf'), fields('nginx.conf'));
    assert.equal(fields('haproxy.cfg').length, 5);
    const old = fields('haproxy-old-tls.cfg').map((line) => line.replace('sms.example:8443', 'sms.example'));
    assert.deepEqual(old, fields('haproxy.cfg'));
  });
});
