import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { openPostgres } from '../../src/store/postgres/database.ts';
import { columba, freshPath } from '../../test/support/command.ts';
import { sql } from '../../test/support/opened-database.ts';
import { openssl as findOpenssl, testWith } from '../../test/support/peers.ts';
import { onPostgres, removeServer } from '../../test/support/postgres-engines.ts';
import { createPostgresServer, type PostgresServer } from '../../test/support/postgres-server.ts';

const openssl = findOpenssl();

interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

function selfSigned(host: string): Certificate {
  const [certificate, key] = [freshPath('crt'), freshPath('key')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  execFileSync('openssl', [...request, ...names, '-keyout', key, '-out', certificate], { stdio: 'pipe' });
  return { certificate, key };
}

/** Where the server looks for them, with its owner. */
function install({ folder }: PostgresServer, { certificate, key }: Certificate): void {
  const { uid, gid } = statSync(join(folder, 'data'));
  for (const [from, name] of [
    [certificate, 'server.crt'],
    [key, 'server.key'],
  ] as const) {
    const path = join(folder, 'data', name);
    copyFileSync(from, path);
    chmodSync(path, 0o600);
    chownSync(path, uid, gid);
  }
}

onPostgres('the check of the connection to PostgreSQL', () => {
  const server = process.env.TEST_POSTGRES as string;
  const CASES: Record<string, { url: string; reason: RegExp }> = {
    'nobody listens': { url: 'postgres://columba:secret@127.0.0.1:1/postgres', reason: /ECONNREFUSED/ },
    'there is no such database': {
      url: server.replace(/\/[^/?]*$/, '/nowhere'),
      reason: /database "nowhere" does not exist/,
    },
    'there is no TLS': { url: `${server}?sslmode=verify-full`, reason: /server does not support SSL/ },
    'there is no such certificate file': {
      url: `${server}?sslmode=verify-full&sslrootcert=/none/ca.crt`,
      reason: /\/none\/ca\.crt/,
    },
  };
  for (const [name, { url, reason }] of Object.entries(CASES)) {
    test(`if ${name}, check says so in one sentence`, async () => {
      const { code, stdout, stderr } = await columba(['check', '--database', url]);
      assert.deepEqual([code, stdout], [3, '']);
      assert.match(stderr, /^columba: [^\n]*\n$/);
      assert.match(stderr, reason);
      assert.doesNotMatch(stderr, /secret/);
    });
  }

  test('sslmode=require does not connect without TLS', async () => {
    const { code, stderr } = await columba(['check', '--database', `${server}?sslmode=require`]);
    assert.equal(code, 3);
    assert.match(stderr, /server does not support SSL/);
  });
});

onPostgres('PostgreSQL over TLS', () => {
  let server: PostgresServer | undefined;
  let own: Certificate;
  let foreign: Certificate;
  before(async () => {
    if (openssl.command === null) return;
    own = selfSigned('localhost');
    foreign = selfSigned('localhost');
    server = await createPostgresServer(['ssl=on', 'fsync=off']);
    install(server, own);
    await server.start();
  });
  after(() => server && removeServer(server));

  const url = (host: string, options: string) => `${server?.url().replace('127.0.0.1', host)}?${options}`;
  const sslOf = async (setting: string): Promise<unknown> => {
    const database = await openPostgres({ url: setting, connectionsMax: 1, timeoutMs: 5_000 }, systemClock);
    try {
      const own = sql<Record<string, never>, { ssl: boolean }>(
        'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
      );
      return (await database.first(own, {}))?.ssl;
    } finally {
      await database.close();
    }
  };

  testWith(
    openssl,
    'verify-full with the certificate of the authority accepts the server, and everything goes over TLS',
    async () => {
      assert.equal(await sslOf(url('localhost', `sslmode=verify-full&sslrootcert=${own.certificate}`)), true);
    },
  );

  testWith(openssl, 'no-verify encrypts without a check, and without sslmode there is no TLS', async () => {
    assert.equal(await sslOf(url('localhost', 'sslmode=no-verify')), true);
    assert.equal(await sslOf(url('localhost', '')), false);
  });

  testWith(
    openssl,
    'verify-full refuses a certificate that is not signed by the given authority, or that is for another name',
    async () => {
      const REFUSED: readonly (readonly [string, string, RegExp])[] = [
        ['localhost', 'sslmode=verify-full', /self-signed certificate/],
        ['localhost', `sslmode=verify-full&sslrootcert=${foreign.certificate}`, /certificate/],
        ['127.0.0.1', `sslmode=verify-full&sslrootcert=${own.certificate}`, /does not match certificate/],
      ];
      for (const [host, options, reason] of REFUSED) {
        const { code, stderr } = await columba(['check', '--database', url(host, options)]);
        assert.equal(code, 3, options);
        assert.match(stderr, /^columba: [^\n]*\n$/);
        assert.match(stderr, reason);
      }
    },
  );
});
