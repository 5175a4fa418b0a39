import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import type { ProblemKind } from '../../src/base/problem.ts';
import { settings } from '../../src/config/settings.ts';
import { createCarrierOddities, odditiesMetric } from '../../src/serve/telemetry/carrier-oddities.ts';
import { addSendingMetrics } from '../../src/serve/telemetry/sending-metrics.ts';
import { type Engine, engines } from '../support/engines.ts';
import { freePort } from '../support/free-port.ts';
import { requestOf } from '../support/protocols.ts';
import { ACME } from '../support/service.ts';
import { metricsText, parseMetrics, type Sample, withObservedServer } from '../support/telemetry-output.ts';
import { parseQuery } from './promql.ts';

/** What examples/monitoring asks Prometheus for is what the service tells it. */
const read = (file: string): string =>
  readFileSync(new URL(`../../examples/monitoring/${file}`, import.meta.url), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

const rules: Rule[] = parse(read('rules.yaml')).groups.flatMap((group: { rules: Rule[] }) => group.rules);
const dashboard: { title: string; uid: string; panels: Panel[] } = JSON.parse(read('dashboard.json'));
const prometheus = parse(read('prometheus.yaml'));
const queries: [where: string, query: string][] = [
  ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }): [string, string] => [title, expr])),
];

const KINDS = ['internal', 'unavailable'] satisfies ProblemKind[] as string[];

/** Labels that Prometheus itself adds to all that it gets. */
const ADDED = ['job', 'instance'];

const counts = { accepted: 1, temporary: 0, permanent: 0, unknownOutcome: 0, failovers: 0 };
/** Of a service with an outbound route and an odd carrier, which a new one does not have. */
async function metricsOfARoute(): Promise<string> {
  const registry = new Registry();
  const routes = [{ route: 'za', connector: 'loopback', ...counts }];
  const sending = { due: 0, submitting: 0, unknownOutcome: 0, held: 0, waiting: 0, oldestDueMs: 0, unrouted: 0 };
  const oddities = createCarrierOddities();
  oddities.count('loopback', 'unread');
  registry.registerMetric(odditiesMetric(oddities.counters));
  addSendingMetrics(registry, async () => ({ ...sending, routes, connectors: [], unconnected: [] }));
  return registry.metrics();
}

describe('examples/monitoring', () => {
  let samples: Sample[] = [];
  let types: ReadonlyMap<string, string>;
  before(async () => {
    const port = await freePort();
    const target = mkdtempSync(join(tmpdir(), 'columba-target-'));
    after(() => rmSync(target, { recursive: true, force: true }));
    const watching = { args: ['--metrics-port', String(port), '--backup', `file:${target}`] };
    await withObservedServer(engines[0] as Engine, watching, async ({ address }) => {
      for (const operation of ['CountUnread', 'Nope']) {
        const { path, query } = requestOf('get', 'inbox', operation, { user_id: ACME });
        await fetch(`${address}${path}?${query}`);
      }
      const text = await metricsText(port);
      samples = [...parseMetrics(text), ...parseMetrics(await metricsOfARoute())];
      types = new Map(
        [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name as string, type as string]),
      );
    });
  });

  const labelsOf = (metric: string): Set<string> =>
    new Set(samples.filter(({ name }) => name === metric).flatMap(({ labels }) => Object.keys(labels)));
  const typeOf = (metric: string): string | undefined =>
    types.get(metric) ?? types.get(metric.replace(/_(bucket|sum|count)$/, ''));

  for (const [where, query] of queries) {
    test(`${where} uses metrics and labels that exist: ${query.slice(0, 60)}`, () => {
      const { selected, grouped } = parseQuery(query);
      for (const { metric, matchers, isRange } of selected) {
        if (metric === 'up') continue; // Prometheus's own
        const known = [...labelsOf(metric), ...ADDED];
        assert.ok(
          samples.some(({ name }) => name === metric),
          metric,
        );
        for (const label of [...grouped, ...matchers.map((each) => each.label)]) {
          assert.ok(known.includes(label), `${metric} has no label ${label}`);
        }
        const isGauge = typeOf(metric) === 'gauge';
        if (isRange) assert.ok(!isGauge || /_over_time\(/.test(query), `${metric} is a gauge`);
        else assert.ok(isGauge, `${metric} only grows: without rate it says nothing`);
        for (const { label, operator, value } of matchers) {
          if (label === 'kind' && metric === 'columba_requests_total') {
            for (const kind of operator === '=~' ? value.split('|') : [value]) assert.ok(KINDS.includes(kind), kind);
          }
          if (label === 'quantile')
            assert.ok(
              samples.some(({ labels }) => labels.quantile === value),
              value,
            );
        }
      }
    });
  }

  test('the dashboard has every metric of Columba', () => {
    const asked = new Set(queries.flatMap(([, query]) => parseQuery(query).selected.map(({ metric }) => metric)));
    // Names of an earlier version, which are there for one more version, are columba_kept_….
    const own = [...types.keys()].filter((name) => /^columba_(?!kept_)/.test(name));
    assert.ok(own.length > 12);
    const missing = own.filter((name) => ![name, `${name}_bucket`, `${name}_count`].some((each) => asked.has(each)));
    assert.deepEqual(missing, []);
  });

  test('every alert has a name of its own, a severity, and a sentence that names labels which it has', () => {
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    for (const { alert, expr, labels, annotations, for: time } of rules) {
      assert.match(alert, /^Columba[A-Z]\w+$/);
      assert.match(labels.severity ?? '', /^(critical|warning)$/, alert);
      if (time !== undefined) assert.match(time, /^\d+[mh]$/, alert);
      const { grouped, selected } = parseQuery(expr);
      const kept = /^(sum|min|max|histogram_quantile)\b/.test(expr)
        ? grouped
        : [...ADDED, ...selected.flatMap(({ metric }) => [...labelsOf(metric)])];
      for (const [, label] of (annotations.summary ?? assert.fail(alert)).matchAll(/\$labels\.(\w+)/g)) {
        assert.ok(kept.includes(label as string), `${alert}: ${label}`);
      }
    }
  });

  test('the rules have the alerts that an operator needs', () => {
    const asked = rules.map(({ expr }) => expr).join('\n');
    for (const needed of [
      ...[/\bup\{/, /kind="internal"/, /kind="unavailable"/, /columba_refused_requests_total/, /credential_failures/],
      ...[/request_duration_seconds_bucket/, /event_loop_delay_seconds/, /purge_backlog/, /rate\(.*\) == 0/],
    ]) {
      assert.match(asked, needed);
    }
  });

  test('the scrape configuration names the rules, and the job that queries use', () => {
    assert.deepEqual(prometheus.rule_files, ['rules.yaml']);
    const [job] = prometheus.scrape_configs;
    const jobs = queries.flatMap(([, query]) => parseQuery(query).selected.flatMap(({ matchers }) => matchers));
    for (const { label, value } of jobs) if (label === 'job') assert.equal(value, job.job_name);
    const [host, port] = job.static_configs[0].targets[0].split(':');
    assert.equal(host, settings.metricsHost.fallback);
    assert.ok(
      readFileSync(new URL('../../docs/MONITORING.md', import.meta.url), 'utf8').includes(
        `COLUMBA_METRICS_PORT=${port}`,
      ),
    );
  });

  test('the panels of the dashboard do not lie on one another, and each query has a name', () => {
    assert.deepEqual([dashboard.title, dashboard.uid], ['Columba', 'columba']);
    const { panels } = dashboard;
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    for (const [index, { gridPos: a, targets, title }] of panels.entries()) {
      assert.ok(a.x + a.w <= 24 && targets.length > 0, title);
      for (const { refId, legendFormat } of targets) assert.ok(/^[A-Z]$/.test(refId) && legendFormat !== '', title);
      for (const { gridPos: b, title: other } of panels.slice(index + 1)) {
        const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        assert.ok(apart, `${title} and ${other}`);
      }
    }
  });
});
