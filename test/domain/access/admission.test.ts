import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { createRateLimiter, type RateLimiter } from '../../../src/domain/access/rate-limiter.ts';
import { createAskPrimary } from '../../../src/serve/worker-channel.ts';
import { acme, createWorld, outcomeOf } from '../../support/admission.ts';

describe('admission with a rate limiter in its own process', () => {
  for (const [waitMs, header] of [
    [1, '1'],
    [1_000, '1'],
    [1_001, '2'],
    [59_999, '60'],
  ] as const) {
    test(`a wait of ${waitMs} ms is a Retry-After of ${header}: whole seconds, never too few`, async () => {
      const rateLimiter: RateLimiter = { take: () => ({ granted: 0, waitMs }), failed: () => 0 };
      const admission = createWorld(1, 1).admission({ rateLimiter });
      assert.equal(await outcomeOf(() => admission.admitAccount(acme)), header);
    });
  }

  test('an IPv4 address has a limit of its own, an IPv6 address shares that of its /64, and exempt addresses have none', async () => {
    const clock = { now: 0 };
    const admission = createWorld(0, 1).admission({
      rateLimiter: createRateLimiter(() => clock.now),
      addressRate: { perSecond: 1, burst: 2 },
      unlimited: ['203.0.113.0/24', '2001:db8:9::/48'],
    });
    const from = async (...clients: string[]) => {
      const outcomes: boolean[] = [];
      for (const client of clients) {
        outcomes.push((await outcomeOf(() => admission.admitClient(client))) === 'admitted');
      }
      return outcomes;
    };
    assert.deepEqual(await from('192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'), [true, true, false, true]);
    const spread = ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:1::3', '2001:db8:0:2::1'];
    assert.deepEqual(await from(...spread), [true, true, false, true]);
    assert.ok((await from(...Array<string>(20).fill('203.0.113.7'))).every(Boolean));
    assert.ok((await from(...Array<string>(20).fill('::ffff:203.0.113.7'))).every(Boolean));
    assert.ok((await from(...Array<string>(20).fill('2001:db8:9::1'))).every(Boolean));
    assert.equal(admission.limitsAccounts, false);
    assert.equal(admission.admitAccount(acme), undefined, 'accounts have no limit here');
  });

  test('the answer to a failed identification is delayed for as long as the rate limiter says', async () => {
    const world = createWorld(1, 1);
    const admission = world.admission();
    for (let failure = 0; failure < 13; failure++) await admission.failed('192.0.2.1');
    assert.deepEqual(world.slept, [100, 200, 400]);
  });
});

describe('questions to the primary process', () => {
  interface Sent {
    columbaQuestion: number;
    content: unknown;
  }
  function createChannel() {
    const sent: Sent[] = [];
    const channel = Object.assign(new EventEmitter(), {
      connected: true,
      send: (message: Sent) => void sent.push(message),
    });
    const answer = (question: Sent | undefined, content: unknown) => channel.emit('message', { ...question, content });
    return { channel, sent, answer, ask: createAskPrimary(systemClock, channel as unknown as NodeJS.Process) };
  }

  test('each question to the primary process gets its own answer, in any order, and other messages are ignored', async () => {
    const { channel, sent, answer, ask } = createChannel();
    const answers = Promise.all([ask('one'), ask('two'), ask('three')]);
    channel.emit('message', { cmd: 'something else' });
    for (const question of sent.toReversed()) answer(question, `about ${question.content}`);
    assert.deepEqual(await answers, ['about one', 'about two', 'about three']);
    answer(sent[0], 'too late, and nobody listens');
  });

  test('a worker decides by itself without a primary process, or without its answer', async () => {
    const { channel, ask } = createChannel();
    assert.equal(await ask('never answered'), undefined);
    channel.connected = false;
    assert.equal(await ask('never sent'), undefined);
  });
});
