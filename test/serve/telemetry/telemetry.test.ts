import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { openSync } from 'node:fs';
import { describe, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/config/settings.ts';
import { createAccountLabel } from '../../../src/serve/telemetry/access-log.ts';
import { createLog } from '../../../src/serve/telemetry/log.ts';
import { createLogStream } from '../../../src/serve/telemetry/log-stream.ts';
import { createTelemetry, tracesAreWanted } from '../../../src/serve/telemetry/telemetry.ts';
import { columba, freshDatabase, freshPath } from '../../support/command.ts';

describe('the variables of OpenTelemetry', () => {
  const CASES: [environment: Record<string, string>, isWanted: boolean][] = [
    [{}, false],
    [{ OTEL_SERVICE_NAME: 'sms' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector.example:4318/v1/traces' }, true],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector.example:4318/v1/metrics' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console, otlp' }, true],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' }, false],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' }, false],
    [{ OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'otlp' }, false],
    [{ OTEL_SDK_DISABLED: 'false', OTEL_TRACES_EXPORTER: 'otlp' }, true],
  ];
  for (const [environment, isWanted] of CASES) {
    test(`with ${JSON.stringify(environment)} ${isWanted ? 'spans are sent' : 'no spans are made'}`, () =>
      assert.equal(tracesAreWanted(environment), isWanted));
  }
});

describe('telemetry that is switched off', () => {
  for (const [level, isLogged] of [
    ['trace', true],
    ['info', true],
    ['warn', false],
    ['silent', false],
  ] as const) {
    test(`at log level ${level} calls are ${isLogged ? '' : 'not '}observed, and statements are not`, async () => {
      const output = createLogStream(false, systemClock, openSync(freshPath('log'), 'w'));
      const { observe, observeStatement } = await createTelemetry(readConfig({}), {
        log: createLog(level, output),
        output,
        clock: systemClock,
        environment: {},
        isWorker: false,
        sources: {
          engine: 'sqlite',
          responseCache: () => ({ hits: 0, misses: 0, bytes: 0 }),
          traffic: () => undefined,
        },
        messageCounts: () => assert.fail('nobody asked'),
      });
      assert.deepEqual([observe !== undefined, observeStatement], [isLogged, undefined]);
    });
  }
});

describe('names of accounts', () => {
  const hmac = (account: bigint) => createHmac('sha256', 'key').update(String(account)).digest('hex').slice(0, 12);

  test('the log name of an account stays the same after more accounts than are cached', () => {
    const label = createAccountLabel('key');
    const accounts = Array.from({ length: 10_500 }, (_, number) => BigInt(number) << 32n);
    for (const account of [...accounts, ...accounts.slice(0, 10)]) assert.equal(label(account), hmac(account));
  });

  test('the log name of an account is different under another COLUMBA_LOG_KEY', () => {
    const labels = ['key', 'other', '', ''].map((key) => createAccountLabel(key)(1n));
    assert.equal(new Set(labels).size, 4);
  });
});

describe('settings', () => {
  test('COLUMBA_LOG_KEY is not shown', async () => {
    const env = { COLUMBA_DATABASE: freshDatabase(), COLUMBA_LOG_KEY: 'marzipan' };
    assert.equal((await columba(['account', 'add', 'a'], { env })).code, 0);
    const { code, stdout, stderr } = await columba(['check', '--settings'], { env });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^COLUMBA_LOG_KEY=…$/m);
    assert.doesNotMatch(stdout + stderr, /marzipan/);
  });

  const PORTS: [given: string, port: number | RegExp][] = [
    ['', 0],
    ['0', 0],
    ['9464', 9464],
    ['65536', /COLUMBA_METRICS_PORT: expected a whole number from 0 to 65535/],
    ['on', /COLUMBA_METRICS_PORT: expected a whole number/],
  ];
  for (const [given, port] of PORTS) {
    test(`COLUMBA_METRICS_PORT=${given} is ${typeof port === 'number' ? port : 'refused'}`, () => {
      const reading = () => readConfig({ COLUMBA_METRICS_PORT: given }).metricsPort;
      if (typeof port === 'number') assert.equal(reading(), port);
      else assert.throws(reading, port);
    });
  }
});
