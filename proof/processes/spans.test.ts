import assert from 'node:assert/strict';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { systemClock } from '../../src/base/clock.ts';
import { createLogStream } from '../../src/serve/telemetry/log-stream.ts';
import { unavailable } from '../../src/store/unavailable.ts';
import { freshPath } from '../../test/support/command.ts';
import { type Engine, engines, onEveryEngine } from '../../test/support/engines.ts';
import { until } from '../../test/support/program.ts';
import { type Arguments, type Protocol, requestOf } from '../../test/support/protocols.ts';
import { ACME } from '../../test/support/service.ts';
import { serve } from '../../test/support/serving.ts';
import {
  type Collector,
  type ObservedServer,
  type Span,
  startCollector,
  withObservedServer,
} from '../../test/support/telemetry-output.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const [SERVER, CLIENT] = [2, 3];
const [UNSET, ERROR] = [0, 2];

async function call(
  address: string,
  operation: string,
  args: Arguments = {},
  { group = 'inbox', form = 'get' as Protocol, traceparent = '' } = {},
): Promise<Response> {
  const { method, path, query, headers, bytes } = requestOf(form, group, operation, { user_id: ACME, ...args });
  const fields = {
    ...(headers as Record<string, string>),
    ...(traceparent && { traceparent }),
    'X-Request-Id': operation,
  };
  const answer = await fetch(`${address}${path}${query && `?${query}`}`, {
    method,
    headers: fields,
    ...(bytes && { body: bytes }),
  });
  await answer.arrayBuffer();
  return answer;
}

/** Serves with a collector to send spans to, and gives what came there in the end. */
async function collected(
  engine: Engine,
  work: (server: ObservedServer) => Promise<void>,
  env: Record<string, string> = {},
): Promise<{ spans: Span[]; collector: Collector; server: ObservedServer }> {
  const collector = await startCollector();
  const server = await withObservedServer(
    engine,
    { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.address, ...env } },
    work,
  );
  return { spans: collector.spans(), collector, server };
}

const childrenOf = (spans: readonly Span[], { spanId }: Span) => spans.filter((span) => span.parentSpanId === spanId);
const requests = (spans: readonly Span[]) => spans.filter(({ kind }) => kind === SERVER);

onEveryEngine('spans', (engine) => {
  test('a call is one span, a child of the span that the client names, with the spans of its statements below it', async () => {
    const { spans, collector, server } = await collected(engine, async ({ address }) => {
      await call(address, 'Unread', { max_count: 2 }, { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` });
    });
    assert.deepEqual([...new Set(collector.paths)], ['POST /v1/traces application/json']);
    const [span] = requests(spans) as [Span];
    assert.deepEqual([span.name, span.traceId, span.parentSpanId], ['inbox.Unread', TRACE_ID, SPAN_ID]);
    assert.equal(span.status.code, UNSET);
    assert.deepEqual(span.attributes, {
      'rpc.service': 'inbox',
      'rpc.method': 'Unread',
      'http.request.method': 'GET',
      'http.route': '/api/inbox.asmx/Unread',
      'http.response.status_code': 200,
      'client.address': '127.0.0.1',
      'columba.form': 'get',
      'columba.kind': 'ok',
      'columba.request_id': 'Unread',
      'columba.account': server.calls()[0]?.account,
    });
    const below = childrenOf(spans, span);
    assert.equal(spans.length, below.length + 1);
    assert.ok(below.some(({ name }) => name === 'inbox.unread'));
    for (const { name, kind, traceId, attributes } of below) {
      assert.deepEqual([kind, traceId], [CLIENT, TRACE_ID]);
      const system = engine.name === 'postgres' ? 'postgresql' : 'sqlite';
      assert.deepEqual(attributes, { 'db.system.name': system, 'db.query.summary': name });
    }
    assert.equal(server.calls()[0]?.trace_id, TRACE_ID);
  });

  test('a transaction is one span, with the spans of its statements below it', async () => {
    const { spans } = await collected(engine, async ({ address }) => {
      await call(address, 'DeleteScheduledMessage', { message_id: '3001' }, { group: 'compose', form: 'soap12' });
    });
    const [span] = requests(spans) as [Span];
    assert.equal(span.attributes['http.route'], '/api/compose.asmx');
    const transaction = childrenOf(spans, span).find(({ name }) => name === 'transaction') ?? assert.fail('none');
    assert.deepEqual(
      childrenOf(spans, transaction).map(({ name }) => name),
      [
        'outbox.deleteScheduled',
        ...['balances', 'takeNumbers', 'setBalances', 'addMovement'].map((each) => `ledger.${each}`),
      ],
    );
  });

  test('a call begins a trace of its own if the client names none, and its log line names the trace', async () => {
    const { spans, server } = await collected(engine, async ({ address }) => {
      for (const traceparent of ['', 'nonsense', `00-${'0'.repeat(32)}-${SPAN_ID}-01`]) {
        await call(address, 'CountUnread', {}, { traceparent });
      }
    });
    const own = requests(spans);
    assert.deepEqual(
      own.map(({ parentSpanId }) => parentSpanId),
      [undefined, undefined, undefined],
    );
    const ids = own.map(({ traceId }) => traceId);
    assert.equal(new Set(ids).size, 3);
    assert.deepEqual(
      server.calls().map(({ trace_id }) => trace_id),
      ids,
    );
  });

  test('no span is made for health checks, nor for calls that the client or the variables exclude', async () => {
    const unsampled = `00-${TRACE_ID}-${SPAN_ID}-00`;
    const first = await collected(engine, async ({ address }) => {
      for (const path of ['/health/live', '/health/ready']) await fetch(address + path);
      await call(address, 'CountUnread', {}, { traceparent: unsampled });
    });
    assert.deepEqual(first.spans, []);
    assert.equal(first.server.calls()[0]?.trace_id, TRACE_ID);
    const second = await collected(engine, ({ address }) => call(address, 'CountUnread').then(() => {}), {
      OTEL_TRACES_SAMPLER: 'always_off',
    });
    assert.deepEqual(second.spans, []);
  });

  test('the span of a mistake of the client has its kind and is no error, and spans of pages are named as such', async () => {
    const { spans } = await collected(engine, async ({ address }) => {
      await call(address, 'CountUnread', { user_id: 'nobody' });
      await call(address, 'Nope');
      await fetch(`${address}/api/inbox.asmx?wsdl`);
      await fetch(`${address}/nowhere?user_id=${ACME}`, { method: 'PROPFIND' });
    });
    const told = requests(spans).map(({ name, attributes, status }) => [
      ...[name, attributes['columba.kind'], attributes['error.type'], attributes['http.request.method'], status.code],
    ]);
    assert.deepEqual(told, [
      ['inbox.CountUnread', 'denied', 'denied', 'GET', UNSET],
      ['inbox', 'unknown-operation', 'unknown-operation', 'GET', UNSET],
      ['inbox', 'ok', undefined, 'GET', UNSET],
      ['page', 'unknown-operation', 'unknown-operation', '_OTHER', UNSET],
    ]);
  });
});

describe('the variables of OpenTelemetry', () => {
  const engine = engines[0] as Engine;
  test('spans have the name of the service', async () => {
    const plain = await collected(engine, ({ address }) => call(address, 'CountUnread').then(() => {}));
    assert.match(plain.collector.bodies[0] ?? '', /"service\.name","value":\{"stringValue":"columba"\}/);
    const named = await collected(engine, ({ address }) => call(address, 'CountUnread').then(() => {}), {
      OTEL_SERVICE_NAME: 'sms',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    assert.match(named.collector.bodies[0] ?? '', /"service\.name","value":\{"stringValue":"sms"\}/);
    assert.match(named.collector.bodies[0] ?? '', /"deployment\.environment\.name","value":\{"stringValue":"test"\}/);
  });

  /** A file that writes down what Node loads. */
  function recording(): { env: Record<string, string>; loaded: () => string } {
    const [hook, list] = [freshPath('mjs'), freshPath('txt')];
    writeFileSync(list, '');
    writeFileSync(
      hook,
      `import { appendFileSync } from 'node:fs';
       import { registerHooks } from 'node:module';
       registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context); } });`,
    );
    return {
      env: { NODE_OPTIONS: `--import ${pathToFileURL(hook).href}` },
      loaded: () => readFileSync(list, 'utf8'),
    };
  }

  test('without the variables nothing of OpenTelemetry is loaded, and without a metrics port nothing of Prometheus', async () => {
    const plain = recording();
    const ask = async ({ address }: ObservedServer) => void (await call(address, 'CountUnread'));
    await withObservedServer(engine, { env: plain.env }, ask);
    assert.match(plain.loaded(), /src\/serve\/telemetry\/telemetry\.ts/);
    assert.doesNotMatch(plain.loaded(), /opentelemetry|prom-client|src\/serve\/telemetry\/(spans|metrics)\.ts/);
    const traced = recording();
    await collected(engine, ask, traced.env);
    assert.match(traced.loaded(), /@opentelemetry\/sdk-trace-base/);
    assert.doesNotMatch(traced.loaded(), /prom-client/);
  });

  for (const [what, start] of [
    ['is not there', async () => 'http://127.0.0.1:9'],
    ['fails', async () => (await startCollector(400)).address],
  ] as const) {
    test(`a collector that ${what} delays neither calls nor the end of the program, and is logged once`, async () => {
      const times = { OTEL_BSP_SCHEDULE_DELAY: '20', OTEL_EXPORTER_OTLP_TIMEOUT: '500' };
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: await start(), ...times };
      const { lines, ended } = await withObservedServer(engine, { env }, async ({ address, lines }) => {
        assert.equal((await call(address, 'CountUnread')).status, 200);
        const told = () => lines().some(({ msg }) => msg === 'spans could not be sent');
        await until('it is told of', told);
        for (const _ of Array(5)) assert.equal((await call(address, 'CountUnread')).status, 200);
      });
      assert.equal((await ended).code, 0);
      const warnings = lines().filter(({ level }) => level > 30);
      assert.deepEqual([warnings.length, warnings[0]?.level], [1, 40]);
    });
  }
});

onEveryEngine('spans of our own failures', (engine) => {
  const FAILURES: [kind: string, thrown: () => Error][] = [
    ['internal', () => new Error('on purpose')],
    ['unavailable', () => unavailable(new Error('on purpose'))],
  ];
  for (const [kind, thrown] of FAILURES) {
    test(`a failure of kind ${kind} is an error of the span of its call and of its statement, and neither span has details`, async (t) => {
      const collector = await startCollector();
      process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.address; // the exporter looks nowhere else
      t.after(() => delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
      const { app, call: ask } = await serve(await engine.fresh('sample'), {
        telemetry: {
          output: createLogStream(false, systemClock, openSync(freshPath('log'), 'w')),
          environment: process.env,
        },
        database: (opened) => ({ ...opened, first: () => Promise.reject(thrown()) }),
      });
      await ask('account', 'Profile');
      await app.stop();
      const [span] = requests(collector.spans()) as [Span];
      assert.deepEqual([span.name, span.status], ['account.Profile', { code: ERROR, message: kind }]);
      const statement = childrenOf(collector.spans(), span).at(-1) as Span;
      assert.deepEqual([statement.name, statement.status], ['accounts.account', { code: ERROR }]);
      assert.doesNotMatch(collector.bodies.join(), /on purpose/);
    });
  }
});
