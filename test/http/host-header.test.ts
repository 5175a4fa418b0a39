import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Config, readConfig } from '../../src/config/settings.ts';
import { onOneEngine } from '../support/engines.ts';
import { assertRefusal, said } from '../support/http-client.ts';
import { ACME, startService } from '../support/service.ts';
import { requestBytes, statusOf, textOf } from '../support/socket.ts';

/** The Host of a request: there is one, it is a name, and where we have names it is one of ours. */

const CALL = `/api/inbox.asmx/CountUnread?user_id=${ACME}`;
const NONE = 'A request of HTTP/1.1 must have a Host.';
const TWO = 'A request must have exactly one Host.';
const STRANGE = 'The Host of this request is not a valid name with or without a port.';
const OTHER = 'There is no service under the Host of this request.';

describe('COLUMBA_HOSTS', () => {
  const hostsOf = (value: string) => readConfig({ COLUMBA_HOSTS: value }).hosts;

  test('COLUMBA_HOSTS is a list of names, each with or without a port, in any letter case', () => {
    assert.deepEqual(hostsOf(''), []);
    assert.deepEqual(hostsOf('SMS.example, sms.example:8443,,[2001:db8::1]:80 , 192.0.2.7'), [
      'sms.example',
      'sms.example:8443',
      '[2001:db8::1]:80',
      '192.0.2.7',
    ]);
  });

  test('COLUMBA_HOSTS with anything but names is refused', () => {
    for (const value of ['https://sms.example', 'sms.example/api', 'a b', '*.example', 'x:', 'x:port', 'ü', 'u@x']) {
      assert.throws(() => hostsOf(value), { message: /^COLUMBA_HOSTS: expected names such as sms\.example/ }, value);
    }
  });
});

onOneEngine('Host', (engine) => {
  async function listening(settings: Partial<Config>, work: (address: string) => Promise<void>) {
    const service = await startService(engine, 'sample', settings);
    try {
      await work(await service.app.start());
    } finally {
      await service.stop();
    }
  }
  async function ask(address: string, fields: readonly string[], { target = CALL, version = '1.1' } = {}) {
    const bytes = requestBytes(`GET ${target} HTTP/${version}`, [...fields, 'Connection: close']);
    const [answer, ...more] = await said(address, bytes);
    assert.equal(more.length, 0);
    return answer;
  }
  async function served(address: string, fields: readonly string[], how = {}) {
    const answer = await ask(address, fields, how);
    assert.ok(answer && statusOf(answer) === 200, `${fields}: ${answer && textOf(answer)}`);
  }
  async function refused(address: string, message: string, fields: readonly string[], how = {}) {
    const answer = await ask(address, fields, how);
    assertRefusal(answer, 400, message);
    assert.equal(answer?.headers.connection, 'close');
  }

  test('HTTP/1.1 needs exactly one Host, HTTP/1.0 may have one', () =>
    listening({}, async (address) => {
      await refused(address, NONE, []);
      await refused(address, NONE, ['X-Forwarded-Host: h']);
      await served(address, [], { version: '1.0' });
      for (const version of ['1.0', '1.1']) {
        await served(address, ['Host: a'], { version });
        for (const second of ['Host: a', 'host: b', 'HOST:']) {
          await refused(address, TWO, ['Host: a', second], { version });
        }
      }
    }));

  test('Host is a name or an address, with a port or without, and an empty Host is accepted as that of a client that knows none', () =>
    listening({}, async (address) => {
      for (const host of ['h', 'a-b.c_d.example', 'H:80', 'h:', '192.0.2.7:81', '[::1]', '[2001:db8::1]:8080', '']) {
        await served(address, [`Host: ${host}`]);
      }
      for (const host of ['a b', 'a/b', 'a,b', 'a@b', 'a?b', 'a#b', '%61', '::1', '[::1', 'h:x', 'h:123456', '<h>']) {
        await refused(address, STRANGE, [`Host: ${host}`]);
      }
    }));

  test('the body of a request with a bad Host is not read as the next request', () =>
    listening({}, async (address) => {
      const hidden = requestBytes('GET /health/live HTTP/1.1', ['Host: h']);
      const fields = ['Host: a', 'Host: b', 'Content-Type: text/xml'];
      const answers = await said(address, requestBytes('POST /api/inbox.asmx HTTP/1.1', fields, hidden));
      assert.equal(answers.length, 1);
      assertRefusal(answers[0], 400, TWO);
    }));

  test('with COLUMBA_HOSTS only those names are served: a name without a port on any port, one with a port only on that port', () =>
    listening({ hosts: ['sms.example', 'other.example:8443'] }, async (address) => {
      for (const host of ['sms.example', 'SMS.Example', 'sms.example:80', 'sms.example:8443', 'other.example:8443']) {
        await served(address, [`Host: ${host}`]);
      }
      const others = ['evil.example', 'other.example', 'other.example:80', 'sms.example.evil.example', '127.0.0.1', ''];
      for (const host of others) await refused(address, OTHER, [`Host: ${host}`]);
      await refused(address, OTHER, [], { version: '1.0' });
    }));

  test('the host of an absolute URL counts instead of Host', () =>
    listening({ hosts: ['sms.example'] }, async (address) => {
      await served(address, ['Host: evil.example'], { target: `http://sms.example${CALL}` });
      await refused(address, OTHER, ['Host: sms.example'], { target: `http://evil.example${CALL}` });
      await refused(address, NONE, [], { target: `http://sms.example${CALL}` });
      for (const authority of ['', 'user@sms.example', 'sms.example:x', 'a%62']) {
        await refused(address, STRANGE, ['Host: sms.example'], { target: `http://${authority}${CALL}` });
      }
    }));

  test('without COLUMBA_HOSTS an absolute URL of another host is served, and the WSDL has that host', () =>
    listening({}, async (address) => {
      const answer = await ask(address, ['Host: a'], { target: 'http://b.example/api/inbox.asmx?WSDL' });
      assert.match(answer ? textOf(answer) : '', /location="http:\/\/b\.example\/api\/inbox\.asmx"/);
    }));

  test('X-Forwarded-Host of a trusted proxy counts as Host, and that of others does not', async () => {
    const fields = (host: string, forwarded: string) => [`Host: ${host}`, `X-Forwarded-Host: ${forwarded}`];
    await listening({ hosts: ['sms.example'], trustedProxies: ['127.0.0.1'] }, async (address) => {
      await served(address, fields('inner:8080', 'sms.example'));
      await served(address, fields('inner:8080', 'sms.example, middle'));
      await served(address, ['Host: sms.example']);
      await refused(address, OTHER, fields('sms.example', 'evil.example'));
      await refused(address, OTHER, fields('inner:8080', 'a"b'));
      await refused(address, OTHER, ['Host: inner:8080']);
    });
    await listening({ hosts: ['sms.example'], trustedProxies: ['192.0.2.1'] }, async (address) => {
      await refused(address, OTHER, fields('inner:8080', 'sms.example'));
      await served(address, fields('sms.example', 'evil.example'));
    });
  });

  test('health probes may use any Host, because they address a process by its IP address', () =>
    listening({ hosts: ['sms.example'] }, async (address) => {
      for (const target of ['/health/live', '/health/ready']) {
        await served(address, ['Host: 10.0.0.7:8080'], { target });
        await served(address, [], { target, version: '1.0' });
        await refused(address, TWO, ['Host: a', 'Host: b'], { target });
      }
      await refused(address, OTHER, ['Host: 10.0.0.7:8080'], { target: '/' });
    }));
});
