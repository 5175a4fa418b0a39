import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRateLimiter } from '../../../src/domain/access/rate-limiter.ts';
import { createRandom, SEED } from '../../support/random.ts';

/** How much somebody may do, and what becomes of what is remembered about it. Time is the test's own. */
function counting(start = Date.UTC(2026, 10, 15, 12)) {
  const clock = { now: start };
  return { clock, rateLimiter: createRateLimiter(() => clock.now) };
}

describe('a limit of calls', () => {
  const RATES: readonly (readonly [perSecond: number, burst: number])[] = [
    [1, 1],
    [1, 100],
    [3, 7],
    [7, 3],
    [10, 1],
    [999, 1_000],
    [1_000, 1],
    [1_001, 5],
    [1_000_000, 1_000_000],
  ];

  for (const [perSecond, burst] of RATES) {
    test(`a limit of ${perSecond} per second and ${burst} at once admits the burst, then as many as the rate allows`, () => {
      const { clock, rateLimiter } = counting();
      const rate = { perSecond, burst };
      const takeAll = () => rateLimiter.take('a', rate, 10_000_000).granted;
      assert.equal(takeAll(), burst);
      assert.equal(takeAll(), 0);
      clock.now += 1_000;
      assert.equal(takeAll(), Math.min(perSecond, burst));
      clock.now += 1_000 * Math.ceil(burst / perSecond);
      assert.equal(takeAll(), burst);
      clock.now += 24 * 3_600_000;
      assert.equal(takeAll(), burst, 'never more than at once, however long the pause');
    });

    test(`a limit of ${perSecond} per second and ${burst} at once tells the exact wait, also to a client that asks all the time`, () => {
      const { clock, rateLimiter } = counting();
      const rate = { perSecond, burst };
      assert.equal(rateLimiter.take('a', rate, burst).granted, burst);
      for (const asksMeanwhile of [false, true]) {
        const { granted, waitMs } = rateLimiter.take('a', rate, 1);
        assert.equal(granted, 0);
        assert.ok(Number.isInteger(waitMs) && waitMs >= 1, String(waitMs));
        const end = clock.now + waitMs;
        if (asksMeanwhile) {
          while (clock.now < end - 1) {
            assert.deepEqual(rateLimiter.take('a', rate, 1), { granted: 0, waitMs: end - clock.now });
            clock.now += 1;
          }
        }
        clock.now = end - 1;
        assert.deepEqual(rateLimiter.take('a', rate, 1), { granted: 0, waitMs: 1 }, 'a millisecond too early');
        clock.now = end;
        const all = rateLimiter.take('a', rate, 10_000_000).granted;
        assert.ok(all >= 1, 'at the time that was named');
      }
    });
  }

  test('a token bucket admits in any period at most its burst and what its rate has added since', (t) => {
    t.diagnostic(`SEED=${SEED}`);
    const random = createRandom('rates');
    for (let round = 0; round < 200; round++) {
      const { clock, rateLimiter } = counting(random.below(1_000_000));
      const rate = { perSecond: 1 + random.below(2_000), burst: 1 + random.below(200) };
      const start = clock.now;
      // The same in whole thousandths, as a person would reckon it.
      let level = BigInt(rate.burst) * 1_000n;
      let total = 0;
      for (let call = 0; call < 300; call++) {
        const ms = random.below(4) === 0 ? random.below(2_000) : random.below(3);
        clock.now += ms;
        level += BigInt(ms) * BigInt(rate.perSecond);
        if (level > BigInt(rate.burst) * 1_000n) level = BigInt(rate.burst) * 1_000n;
        const wanted = 1 + random.below(5);
        const { granted } = rateLimiter.take('a', rate, wanted);
        assert.equal(granted, Math.min(wanted, Number(level / 1_000n)), JSON.stringify(rate));
        level -= BigInt(granted) * 1_000n;
        total += granted;
        assert.ok(total <= rate.burst + (rate.perSecond * (clock.now - start)) / 1_000);
      }
    }
  });

  test('a request for several calls gets as many as the bucket has', () => {
    const { rateLimiter } = counting();
    const rate = { perSecond: 1, burst: 10 };
    const granted = [3, 3, 3, 3].map((wanted) => rateLimiter.take('a', rate, wanted).granted);
    assert.deepEqual(granted, [3, 3, 3, 1]);
  });

  test('each key has its own token bucket', () => {
    const { rateLimiter } = counting();
    const rate = { perSecond: 1, burst: 2 };
    for (const key of ['account 1', 'account 2', 'address 192.0.2.1']) {
      assert.deepEqual(
        [1, 1, 1].map((wanted) => rateLimiter.take(key, rate, wanted).granted),
        [1, 1, 0],
        key,
      );
    }
  });

  test('a clock that is set back adds no calls, and makes no wait longer', () => {
    const { clock, rateLimiter } = counting();
    const rate = { perSecond: 2, burst: 5 };
    rateLimiter.take('a', rate, 5);
    clock.now -= 24 * 3_600_000;
    assert.deepEqual(rateLimiter.take('a', rate, 1), { granted: 0, waitMs: 500 });
    clock.now += 499;
    assert.deepEqual(rateLimiter.take('a', rate, 1), { granted: 0, waitMs: 1 });
    clock.now += 1;
    assert.equal(rateLimiter.take('a', rate, 1).granted, 1);
    // And forward again: what a long pause gives, and no more.
    clock.now += 24 * 3_600_000;
    assert.equal(rateLimiter.take('a', rate, 100).granted, 5);
  });

  test('a lower limit after a restart with another setting holds at once', () => {
    const { rateLimiter } = counting();
    rateLimiter.take('a', { perSecond: 1, burst: 100 }, 1);
    assert.equal(rateLimiter.take('a', { perSecond: 1, burst: 5 }, 100).granted, 5);
  });
});

describe('failed identifications', () => {
  const DELAYS = [...Array<number>(10).fill(0), 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000];
  const fail = (rateLimiter: ReturnType<typeof createRateLimiter>, client: string, times: number) =>
    Array.from({ length: times }, () => rateLimiter.failed(client));

  test('10 failures of an address have no delay, and each further one is delayed twice as long as the last, up to 2 s', () => {
    for (const client of ['192.0.2.1', '2001:db8::1']) {
      assert.deepEqual(fail(counting().rateLimiter, client, DELAYS.length), DELAYS, client);
    }
  });

  test('the delay of a failure stays 2 s after thousands of failures', () => {
    const { rateLimiter } = counting();
    assert.deepEqual(new Set(fail(rateLimiter, '192.0.2.1', 5_000).slice(15)), new Set([2_000]));
  });

  test('failures are forgotten after 60 s without one, and not a millisecond earlier', () => {
    const { clock, rateLimiter } = counting();
    fail(rateLimiter, '192.0.2.1', 10);
    clock.now += 59_999;
    assert.equal(rateLimiter.failed('192.0.2.1'), 100);
    clock.now += 59_999;
    assert.equal(rateLimiter.failed('192.0.2.1'), 200);
    clock.now += 60_000;
    assert.deepEqual(fail(rateLimiter, '192.0.2.1', DELAYS.length), DELAYS);
  });

  const NEIGHBOURS: readonly (readonly [what: string, neighbour: (index: number) => string, stranger: string])[] = [
    ['an IPv4 /24', (index) => `192.0.2.${index}`, '192.0.3.1'],
    ['an IPv6 /64', (index) => `2001:db8:0:1::${index.toString(16)}`, '2001:db8:0:2::1'],
    ['an IPv4 /24, mapped to IPv6', (index) => `::ffff:192.0.2.${index}`, '::ffff:192.0.3.1'],
  ];
  for (const [what, neighbour, stranger] of NEIGHBOURS) {
    test(`100 failures from all addresses of ${what} have no delay`, () => {
      const { clock, rateLimiter } = counting();
      const delays = Array.from({ length: 106 }, (_, index) => rateLimiter.failed(neighbour(index)));
      assert.deepEqual(delays, [...Array<number>(100).fill(0), 100, 200, 400, 800, 1_600, 2_000]);
      assert.equal(rateLimiter.failed(stranger), 0, 'others are not concerned');
      clock.now += 60_000;
      assert.equal(rateLimiter.failed(neighbour(1)), 0);
    });
  }

  test('failures of a client that is no IP address are counted too', () => {
    for (const client of ['', 'unknown', '/run/columba.sock']) {
      assert.deepEqual(fail(counting().rateLimiter, client, DELAYS.length), DELAYS, client);
    }
  });

  test('a clock that is set back makes no delay longer', () => {
    const { clock, rateLimiter } = counting();
    fail(rateLimiter, '192.0.2.1', 12);
    clock.now -= 24 * 3_600_000;
    assert.equal(rateLimiter.failed('192.0.2.1'), 400, 'nothing is forgotten by it');
    clock.now += 60_000;
    assert.equal(rateLimiter.failed('192.0.2.1'), 0, 'and nothing for ever');
  });
});

describe('memory of the rate limiter', () => {
  const rate = { perSecond: 1, burst: 2 };
  const spend = (rateLimiter: ReturnType<typeof createRateLimiter>, key: string) =>
    rateLimiter.take(key, rate, 2).granted;

  test('the rate limiter keeps at most 100,000 buckets, and at least the 50,000 that were used last', () => {
    const { rateLimiter } = counting();
    assert.equal(spend(rateLimiter, 'seen once'), 2);
    assert.equal(spend(rateLimiter, 'seen again and again'), 2);
    for (let key = 0; key < 49_997; key++) spend(rateLimiter, `key ${key}`);
    assert.equal(spend(rateLimiter, 'seen once'), 0);
    for (let key = 0; key < 100_000; key++) {
      spend(rateLimiter, `other ${key}`);
      if (key % 10_000 === 0) assert.equal(spend(rateLimiter, 'seen again and again'), 0, String(key));
    }
    assert.equal(spend(rateLimiter, 'seen once'), 2);
    assert.equal(spend(rateLimiter, 'key 0'), 2);
  });

  test('the rate limiter keeps at most 10,000 failures and keeps those of a client that goes on failing', () => {
    const { rateLimiter } = counting();
    const stranger = (number: number) => `2001:db8:${(number >> 8).toString(16)}:${(number & 255).toString(16)}::1`;
    for (let failure = 0; failure < 20; failure++) rateLimiter.failed('192.0.2.1');
    for (let other = 0; other < 50_000; other++) {
      rateLimiter.failed(stranger(other));
      if (other % 1_000 === 0) assert.equal(rateLimiter.failed('192.0.2.1'), 2_000, String(other));
    }
    for (let other = 0; other < 5_000; other++) rateLimiter.failed(stranger(50_000 + other));
    assert.equal(rateLimiter.failed('192.0.2.1'), 0, 'after 10,000 others');
  });

  test('the rate limiter takes bounded memory for any number of keys', (t) => {
    const { rateLimiter } = counting();
    const before = memoryInUse();
    for (let key = 0; key < 150_000; key++) {
      rateLimiter.take(`account ${2n ** 61n + BigInt(key)}`, rate, 1);
      rateLimiter.failed(`2001:db8:${(key >> 16).toString(16)}:${(key & 65_535).toString(16)}:1:2:3:4`);
    }
    const mebibytes = (memoryInUse() - before) / 2 ** 20;
    t.diagnostic(`${mebibytes.toFixed(1)} MiB`);
    assert.equal(spend(rateLimiter, `account ${2n ** 61n + 149_999n}`), 1);
    assert.ok(mebibytes < 32, `${mebibytes} MiB`);
  });
});

function memoryInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}
