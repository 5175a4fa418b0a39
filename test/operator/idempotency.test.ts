import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { after, before, test } from 'node:test';
import { claimKey, createKeyLimits, storeAnswer } from '../../src/domain/idempotency.ts';
import { keyName } from '../../src/operator/idempotency.ts';
import { onEveryEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';

const rows = sql<Record<string, never>, { total: bigint }>('select count(*) as total from idempotency');
const ofToken = sql<{ token: bigint }, { key_hash: string }>(
  'select key_hash from idempotency where token_id = :token order by claimed_at',
);

onEveryEngine('keys of requests', (engine) => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(engine);
  });
  after(() => api.stop());
  const stored = async () => Number((await api.services.database.first(rows, {}))?.total);

  test('a dry run and a wrong input with an Idempotency-Key store nothing', async () => {
    const before = await stored();
    const body = { recipients: ['+27825550201'], text: 'Hi' };
    for (let count = 0; count < 5; count++) {
      const headers = { 'Idempotency-Key': `dry-${count}` };
      const dry = await api.call('POST', '/accounts/acme/messages?dry_run=true', { body, headers });
      assert.equal(dry.status, 200, dry.text);
      assert.equal((await api.call('POST', '/accounts', { body: { nonsense: 1 }, headers })).status, 400);
    }
    assert.equal(await stored(), before);
  });

  test('a claim is free at once when its process is gone; until then the answer is 409 with Retry-After', async (t) => {
    const { id, token } = await api.addToken(['accounts']);
    const child = spawn('sleep', ['60']);
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const start = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[19];
    const key = keyName(BigInt(id), '/accounts', 'killed');
    const { database, now } = api.services;
    const fingerprint = 'of the same request';
    await database.run(
      sql<{ key: string; fingerprint: string; claim: string; at: number }>(
        'insert into idempotency (key_hash, fingerprint, claim, claimed_at) values (:key, :fingerprint, :claim, :at)',
      ),
      { key, fingerprint, claim: `${hostname()} ${child.pid} ${start} claim`, at: now() },
    );
    const body = { username: `made after ${engine.name}` };
    const call = () => api.call('POST', '/accounts', { token, body, headers: { 'Idempotency-Key': 'killed' } });
    await assert.rejects(claimKey(database, key, fingerprint, now()), { kind: 'conflict' });
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal((await call()).status, 201);
  });

  test('a request in progress is answered 409 with Retry-After', async () => {
    const { id, token } = await api.addToken(['accounts']);
    const { database, now } = api.services;
    const { fingerprintOf } = await import('../../src/operator/idempotency.ts');
    const body = { username: 'in progress' };
    const print = fingerprintOf('', Buffer.from(JSON.stringify(body)));
    await claimKey(database, keyName(BigInt(id), '/accounts', 'busy'), print, now());
    const headers = { 'Idempotency-Key': 'busy' };
    const busy = await api.call('POST', '/accounts', { token, body, headers });
    assert.deepEqual([busy.status, busy.headers.get('retry-after')], [409, '1']);
    api.clock.now += 40_000;
    const later = await api.call('POST', '/accounts', { token, body, headers });
    assert.deepEqual([later.status, later.headers.get('retry-after')], [409, '20']);
  });

  test('of a token the newest answers are kept, up to a number and a sum of bytes', async () => {
    const { database } = api.services;
    const keep = async (token: bigint, count: number, limits: { keys: number; bytes: number }) => {
      const kept = createKeyLimits(database, { ...limits, lookAfter: { keys: count, bytes: 1_000_000 } });
      for (let each = 0; each < count; each++) {
        const claim = await claimKey(database, `${token}-${each}`, 'f', api.clock.now + each, token);
        assert.ok('claim' in claim);
        await storeAnswer(database, claim, { status: 200, answer: 'x'.repeat(100) });
        await kept.stored(token, 100);
      }
      return (await database.all(ofToken, { token })).map(({ key_hash }) => key_hash);
    };
    const byCount = await keep(71n, 350, { keys: 200, bytes: 1_000_000 });
    assert.deepEqual([byCount.length, byCount[0]], [150, '71-200'], 'two batches of 100 are gone');
    const byBytes = await keep(72n, 350, { keys: 1_000, bytes: 30_000 });
    assert.deepEqual([byBytes.length, byBytes.at(-1)], [250, '72-349']);
    assert.equal((await database.all(ofToken, { token: 71n })).length, 150, 'those of another token stay');
  });
});
