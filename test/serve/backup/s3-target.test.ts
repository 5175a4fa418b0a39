import assert from 'node:assert/strict';
import dns from 'node:dns';
import { describe, type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { type S3Settings, s3Target } from '../../../src/serve/backup/s3-target.ts';
import { signed } from '../../../src/serve/backup/signature-v4.ts';
import type { TargetProblem } from '../../../src/serve/backup/target.ts';
import { ACCESS_KEY, BUCKET, REGION, refuse, SECRET_KEY, startS3Store } from '../../support/s3-store.ts';

/** A store, and a target in it whose pauses take no time. */
async function scene(t: TestContext, given: Partial<S3Settings> = {}, clock: Partial<Clock> = {}) {
  const store = await startS3Store();
  t.after(() => store.close());
  const keys = { region: REGION, accessKey: ACCESS_KEY, secretKey: SECRET_KEY };
  const settings = { bucket: BUCKET, prefix: 'columba/', endpoint: store.endpoint, isPathStyle: true, ...keys };
  const pauses: number[] = [];
  const sleep = async (ms: number) => void pauses.push(ms);
  const target = s3Target({ ...settings, ...given }, { clock: { ...systemClock, sleep, ...clock } });
  return { store, target, pauses };
}

const CONTENT = Buffer.from('content');
const EXAMPLE = {
  region: 'us-east-1',
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};

describe('a signature of version 4', () => {
  for (const [query, signature] of [
    ['lifecycle', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    ['max-keys=2&prefix=J', '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ] as const) {
    test(`GET /?${query} has the signature of Amazon's published example`, () => {
      const url = new URL(`https://examplebucket.s3.amazonaws.com/?${query}`);
      const at = Date.parse('2013-05-24T00:00:00Z');
      const { Authorization } = signed({ method: 'GET', url, body: Buffer.alloc(0) }, EXAMPLE, at).headers;
      assert.ok(Authorization?.endsWith(`Signature=${signature}`), Authorization);
    });
  }
});

describe('a bucket as the target of a backup', () => {
  test('objects are written, read, listed over many pages, listed after a key, and deleted', async (t) => {
    const { target, store } = await scene(t);
    const keys = Array.from({ length: 23 }, (_, index) => `chain/log-${String(index).padStart(3, '0')}`);
    for (const key of keys) await target.put(key, Buffer.from(key));
    store.objects.set('elsewhere/log-001', CONTENT);
    store.objects.set('columba/chain/Not A Key', CONTENT);
    assert.deepEqual(await target.list(''), keys);
    assert.deepEqual(await target.list('chain/', 'chain/log-019~'), keys.slice(20));
    assert.deepEqual(await target.list('other/'), []);
    assert.equal(String(await target.get('chain/log-004')), 'chain/log-004');
    await target.remove('chain/log-004');
    await assert.rejects(target.get('chain/log-004'), (thrown: TargetProblem) => {
      assert.match(thrown.message, /^Reading chain\/log-004 in the bucket backups .* failed: the object is missing\.$/);
      return thrown.isMissing;
    });
  });

  test('the bucket is in the host name if it is not in the path', async (t) => {
    const { target, store } = await scene(t, { isPathStyle: false, endpoint: '' });
    assert.match(target.name, /^the bucket backups \(columba\/\) at s3\.test-region-1\.amazonaws\.com$/);
    const hosts: string[] = [];
    t.mock.method(dns, 'lookup', (host: string, { all }: dns.LookupOptions, done: (...given: unknown[]) => void) => {
      hosts.push(host);
      if (all) done(null, [{ address: '127.0.0.1', family: 4 }]);
      else done(null, '127.0.0.1', 4);
    });
    const endpoint = store.endpoint.replace('127.0.0.1', 'localhost');
    const strict = s3Target(
      {
        region: REGION,
        accessKey: ACCESS_KEY,
        secretKey: SECRET_KEY,
        bucket: BUCKET,
        prefix: '',
        endpoint,
        isPathStyle: false,
      },
      { clock: { ...systemClock, sleep: async () => {} } },
    );
    await strict.put('chain/key-1', CONTENT);
    assert.deepEqual([...store.objects.keys()], ['chain/key-1']);
    assert.deepEqual(await strict.get('chain/key-1'), CONTENT);
    assert.deepEqual(await strict.list('chain/', 'chain/key-0'), ['chain/key-1']);
    await strict.remove('chain/key-1');
    assert.equal(store.objects.size, 0);
    assert.ok(hosts.length > 0 && hosts.every((host) => host === `${BUCKET}.localhost`), hosts.join());
  });

  test('an answer of 503 or a closed connection is tried again, and the second attempt has the same bytes', async (t) => {
    const { target, store, pauses } = await scene(t);
    const bodies: string[] = [];
    store.fault = (request, response, content) => {
      bodies.push(String(content));
      if (bodies.length === 1) refuse(response, 503, 'SlowDown');
      else if (bodies.length === 2) request.socket.destroy();
      return bodies.length < 3;
    };
    await target.put('key', CONTENT);
    assert.deepEqual(bodies, ['content', 'content', 'content']);
    assert.equal(pauses.length, 2);
    assert.equal(String(store.objects.get('columba/key')), 'content');
  });

  for (const [name, fault, sentence, requests] of [
    ['always answers 503', 'SlowDown 503', /the store is overloaded \(SlowDown\)/, 4],
    ['always answers 500', 'InternalError 500', /the store answers 500 \(InternalError\)/, 4],
    ['has no such bucket', 'NoSuchBucket 404', /there is no bucket backups\. Create it, or correct COLUMBA_BACKUP/, 1],
    ['denies access', 'AccessDenied 403', /access is denied\. The access key must be allowed to list/, 1],
    [
      'is in another region',
      'PermanentRedirect 301',
      /not in the region test-region-1 .* Set COLUMBA_BACKUP_S3_REGION/,
      1,
    ],
    ['is full', 'QuotaExceeded 403', /the store has no room left/, 1],
  ] as const) {
    test(`a store that ${name} is told in a sentence, after ${requests} requests`, async (t) => {
      const { target, store } = await scene(t);
      const [code, status] = fault.split(' ') as [string, string];
      store.fault = (_, response) => {
        refuse(response, Number(status), code);
        return true;
      };
      await assert.rejects(target.put('key', CONTENT), sentence);
      assert.equal(store.requests.length, requests);
    });
  }

  test('wrong keys and a wrong clock are told apart, and no sentence has a key', async (t) => {
    const told = async (given: Partial<S3Settings>, clock: Partial<Clock> = {}) => {
      const { target } = await scene(t, given, clock);
      const { message } = await target.put('key', CONTENT).then(
        () => assert.fail('it was taken'),
        (thrown: Error) => thrown,
      );
      assert.ok(!message.includes('wrong-one') && !message.includes(SECRET_KEY), message);
      return message;
    };
    assert.match(await told({ secretKey: 'wrong-one' }), /COLUMBA_BACKUP_S3_SECRET_KEY is probably wrong/);
    assert.match(
      await told({ accessKey: 'wrong-one' }),
      /does not know this access key\. Check COLUMBA_BACKUP_S3_ACCESS/,
    );
    assert.match(await told({ region: 'other' }), /Set COLUMBA_BACKUP_S3_REGION/);
    const late = { now: () => Date.now() + 40 * 60_000 };
    assert.match(await told({}, late), /clock of this machine and that of the store differ by 40 minutes/);
  });

  test('nobody at the address, an answer that never comes and one that is given up are told', async (t) => {
    const { target, store } = await scene(t, {}, { timeout: () => AbortSignal.timeout(50) });
    store.fault = () => true; // no answer
    await assert.rejects(target.get('key'), /the store did not answer in time/);
    const refused = await scene(t, { endpoint: 'http://127.0.0.1:1' });
    await assert.rejects(refused.target.get('key'), /nothing listens at the address of the store/);
    const stop = AbortSignal.abort();
    const keys = { region: REGION, accessKey: ACCESS_KEY, secretKey: SECRET_KEY };
    const stopped = s3Target(
      { ...keys, bucket: BUCKET, prefix: '', endpoint: store.endpoint, isPathStyle: true },
      { clock: systemClock, signal: () => stop },
    );
    await assert.rejects(stopped.put('key', CONTENT), /it was given up/);
  });

  test('an object that is cut, or larger than any object of a backup, is refused without reading on', async (t) => {
    const { target, store } = await scene(t);
    let written = 0;
    store.fault = (_, response) => {
      response.writeHead(200, { 'Content-Length': 1_000 });
      response.write('only this');
      setImmediate(() => response.destroy());
      return true;
    };
    await assert.rejects(target.get('key'), /the store closed the connection in the middle/);
    store.fault = (_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && written < 2 ** 30 && response.write(Buffer.alloc(65_536))) written += 65_536;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
      return true;
    };
    store.requests.length = 0;
    await assert.rejects(target.get('key'), /has more bytes than an object of a backup/);
    assert.equal(store.requests.length, 1, 'it is not asked again');
    assert.ok(written < 64 * 2 ** 20, `${written}`);
  });

  test('a list that is no list, that never ends, or that has foreign keys is refused or passed over', async (t) => {
    const { target, store } = await scene(t);
    let body = '<html>proxy</html>';
    store.fault = (_, response) => {
      response.writeHead(200).end(body);
      return true;
    };
    await assert.rejects(target.list(''), /its answer is not a list of objects/);
    body = 'not XML at all';
    await assert.rejects(target.list(''), /its answer is not a list of objects/);
    body = '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>';
    await assert.rejects(target.list(''), /its answer is not a list of objects/);
    body =
      '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>';
    await assert.rejects(target.list(''), /the list of objects does not end/);
    body =
      '<ListBucketResult><Contents><Key>columba/../../etc/passwd</Key></Contents><Contents><Key>columba/a/b</Key></Contents></ListBucketResult>';
    assert.deepEqual(await target.list(''), ['a/b']);
  });
});
