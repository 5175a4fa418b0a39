import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { after, before, test } from 'node:test';
import type { Problem } from '../../src/base/problem.ts';
import { claimKey, createKeyLimits, storeAnswer } from '../../src/domain/accounts/idempotency.ts';
import { keyName, readKey } from '../../src/operator/idempotency.ts';
import { onEveryEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

const rows = sql<Record<string, never>, { total: bigint }>('select count(*) as total from idempotency');
const ofToken = sql<{ token: bigint }, { answer: string | null }>(
  'select answer from idempotency where token_id = :token order by claimed_at',
);

/** As many keys as a token may have. */
const manyKeys = (engine: string) => {
  const numbers =
    engine === 'postgres'
      ? 'select generate_series(1, 100000) as n'
      : 'with recursive c(n) as (select 1 union all select n + 1 from c where n < 100000) select n from c';
  return sql<{ token: bigint; at: number }>(
    `insert into idempotency (key_hash, fingerprint, claim, claimed_at, token_id, status, bytes)
     select 'many-' || n, 'f', 'c', :at, :token, 202, 0 from (${numbers}) as numbers`,
  );
};

onEveryEngine('Idempotency-Keys', (engine) => {
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

  test('a key whose process has ended is free at once, and until then the answer is 409 with Retry-After', async (t) => {
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

  test('a key is not taken over when its slow request has stored its answer after somebody saw it in progress', async () => {
    const { database, now } = api.services;
    const slow = await claimKey(database, 'slow', 'f', now());
    assert.ok('claim' in slow);
    const late: typeof database = {
      ...database,
      first: async (statement, parameters) => {
        const seen = await database.first(statement, parameters);
        await storeAnswer(database, slow, { status: 202, answer: 'done' });
        return seen;
      },
    };
    await assert.rejects(claimKey(late, 'slow', 'f', now() + 120_000), { kind: 'conflict' });
    assert.deepEqual(await claimKey(database, 'slow', 'f', now() + 120_000), { status: 202, answer: 'done' });
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

  const keysOf = async (token: bigint) =>
    (await api.services.database.all(ofToken, { token })).map(({ answer }) => answer !== null);
  const fill = async (token: bigint, count: number, limits: { keys: number; bytes: number }) => {
    const { database } = api.services;
    const lookAfter = { keys: 50, bytes: 5_000 };
    const { admit, stored } = createKeyLimits(database, () => api.clock.now, { ...limits, lookAfter });
    for (let each = 0; each < count; each++) {
      const claim = await claimKey(database, `${token}-${each}`, 'f', api.clock.now + each, token);
      assert.ok('claim' in claim);
      await admit(token);
      await storeAnswer(database, claim, { status: 202, answer: 'x'.repeat(100) });
      await stored(token, 100);
    }
    return admit;
  };

  test('a request whose stored answer was dropped to make room is not executed again within 24 hours', async () => {
    const { database } = api.services;
    await fill(72n, 350, { keys: 1_000, bytes: 30_000 });
    const kept = await keysOf(72n);
    assert.equal(kept.length, 350, 'no key is forgotten');
    assert.deepEqual([kept.indexOf(true), kept.lastIndexOf(false)], [100, 99], 'the oldest answers are dropped');
    await assert.rejects(claimKey(database, '72-0', 'f', api.clock.now + 1_000, 72n), (thrown: Problem) => {
      assert.deepEqual([thrown.kind, thrown.details.retryAfterSeconds], ['conflict', undefined]);
      assert.match(thrown.message, /answered already, with the status 202, and is not executed again/);
      return true;
    });
    await assert.rejects(claimKey(database, '72-0', 'another', api.clock.now, 72n), { kind: 'key-reused' });
    const newest = await claimKey(database, '72-349', 'f', api.clock.now + 1_000, 72n);
    assert.deepEqual(newest, { status: 202, answer: 'x'.repeat(100) });
    const over = await claimKey(database, '72-0', 'f', api.clock.now + 24 * 3_600_000, 72n);
    assert.ok('claim' in over);
  });

  test('messages are sent once with an Idempotency-Key, also after its answer was dropped', async () => {
    const { id, token } = await api.addToken(['messages:send'], 'acme');
    const body = { recipients: ['+27825550201', '+27825550202', '+27825550203'], text: 'Hi' };
    const send = () =>
      api.call('POST', '/accounts/acme/messages', { token, body, headers: { 'Idempotency-Key': 'K' } });
    const free = async () => (await api.call('GET', '/accounts/acme/credits')).json.credits;
    const first = await send();
    assert.equal(first.status, 202, first.text);
    const left = await free();
    assert.equal((await send()).text, first.text);
    await fill(BigInt(id), 100, { keys: 1_000, bytes: 100 });
    const again = await send();
    assert.deepEqual([again.status, again.headers.get('retry-after')], [409, null], again.text);
    assert.equal(await free(), left);
  });

  test('a token with too many keys gets 429 for a new one until old keys have expired, and forgets none', async () => {
    await assert.rejects(fill(73n, 350, { keys: 200, bytes: 1_000_000 }), (thrown: Problem) => {
      assert.deepEqual([thrown.kind, thrown.details.retryAfterSeconds], ['too-many', 24 * 3_600]);
      return true;
    });
    const { database } = api.services;
    assert.equal((await keysOf(73n)).length, 201);
    const limits = { keys: 200, bytes: 1_000_000, lookAfter: { keys: 50, bytes: 5_000 } };
    const { admit } = createKeyLimits(database, () => api.clock.now, limits);
    await assert.rejects(admit(73n), { kind: 'too-many' }, 'another process says the same');
    await admit(74n);
    api.clock.now += 24 * 3_600_000;
    await admit(73n);
  });

  test('a request with one key too many gets 429 with Retry-After and can be repeated later', async () => {
    const { id, token } = await api.addToken(['accounts']);
    const call = () =>
      api.call('POST', '/accounts', {
        token,
        body: { username: `late ${engine.name}` },
        headers: { 'Idempotency-Key': 'late' },
      });
    await api.services.database.run(manyKeys(engine.name), { token: BigInt(id), at: api.clock.now });
    const refused = await call();
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, String(24 * 3_600)], refused.text);
    assert.equal((await keysOf(BigInt(id))).length, 100_000);
    api.clock.now += 24 * 3_600_000;
    assert.equal((await call()).status, 201);
  });
});

test('an Idempotency-Key that is empty, too long or no printable ASCII is refused', () => {
  assert.equal(readKey(' "a key" '), 'a key');
  for (const wrong of ['', '""', 'é', '"', 'k'.repeat(300)])
    assert.throws(() => readKey(wrong), /Idempotency-Key/, wrong);
});
