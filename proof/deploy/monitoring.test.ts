import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { stringify } from 'yaml';
import { promtool, testWith } from '../../test/support/peers.ts';
import { ROOT, read } from './formats.ts';

/** Whether the metrics and labels of the queries exist is asked in test/monitoring. Here Prometheus itself reads them. */
describe('examples/monitoring', () => {
  const folder = mkdtempSync(join(tmpdir(), 'columba-monitoring-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  const check = (command: string, kind: 'config' | 'rules', path: string) => {
    const { status, stdout, stderr } = spawnSync(command, ['check', kind, path], {
      encoding: 'utf8',
      timeout: 120_000,
    });
    return { status, text: stdout + stderr };
  };
  const checkQueries = (command: string, queries: readonly string[]) => {
    const path = join(folder, 'queries.yaml');
    const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr }));
    writeFileSync(path, stringify({ groups: [{ name: 'queries', rules }] }));
    return check(command, 'rules', path);
  };

  testWith(promtool(), 'promtool accepts the scrape configuration and its rules', async (command) => {
    const { status, text } = check(command, 'config', join(ROOT, 'examples/monitoring/prometheus.yaml'));
    assert.equal(status, 0, text);
    assert.match(text, /SUCCESS: \d+ rules found/);
  });

  testWith(promtool(), 'promtool accepts every query of the dashboard', async (command) => {
    const { panels }: { panels: { targets: { expr: string }[] }[] } = JSON.parse(
      read('examples/monitoring/dashboard.json'),
    );
    // Grafana puts its own length of time there.
    const queries = panels.flatMap(({ targets }) =>
      targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')),
    );
    assert.ok(queries.length > 20, String(queries.length));
    const { status, text } = checkQueries(command, queries);
    assert.equal(status, 0, text);
    assert.ok(text.includes(`SUCCESS: ${queries.length} rules found`), text);
  });

  testWith(promtool(), 'promtool refuses a query that is wrong', async (command) => {
    assert.equal(checkQueries(command, ['rate(columba_requests_total)']).status, 1);
  });
});
