import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import { columba } from '../../test/support/command.ts';
import { type Engine, onEveryEngine } from '../../test/support/engines.ts';
import { freePort } from '../../test/support/free-port.ts';
import { until } from '../../test/support/program.ts';
import { type Arguments, PROTOCOLS, type Protocol, requestOf } from '../../test/support/protocols.ts';
import { ACME } from '../../test/support/service.ts';
import { CALLS } from '../../test/support/serving.ts';
import {
  metricsText,
  type ObservedServer,
  type Sample,
  sampleOf,
  scrape,
  withObservedServer,
} from '../../test/support/telemetry-output.ts';

const withMetrics = async (
  engine: Engine,
  work: (server: ObservedServer, port: number) => Promise<void>,
  args: readonly string[] = [],
): Promise<void> => {
  const port = await freePort();
  await withObservedServer(engine, { args: ['--metrics-port', String(port), ...args] }, (server) => work(server, port));
};

/** The bytes of the answer's body, as they came over the wire where nothing unpacks them. */
async function call(
  address: string,
  form: Protocol,
  group: string,
  operation: string,
  args: Arguments,
): Promise<number> {
  const { method, path, query, headers, bytes } = requestOf(form, group, operation, args);
  const given = { ...(headers as Record<string, string>), 'Accept-Encoding': 'identity' };
  const target = `${address}${path}${query && `?${query}`}`;
  const answer = await fetch(target, { method, headers: given, ...(bytes && { body: bytes }) });
  return (await answer.arrayBuffer()).byteLength;
}

const named = (samples: readonly Sample[], name: string) => samples.filter((sample) => sample.name === name);
const sum = (samples: readonly Sample[]) => samples.reduce((total, { value }) => total + value, 0);

onEveryEngine('metrics', (engine) => {
  test('requests are counted by group, operation, protocol and kind, and their durations and bytes are summed', async () => {
    await withMetrics(engine, async ({ address }, port) => {
      let bytes = 0;
      for (const form of PROTOCOLS) {
        for (const [group, operation, args] of CALLS) {
          bytes += await call(address, form, group, operation, { user_id: ACME, ...args });
        }
        bytes += await call(address, form, 'inbox', 'CountUnread', { user_id: 'nobody' });
      }
      const samples = await scrape(port);
      for (const form of PROTOCOLS) {
        for (const [group, operation] of CALLS) {
          const labels = { group, operation, form };
          assert.equal(
            sampleOf(samples, 'columba_requests_total', { ...labels, kind: 'ok' }),
            1,
            `${operation} ${form}`,
          );
          const refused = operation === 'CountUnread' ? 1 : 0;
          assert.equal(sampleOf(samples, 'columba_request_duration_seconds_count', labels), 1 + refused);
          assert.ok(sampleOf(samples, 'columba_request_duration_seconds_sum', labels) > 0);
        }
      }
      assert.equal(sum(named(samples, 'columba_requests_total')), PROTOCOLS.length * (CALLS.length + 1));
      assert.equal(sampleOf(samples, 'columba_credential_failures_total'), PROTOCOLS.length);
      assert.equal(sampleOf(samples, 'columba_response_bytes_total'), bytes);
    });
  });

  test('no label has a value that a client has invented', async () => {
    await withMetrics(engine, async ({ address }, port) => {
      const strange = [
        'Nope',
        'countunread',
        'toString',
        '__proto__',
        'a"b',
        'CountUnread%00',
        '../../test/serve',
        'x'.repeat(500),
      ];
      for (const name of strange) {
        for (const form of PROTOCOLS) await call(address, form, 'inbox', name, { user_id: ACME });
        await fetch(`${address}/${name}`);
        await fetch(`${address}/api/${name}.asmx/${name}`, { method: 'POST' });
        await fetch(`${address}/api/inbox.asmx/CountUnread?${name}=${name}`, { headers: { 'X-Request-Id': name } });
      }
      for (const method of ['PUT', 'DELETE', 'PROPFIND']) await fetch(`${address}/api/inbox.asmx/Unread`, { method });
      const samples = named(await scrape(port), 'columba_requests_total');
      const strangers = (label: string, known: readonly string[]) =>
        samples.map(({ labels }) => labels[label] ?? '').filter((value) => !known.includes(value));
      const operations = Object.values(contract).flatMap((group) => Object.keys(group));
      assert.deepEqual(strangers('group', [...Object.keys(contract), 'none']), []);
      assert.deepEqual(strangers('operation', [...operations, 'unknown', 'none']), []);
      assert.deepEqual(strangers('form', [...PROTOCOLS, 'none']), []);
      assert.ok(sampleOf(samples, 'columba_requests_total', { operation: 'unknown', kind: 'unknown-operation' }) > 0);
      assert.ok(sampleOf(samples, 'columba_requests_total', { operation: 'Unread', kind: 'method' }) > 0);
    });
  });

  test('the buckets of a histogram add up, from 0.5 ms to 10 s', async () => {
    await withMetrics(engine, async ({ address }, port) => {
      for (const _ of Array(20)) await call(address, 'get', 'account', 'Profile', { user_id: ACME });
      const samples = await scrape(port);
      const buckets = named(samples, 'columba_request_duration_seconds_bucket');
      assert.deepEqual(
        [buckets[0]?.labels.le, buckets.at(-2)?.labels.le, buckets.at(-1)?.labels.le],
        ['0.0005', '10', '+Inf'],
      );
      const counts = buckets.map(({ value }) => value);
      assert.deepEqual(
        counts,
        counts.toSorted((a, b) => a - b),
      );
      assert.equal(counts.at(-1), 20);
      assert.equal(sampleOf(samples, 'columba_request_duration_seconds_count'), 20);
    });
  });

  test('statements of the database are timed: reads, writes and transactions', async () => {
    await withMetrics(engine, async ({ address }, port) => {
      const countOf = async (kind: string) => {
        const labels = { engine: engine.name, kind };
        return sampleOf(await scrape(port), 'columba_database_seconds_count', labels);
      };
      const steps: [kind: string, group: string, operation: string, args: Arguments][] = [
        ['read', 'account', 'Profile', {}],
        ['write', 'inbox', 'MarkMessageAsRead', { message_id: '1003' }],
        ['transaction', 'compose', 'DeleteScheduledMessage', { message_id: '3001' }],
      ];
      for (const [kind, group, operation, args] of steps) {
        const before = await countOf(kind);
        await call(address, 'post', group, operation, { user_id: ACME, ...args });
        assert.ok((await countOf(kind)) > before, kind);
      }
      assert.ok(sampleOf(await scrape(port), 'columba_database_seconds_sum', { kind: 'read' }) > 0);
    });
  });

  test('metrics have cached answers, open connections, totals of the database and the version', async () => {
    await withMetrics(engine, async ({ address }, port) => {
      const ask = () => call(address, 'get', 'account', 'Profile', { user_id: ACME });
      await ask();
      // PostgreSQL is asked for the version after the answer has left.
      await until(
        'the response is cached',
        async () => sampleOf(await scrape(port), 'columba_response_cache_bytes') > 0,
      );
      for (const _ of Array(4)) await ask();
      const samples = await scrape(port);
      assert.equal(sampleOf(samples, 'columba_response_cache_hits_total'), 4);
      assert.equal(sampleOf(samples, 'columba_response_cache_misses_total'), 1);
      assert.ok(sampleOf(samples, 'columba_response_cache_bytes') > 500);
      const unsent = ['columba_unsent_bytes', 'columba_unsent_refused_total'].map((name) => named(samples, name));
      assert.deepEqual(
        unsent.map(([sample]) => sample?.value),
        [0, 0],
      );
      const states = named(samples, 'columba_messages').map(({ labels, value }) => [labels.state, value]);
      assert.deepEqual(Object.fromEntries(states), { unread: 5, read: 2, scheduled: 3 });
      assert.equal(named(samples, 'columba_purge_backlog_accounts')[0]?.value, 0);
      const { version, node } = named(samples, 'columba_build_info')[0]?.labels ?? {};
      assert.match(`${version} ${node}`, /^\d+\.\d+\.\d+ v\d+\.\d+\.\d+$/);
      const quantiles = named(samples, 'columba_event_loop_delay_seconds');
      assert.deepEqual(
        quantiles.map(({ labels }) => labels.quantile),
        ['0.5', '0.99', '1'],
      );
      for (const { value } of quantiles) assert.ok(value >= 0 && value < 60, String(value));
      assert.ok(sampleOf(samples, 'process_cpu_seconds_total') > 0);
      assert.ok(sampleOf(samples, 'process_resident_memory_bytes') > 1e6);

      const { hostname, port: service } = new URL(address);
      const before = sampleOf(await scrape(port), 'columba_connections_open');
      const sockets = await Promise.all(
        Array.from({ length: 7 }, async () => {
          const socket = connect(Number(service), hostname);
          await once(socket, 'connect');
          return socket;
        }),
      );
      const openNow = async () => sampleOf(await scrape(port), 'columba_connections_open');
      await until('all connections are counted', async () => (await openNow()) === before + 7);
      for (const socket of sockets) socket.destroy();
      await until('they are gone', async () => (await openNow()) <= before);
    });
  });

  test('metrics of several processes are summed, and do not decrease when a process ends', async () => {
    const countOf = async (port: number) => sampleOf(await scrape(port), 'columba_requests_total', { kind: 'ok' });
    await withMetrics(
      engine,
      async ({ address, child, lines }, port) => {
        const workers = () => lines().filter(({ msg }) => msg === 'serving');
        await until('all workers serve', () => workers().length === 2);
        const ask = async (times: number) => {
          for (const _ of Array(times)) await call(address, 'get', 'account', 'Profile', { user_id: ACME });
        };
        await ask(20);
        assert.equal(await countOf(port), 20);
        process.kill(workers()[0]?.pid as number, 'SIGKILL');
        await until('it is replaced', () => workers().length === 3);
        assert.equal(await countOf(port), 20);
        await ask(10);
        child.kill('SIGHUP');
        await until('all are new', () => lines().some(({ msg }) => msg === 'the workers are restarted'));
        assert.equal(await countOf(port), 30);
        await ask(10);
        const samples = await scrape(port);
        assert.equal(sampleOf(samples, 'columba_requests_total', { kind: 'ok' }), 40);
        assert.equal(sampleOf(samples, 'columba_request_duration_seconds_count'), 40);
        assert.equal(named(samples, 'columba_messages').length, 3);
        assert.equal(sampleOf(samples, 'columba_messages', { state: 'unread' }), 5);
        assert.equal(sampleOf(samples, 'columba_build_info'), 1);
        assert.ok(sampleOf(samples, 'columba_connections_open') >= 0);
      },
      ['--workers', '2'],
    );
  });

  test('metrics are at /metrics of the metrics port and nowhere else', async () => {
    await withMetrics(engine, async ({ address, lines }, port) => {
      const own = `http://127.0.0.1:${port}`;
      assert.equal(lines().find(({ msg }) => msg === 'serving metrics')?.metrics, `${own}/metrics`);
      const answer = await fetch(`${own}/metrics`);
      assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
      const text = await answer.text();
      assert.match(text, /^# HELP columba_requests_total \S.*\n# TYPE columba_requests_total counter$/m);
      assert.equal((await fetch(`${own}/metrics`, { method: 'HEAD' })).status, 200);
      assert.equal((await fetch(`${own}/metrics`, { method: 'POST' })).status, 405);
      assert.equal((await fetch(`${own}/api/inbox.asmx`)).status, 404);
      const elsewhere = await fetch(`${address}/metrics`);
      assert.ok(!(await elsewhere.text()).includes('columba_requests_total'));
      const help = [...(await metricsText(port)).matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
      assert.equal(new Set(help).size, help.length, 'one is there twice');
    });
  });
});

onEveryEngine('the port for metrics', (engine) => {
  for (const workers of ['1', '2']) {
    test(`a metrics port that is taken ends the program at once, with one sentence that says what to do (workers: ${workers})`, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port: taken } = server.address() as AddressInfo;
      const args = ['serve', '--port', '0', '--database', await engine.fresh('empty'), '--workers', workers];
      const { code, stderr } = await columba([...args, '--metrics-port', String(taken)]);
      const sentence = `Port ${taken} is taken. Choose another port with --metrics-port or COLUMBA_METRICS_PORT.`;
      assert.deepEqual([code, stderr], [1, `columba: ${sentence}\n`]);
      server.close();
    });
  }
});
