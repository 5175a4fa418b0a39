import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseQuery } from './promql.ts';

/** The reader of queries finds what is wrong with them, so that a query that it reads is right. */
describe('queries', () => {
  const RIGHT = [
    'up == 0',
    'sum by (kind) (rate(a_total{kind=~"x|y", form!="get"}[5m])) / sum(rate(a_total[5m])) > 0.01',
    'histogram_quantile(0.99, sum(rate(a_bucket[1h30m])) by (le))',
    'topk(10, -(a + b) * 1e-3 ^ 2) and on_fire unless c',
    'rate(a_total[$__rate_interval])',
    'time() - a',
  ];
  for (const query of RIGHT)
    test(`the PromQL reader accepts ${query}`, () => assert.ok(parseQuery(query).selected.length > 0));

  const WRONG = [
    ...['', 'a b', 'sum(a', 'sum(a))', '(a', 'a{', 'a{b}', 'a{b="c"', 'a{b==c}', 'a{b=c}', 'a[5]', 'a[5m'],
    ...['a[5m]', 'rate(a)', 'sum(a[5m])', 'a[5m] + b', 'rates(a[5m])', 'sum by kind (a)', 'sum by (kind,) a', 'a +'],
    ...['a > > b', '"text', 'a & b', 'histogram_quantile(0.9, a_bucket[5m])', 'a ? b', 'sum by (1) (a)', 'rate()'],
  ];
  for (const query of WRONG)
    test(`the PromQL reader refuses ${query}`, () => assert.throws(() => parseQuery(query), Error));

  test('the PromQL reader names the metrics and labels of a query', () => {
    const { selected, grouped } = parseQuery('sum by (le, kind) (rate(a_bucket{kind="x"}[5m])) > b');
    assert.deepEqual(grouped, ['le', 'kind']);
    assert.deepEqual(selected, [
      { metric: 'a_bucket', matchers: [{ label: 'kind', operator: '=', value: 'x' }], isRange: true },
      { metric: 'b', matchers: [], isRange: false },
    ]);
  });
});
