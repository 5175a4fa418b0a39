import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { createConsole } from '../../src/console/app.ts';
import { checkPause, countAttempt } from '../../src/domain/access/sign-in-limits.ts';
import { consoleRequest, signedIn } from '../support/console-client.ts';
import { engines, onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';

const sqlite = engines[0] as (typeof engines)[number];
const OF_ACME = 'correct horse battery staple';
const OF_GLOBEX = 'seven yellow mountains';

/**
 * 1,000 wrong passwords for one name. The clock stands still, so each network is paused after its
 * fifth one: 50 of the 1,000 are compared with the hash, and 950 are refused before.
 */
describe('1,000 wrong passwords', () => {
  test('after 1,000 wrong passwords another name can sign in from the same network, and the same name from elsewhere', async (t) => {
    const api = await startOperatorApi(sqlite);
    t.after(() => api.stop());
    const customer = await signedIn(api, { username: 'globex' });
    assert.equal((await customer.post('/console/access/password', { password: OF_GLOBEX })).status, 303);
    const delays: number[] = [];
    const console = createConsole({
      services: { ...api.services, sleep: async (ms) => void delays.push(ms) },
      admitClient: () => {},
      report: () => {},
    });
    const signIn = async (name: string, password: string, client: string) => {
      const request = new Request('https://sms.example/console/sign-in', {
        method: 'POST',
        body: new URLSearchParams({ name, password }),
        headers: { 'Sec-Fetch-Site': 'same-origin' },
      });
      return (await console({ ...consoleRequest(request), client })).status;
    };
    const statuses = new Map<number, number>();
    for (let number = 0; number < 1_000; number += 1) {
      const status = await signIn('globex', `wrong password ${number}`, `10.0.${number % 10}.1`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    assert.deepEqual(Object.fromEntries(statuses), { 401: 50, 429: 950 });
    assert.equal(await signIn('globex', OF_GLOBEX, '10.0.0.1'), 429);
    assert.equal(await signIn('globex', OF_GLOBEX, '198.51.100.7'), 303);
    assert.equal(await signIn('acme', OF_ACME, '10.0.0.1'), 303);
    assert.ok(Math.max(...delays) <= 5_000, 'nobody waits for longer than 5 s');
  });
});

onOneEngine('guesses of passwords', (engine) => {
  test('200 wrong passwords from one network take at least 40 hours', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    const { database } = api.services;
    const attempt = { subject: 'password account acme', address: '192.0.2.1' };
    const start = api.clock.now;
    let now = start;
    for (let guesses = 0; guesses < 200; ) {
      try {
        await checkPause(database, attempt, now);
        await countAttempt(database, attempt, now);
        guesses += 1;
      } catch (thrown) {
        assert.ok(thrown instanceof Problem && thrown.kind === 'too-many');
        now += (thrown.details.retryAfterSeconds ?? 0) * 1_000;
      }
    }
    assert.ok(now - start >= 40 * 3_600_000, `${(now - start) / 3_600_000} hours`);
  });
});
