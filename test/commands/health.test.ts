import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { columba } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';

describe('columba health', () => {
  const answers: [string, RequestListener, number, RegExp][] = [
    ['ends with 0 where the answer is 200', (_, response) => response.end(), 0, /^$/],
    [
      'asks for the readiness and no other path',
      ({ url }, response) => response.writeHead(url === '/health/ready' ? 200 : 404).end(),
      0,
      /^$/,
    ],
    ['ends with 1 where the answer is 503', (_, response) => response.writeHead(503).end(), 1, /not ready: .*503/],
    ['ends with 1 where the connection breaks', ({ socket }) => socket.destroy(), 1, /not ready: /],
  ];
  for (const [behaviour, answer, code, stderr] of answers) {
    test(`columba health ${behaviour}`, async () => {
      const server = createServer(answer).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const port = String((server.address() as AddressInfo).port);
      const ended = await columba(['health'], { env: { COLUMBA_PORT: port, COLUMBA_HOST: '0.0.0.0' } });
      const ofHealthPort = await columba(['health'], { env: { COLUMBA_PORT: '1', COLUMBA_HEALTH_PORT: port } });
      server.close();
      server.closeAllConnections();
      assert.deepEqual([ended.code, ofHealthPort.code], [code, code], ended.stderr);
      assert.match(ended.stderr, stderr);
    });
  }

  test('columba health ends with 1 where nobody listens', async () => {
    const { code, stderr } = await columba(['health', '--port', String(await freePort())]);
    assert.equal(code, 1);
    assert.match(stderr, /^columba: the service at 127\.0\.0\.1:\d+ is not ready: /);
  });
});
