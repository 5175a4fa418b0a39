import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, test } from 'node:test';
import { readConfig, settings } from '../../src/config/settings.ts';
import { webPortOf } from '../../src/config/web-address.ts';
import { engines } from '../../test/support/engines.ts';
import { startService } from '../../test/support/service.ts';
import {
  type KubernetesObject,
  pairsOf,
  ROOT,
  read,
  readCompose,
  readDockerfile,
  readKubernetes,
  readUnit,
} from './formats.ts';

/** The files say the same as the program, and as one another. */

const FILES = [
  'Dockerfile',
  'docs/INSTALL.md',
  'docs/PROXIES.md',
  ...globSync('examples/deploy/**/{*.*,Dockerfile}', { cwd: ROOT }).sort(),
];
const { version } = JSON.parse(read('package.json'));

const image = readDockerfile('Dockerfile');
const ofImage = (name: string): string => image.findLast((each) => each.name === name)?.value ?? assert.fail(name);
const compose = readCompose().services.columba ?? assert.fail();
const deployment = readKubernetes().find(({ kind }) => kind === 'Deployment');
const [container] = deployment.spec.template.spec.containers;

/** A variable that .env may give has its default; one that it must give is not ours. */
const withDefaults = (environment: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, value.replace(/^\$\{\w+:-(.*)\}$/, '$1')]),
  );

const environments: Record<string, Record<string, string>> = {
  Dockerfile: pairsOf(ofImage('ENV')),
  'compose.yaml': withDefaults(compose.environment ?? {}),
  'kubernetes.yaml': Object.fromEntries(
    container.env.map(({ name, value }: KubernetesObject) => [name, value ?? 'postgres://columba:x@db/columba']),
  ),
  'columba.service': Object.fromEntries(
    (readUnit('examples/deploy/columba.service').get('Service') ?? [])
      .filter(([key]) => key === 'Environment')
      .map(([, line]) => line.split(/=(.*)/s).slice(0, 2)),
  ),
  'example.env': pairsOf(read('examples/deploy/example.env').replace(/^#.*$/gm, '')),
};

describe('settings', () => {
  test('every COLUMBA_ variable that a file names is a setting', () => {
    const known = Object.values(settings).map(({ variable }) => variable);
    const wrong = FILES.flatMap((file) =>
      [...read(file).matchAll(/\bCOLUMBA_[A-Z_]+\b/g)]
        .map(([name]) => name)
        // What the file warns of.
        .filter((name) => !known.includes(name) && name !== 'COLUMBA_SERVICE_HOST')
        .map((name) => `${file}: ${name}`),
    );
    assert.deepEqual(wrong, []);
    assert.ok(FILES.length >= 8, FILES.join());
  });

  for (const [file, environment] of Object.entries(environments)) {
    test(`the program accepts the values in ${file}`, () => {
      assert.ok(Object.keys(environment).some((name) => name.startsWith('COLUMBA_')));
      readConfig(environment);
    });
  }
});

describe('numbers and names', () => {
  test('the image is named after the version of the package', () => {
    assert.deepEqual([compose.image, container.image], [`columba:${version}`, `columba:${version}`]);
  });

  test('the ports are the defaults of the program everywhere', () => {
    const port = settings.port.fallback;
    const webPort = String(webPortOf({ port: Number(port), webPort: 'default' }));
    const { COLUMBA_PORT, COLUMBA_WEB_PORT } = environments.Dockerfile ?? {};
    assert.deepEqual([ofImage('EXPOSE'), COLUMBA_PORT, COLUMBA_WEB_PORT], [`${port} ${webPort}`, port, webPort]);
    assert.deepEqual(compose.ports, [`127.0.0.1:${port}:${port}`, `127.0.0.1:${webPort}:${webPort}`]);
    const [http, web] = container.ports.map(({ containerPort }: KubernetesObject) => String(containerPort));
    assert.deepEqual([http, web], [port, webPort]);
  });

  test('compose waits longer for a container to stop than the service takes', () => {
    const seconds = Number(/^(\d+)s$/.exec(compose.stop_grace_period ?? '')?.[1]);
    const { drainTimeoutMs, databaseTimeoutMs } = readConfig(environments['compose.yaml'] ?? {});
    assert.ok(seconds * 1_000 > drainTimeoutMs + databaseTimeoutMs);
  });

  test('each limit of memory has room for the processes and for the bodies that they receive at once', () => {
    // bench/RESULTS.md, Size: of its own under load; with workers there is a primary process, which serves nothing.
    const [firstMiB, processMiB] = [60, 310];
    const limits = { 'compose.yaml': compose.mem_limit, 'kubernetes.yaml': container.resources.limits.memory };
    for (const [file, limit] of Object.entries(limits)) {
      const [, count, unit = ''] = /^(\d+)(m|g|Mi|Gi)$/.exec(limit ?? '') ?? assert.fail(`${file}: ${limit}`);
      const { workers, receivingBytesMax } = readConfig(environments[file] ?? {});
      const needed = (workers > 1 ? firstMiB : 0) + workers * (processMiB + receivingBytesMax / 2 ** 20);
      assert.ok(Number(count) * (/g/i.test(unit) ? 1_024 : 1) > needed, `${file}: ${limit} for ${needed} MiB`);
    }
  });

  test('the systemd unit listens on its machine only, and the image, which has a network of its own, on all addresses', () => {
    assert.equal(readConfig(environments['columba.service'] ?? {}).host, '127.0.0.1');
    assert.equal(readConfig(environments.Dockerfile ?? {}).host, '0.0.0.0');
  });

  test('the service answers every health path that a file names with 200', async () => {
    const paths = new Set(FILES.flatMap((file) => read(file).match(/\/health\/\w+/g) ?? []));
    assert.deepEqual([...paths].sort(), ['/health/live', '/health/ready']);
    const service = await startService(engines[0] ?? assert.fail(), 'empty');
    try {
      const address = await service.app.start();
      for (const path of paths) assert.equal((await fetch(`${address}${path}`)).status, 200, path);
    } finally {
      await service.stop();
    }
  });
});
