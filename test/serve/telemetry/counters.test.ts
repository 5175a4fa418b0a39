import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Counter as PromCounter, Histogram as PromHistogram, Registry } from 'prom-client';
import { Counter, counterMetric, Histogram, histogramMetric } from '../../../src/serve/telemetry/counters.ts';
import { addMessageCounts } from '../../../src/serve/telemetry/metrics.ts';
import { parseMetrics } from '../../support/telemetry-output.ts';

const ONE = { name: 'one', help: 'One.' };
const BOUNDS = [0.0005, 0.01, 1, 10];

const seconds = fc.oneof(fc.double({ min: 0, max: 20, noNaN: true }), fc.constantFrom(0, ...BOUNDS, 10.000001));
const labels = fc.record({ group: fc.constantFrom('inbox', 'sent'), form: fc.constantFrom('get', 'a"b\\c\nd') });

describe('metrics that are counted in plain numbers', () => {
  test('a histogram is written like one of prom-client with the same values', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(labels, seconds), { maxLength: 50 }), async (told) => {
        const [theirs, ours] = [new Registry(), new Registry()];
        const known = new Map<string, Histogram>();
        const histogram = new PromHistogram({
          ...ONE,
          labelNames: ['group', 'form'],
          buckets: BOUNDS,
          registers: [theirs],
        });
        ours.registerMetric(histogramMetric(ONE, () => known.values()));
        for (const [each, value] of told) {
          histogram.observe(each, value);
          const key = JSON.stringify(each);
          const own = known.get(key) ?? new Histogram(each, BOUNDS);
          known.set(key, own);
          own.observe(value);
        }
        assert.deepEqual(parseMetrics(await ours.metrics()), parseMetrics(await theirs.metrics()));
        assert.deepEqual((await ours.metrics()).split('\n')[1], (await theirs.metrics()).split('\n')[1]);
      }),
    );
  });

  test('a counter is written as prom-client writes it', async () => {
    const [theirs, ours] = [new Registry(), new Registry()];
    const counter = new PromCounter({ ...ONE, labelNames: ['group'], registers: [theirs] });
    const count = new Counter({ group: 'inbox' });
    ours.registerMetric(counterMetric(ONE, () => [count]));
    for (const _ of Array(5)) {
      counter.inc({ group: 'inbox' });
      count.value += 1;
    }
    assert.equal(await ours.metrics(), await theirs.metrics());
  });
});

describe('counts of the database', () => {
  test('metrics leave out the counts of the database while it does not answer, and contain the rest', async () => {
    const registry = new Registry();
    let counts = async () => ({ unread: 1, read: 2, scheduled: 3, toPurge: 4 });
    addMessageCounts(registry, () => counts());
    registry.registerMetric(counterMetric(ONE, () => [{ labels: {}, value: 5 }]));
    const names = async () => parseMetrics(await registry.metrics()).map(({ name, value }) => `${name} ${value}`);
    const all = ['columba_messages 1', 'columba_messages 2', 'columba_messages 3', 'columba_purge_backlog_accounts 4'];
    assert.deepEqual(await names(), [...all, 'one 5']);
    const good = counts;
    counts = () => Promise.reject(new Error('on purpose'));
    assert.deepEqual(await names(), ['one 5']);
    counts = good;
    assert.deepEqual(await names(), [...all, 'one 5']);
  });
});
