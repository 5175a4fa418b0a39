import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { testWith } from '../../test/support/peers.ts';
import { until } from '../../test/support/program.ts';
import { startSmsc } from '../../test/support/smsc.ts';
import { buildImage, imageBuilder } from './image.ts';

/** The image as people build and run it: a read-only root, no capabilities, the user of the image, and one folder for data. */

const BEHAVIOUR =
  'a container has one file of root, is set up, serves both listeners, is healthy, sends to a carrier, and stops by SIGTERM';

testWith(imageBuilder(), BEHAVIOUR, async () => {
  const image = buildImage();
  const smsc = await startSmsc();
  try {
    assert.ok(image.bytes > 1e8 && image.bytes < 4e8, `${image.bytes}`);
    assert.equal(image.user, '10001:10001');
    const env = { COLUMBA_PORT: String(await freePort()), COLUMBA_WEB_PORT: String(await freePort()) };
    const connection = { host: '127.0.0.1', port: smsc.port, systemId: 'columba', password: 'secret' };
    writeFileSync(join(image.data, 'carrier.json'), JSON.stringify(connection));
    const carrier = ['--carrier', 'smpp', '--carrier-config', '@/data/carrier.json'];
    const setup = await image.run(['setup', '--account', 'acme', '--region', 'ZA', ...carrier], { env });
    assert.equal(setup.code, 0, setup.stderr);
    const [, userId = ''] = /user_id {4}(\S+)/.exec(setup.stdout) ?? [];

    const health = () => image.podman('healthcheck', 'run', 'service');
    const started = await image.run([], { name: 'service', env });
    assert.equal(started.code, 0, started.stderr);
    await until('the health check of the image passes', async () => (await health()).code === 0);
    const call = (path: string) => fetch(`http://127.0.0.1:${env.COLUMBA_PORT}${path}`);
    assert.match(await (await call(`/api/account.asmx/Profile?user_id=${userId}`)).text(), /acme/);
    const page = await fetch(`http://127.0.0.1:${env.COLUMBA_WEB_PORT}/console/sign-in`);
    assert.match(await page.text(), /<title>/);
    // A command in the same container, as `docker exec` runs it.
    const list = await image.podman('exec', 'service', 'columba', 'account', 'list');
    assert.match(list.stdout, /^acme\t/);
    const send = ['message', 'send', 'acme', '+27825550201', '--text', 'The first message.'];
    const sent = await image.podman('exec', 'service', 'columba', ...send);
    assert.equal(sent.code, 0, sent.stderr);
    await until('the carrier has the message', () => smsc.submitted.length === 1);
    const written = await image.podman('exec', 'service', 'touch', '/usr/local/bin/other');
    assert.match(written.stderr, /Read-only file system/);

    const files = ['/usr/local', '/opt', '/usr/share/doc/columba', '-type', 'f', '-printf', '%p %u %m\n'];
    const found = await image.podman('exec', 'service', 'find', ...files);
    assert.deepEqual(found.stdout.trim().split('\n'), [
      '/usr/local/bin/columba root 755',
      '/usr/share/doc/columba/copyright root 644',
    ]);

    const before = await image.podman('inspect', '--format', '{{.State.Status}}', 'service');
    assert.equal(before.stdout, 'running\n');
    assert.equal((await image.podman('stop', '--time', '60', 'service')).code, 0);
    const ended = await image.podman('inspect', '--format', '{{.State.ExitCode}}', 'service');
    assert.equal(ended.stdout, '0\n');
    assert.deepEqual(
      readdirSync(image.data).filter((name) => !name.startsWith('columba.db')),
      ['carrier.json'],
    );
  } finally {
    await smsc.close();
    image.remove();
  }
});
