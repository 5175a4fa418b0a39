import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { NO_LOAD, type SendingCounts } from '../../../src/domain/queue/counts.ts';
import { addSendingMetrics } from '../../../src/serve/telemetry/sending-metrics.ts';

const CONNECTOR = {
  name: 'loopback',
  kind: 'loopback',
  config: {},
  origin: 'builtin',
  isDefault: true,
  submissionsMax: 1,
  ratePerSecond: null,
  pausedAt: null,
  downSince: null,
  downReason: null,
  avoidedUntil: null,
  avoidedReason: null,
  counts: { accepted: 4, temporary: 3, permanent: 2, unknownOutcome: 1 },
  lastAcceptedAt: null,
  lastError: null,
  lastErrorAt: null,
  unreadAnswer: null,
  unreadAnswerAt: null,
  sendsReceipts: true,
  updatedAt: 0,
  revision: '',
  ...NO_LOAD,
} as const;
const COUNTS: SendingCounts = {
  due: 7,
  submitting: 6,
  unknownOutcome: 5,
  held: 3,
  routes: [
    {
      ...{
        route: 'za',
        connector: 'loopback',
        accepted: 9,
        temporary: 8,
        permanent: 7,
        unknownOutcome: 6,
        failovers: 5,
      },
    },
  ],
  waiting: 3,
  oldestDueMs: 0,
  unrouted: 0,
  connectors: [CONNECTOR],
  unconnected: [],
};

describe('metrics of sending', () => {
  test('unknown outcomes are published under their name and, for one version, under the former one', async () => {
    const registry = new Registry();
    addSendingMetrics(registry, async () => COUNTS);
    const text = await registry.metrics();
    const values = (metric: string, label: string) =>
      [...text.matchAll(new RegExp(`^${metric}\\{.*\\b${label}="([^"]*)"\\} (\\d+)$`, 'gm'))].map(
        ([, value, count]) => `${value} ${count}`,
      );
    assert.deepEqual(values('columba_sending_messages', 'state'), [
      'due 7',
      'submitting 6',
      'unknown-outcome 5',
      'undecided 5',
    ]);
    assert.deepEqual(values('columba_connector_submissions_total', 'result'), [
      'accepted 4',
      'temporary 3',
      'permanent 2',
      'unknown-outcome 1',
      'unsure 1',
    ]);
  });

  test('metrics of each outbound route count what its connectors accepted, refused by class and left unknown, and its failovers', async () => {
    const registry = new Registry();
    addSendingMetrics(registry, async () => COUNTS);
    const text = await registry.metrics();
    const own = '{route="za",connector="loopback"';
    for (const [result, count] of [
      ['accepted', 9],
      ['temporary', 8],
      ['permanent', 7],
      ['unknown-outcome', 6],
    ]) {
      assert.ok(text.includes(`columba_route_submissions_total${own},result="${result}"} ${count}`), text);
    }
    assert.ok(text.includes(`columba_route_failovers_total${own}} 5`), text);
    assert.ok(text.includes('columba_held_messages 3'), text);
  });
});
