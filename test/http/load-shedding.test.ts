import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import { test } from 'node:test';
import type { Database } from '../../src/store/database.ts';
import { onOneEngine } from '../support/engines.ts';
import { until } from '../support/program.ts';
import { requestOf } from '../support/protocols.ts';
import { ACME } from '../support/service.ts';
import { serve } from '../support/serving.ts';
import { openConnection, requestBytes, statusOf } from '../support/socket.ts';

/** More than can be served: some are refused, the others are answered as ever. */

/** Keeps the process from everything else. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

interface Seen {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
  readonly ms: number;
}

/** One request on a connection of the agent's. */
const ask = (agent: Agent, url: string): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now();
    get(url, { agent }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      incoming.on('end', () => {
        const { statusCode: status = 0, headers } = incoming;
        resolve({ status, retryAfter: headers['retry-after'], text, ms: performance.now() - startedAt });
      });
    }).on('error', reject);
  });

const countUnread = (address: string, userId = ACME): string => {
  const { path, query } = requestOf('get', 'inbox', 'CountUnread', { user_id: userId });
  return `${address}${path}?${query}`;
};
const soapBytes = (): Buffer => {
  const { path, headers, bytes } = requestOf('soap12', 'inbox', 'CountUnread', { user_id: ACME });
  const fields = ['Host: h', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  return requestBytes(`POST ${path} HTTP/1.1`, fields, bytes + ' '.repeat(100_000));
};
const BUSY = 'The service is overloaded. Try again later.\n';
const WORK_MS = 3;
const TURN_MAX_MS = 12;
/** Of those that come in one turn, about so many are served. */
const SERVED = TURN_MAX_MS / WORK_MS;
const LOAD_MS = 1_500;

onOneEngine('a service with more load than it can serve', (engine) => {
  test('a service with more load than it can serve stays up, refuses some calls with 503 and Retry-After, answers the others correctly, and recovers at once', async (t) => {
    const slow = (opened: Database): Database => ({
      ...opened,
      identify(...who) {
        work(WORK_MS);
        return opened.identify(...who);
      },
    });
    const database = await engine.fresh('sample');
    const { app, logged } = await serve(database, { database: slow }, { turnMaxMs: TURN_MAX_MS });
    const agent = new Agent({ keepAlive: true });
    const address = await app.start();
    try {
      const { text: expected } = await ask(agent, countUnread(address));
      const seen: Seen[] = [];
      const lives: Seen[] = [];
      const end = performance.now() + LOAD_MS;
      const clients = Array.from({ length: 4 * SERVED }, async () => {
        while (performance.now() < end) seen.push(await ask(agent, countUnread(address)));
      });
      const prober = (async () => {
        while (performance.now() < end) lives.push(await ask(agent, `${address}/health/live`));
      })();
      await Promise.all([...clients, prober]);
      for (let call = 0; call < 3; call++) {
        assert.equal((await ask(agent, countUnread(address))).status, 200, 'as soon as the load is gone');
      }

      const accepted = seen.filter(({ status }) => status === 200);
      const refused = seen.filter(({ status }) => status !== 200);
      const times = accepted.map(({ ms }) => ms).sort((a, b) => a - b);
      const [p50, p99] = [0.5, 0.99].map((share) => times[Math.floor(share * times.length)]?.toFixed(0));
      const share = ((100 * refused.length) / seen.length).toFixed(0);
      t.diagnostic(`accepted ${accepted.length}, p50 ${p50} ms, p99 ${p99} ms; refused ${refused.length}, ${share} %`);
      assert.ok(accepted.length > 0 && refused.length > 0);
      for (const { text } of accepted) assert.equal(text, expected);
      for (const { status, retryAfter, text } of refused)
        assert.deepEqual([status, retryAfter, text], [503, '1', BUSY]);
      assert.ok(lives.length > 0);
      for (const { status, text } of lives) assert.deepEqual([status, text], [200, 'live\n']);
      assert.deepEqual(logged, [], 'overload is no error of the service');
    } finally {
      agent.destroy();
      await app.stop();
      engine.release(database);
    }
  });

  test('of the calls that wait for the database, those beyond the limit are refused and the others are answered', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = 0;
    const waiting = (opened: Database): Database => ({
      ...opened,
      async identify(...who) {
        asked += 1;
        await released;
        return opened.identify(...who);
      },
    });
    const database = await engine.fresh('sample');
    const { app } = await serve(database, { database: waiting }, { waitingMax: 5, turnMaxMs: 60_000 });
    const agent = new Agent({ keepAlive: true });
    const address = await app.start();
    const connection = await openConnection(address);
    try {
      const held = Array.from({ length: 5 }, () => ask(agent, countUnread(address)));
      await until('all five are waiting', () => asked === 5, 10_000);
      for (const path of ['/api/inbox.asmx/CountUnread', '/', '/api/inbox.asmx?wsdl']) {
        const { status, retryAfter, text } = await ask(agent, `${address}${path}`);
        assert.deepEqual([status, retryAfter, text], [503, '1', BUSY], path);
      }
      await connection.send(soapBytes());
      assert.equal(statusOf(await connection.receive()), 503);
      for (const path of ['/health/live', '/health/ready']) {
        assert.equal((await ask(agent, `${address}${path}`)).status, 200, path);
      }
      release();
      for (const answer of held) assert.equal((await answer).status, 200);
      await connection.send(soapBytes());
      assert.equal(statusOf(await connection.receive()), 200, 'on the same connection');
      assert.equal((await ask(agent, countUnread(address))).status, 200);
    } finally {
      connection.close();
      agent.destroy();
      await app.stop();
      engine.release(database);
    }
  });

  test('clients that retry at once after a refusal are refused once a second, not again and again', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const waiting = (opened: Database): Database => ({
      ...opened,
      identify(...who) {
        asked += 1;
        return released.then(() => opened.identify(...who));
      },
    });
    let asked = 0;
    const database = await engine.fresh('sample');
    const { app } = await serve(database, { database: waiting }, { waitingMax: 1 });
    const address = await app.start();
    const clients = await Promise.all(Array.from({ length: 100 }, () => openConnection(address)));
    const held = await openConnection(address);
    const request = Buffer.from(`GET ${countUnread('')} HTTP/1.1\r\nHost: h\r\n\r\n`);
    try {
      await held.send(request);
      await until('it waits', () => asked === 1);
      const startedAt = performance.now();
      let refusals = 0;
      const asking = clients.map(async (client) => {
        for (let time = 0; time < 3; time++) {
          await client.send(request);
          assert.equal(statusOf(await client.receive()), 503);
          refusals += 1;
          const seconds = (performance.now() - startedAt) / 1_000;
          assert.ok(refusals <= clients.length * (2 + seconds), `${refusals} refusals in ${seconds} s`);
        }
      });
      await Promise.all(asking);
      assert.ok(performance.now() - startedAt >= 2_000, 'the second and the third came a second later each');
    } finally {
      release();
      for (const client of [held, ...clients]) client.close();
      await app.stop();
      engine.release(database);
    }
  });

  test('delayed refusals of user_ids do not prevent other calls from being served', async () => {
    const held: (() => void)[] = [];
    const sleep = () => new Promise<void>((resolve) => void held.push(resolve));
    const database = await engine.fresh('sample');
    const { app } = await serve(database, { time: { sleep } }, { waitingMax: 5 });
    const agent = new Agent({ keepAlive: true });
    const address = await app.start();
    try {
      const failures: Promise<Seen>[] = [];
      for (let failure = 0; failure < 10; failure++) await ask(agent, countUnread(address, 'nobody'));
      for (let failure = 0; failure < 12; failure++) {
        failures.push(ask(agent, countUnread(address, 'nobody')));
        await until('it is held back', () => held.length > failure, 10_000);
      }
      for (let call = 0; call < 3; call++) assert.equal((await ask(agent, countUnread(address))).status, 200);
      for (const wake of held) wake();
      for (const failure of failures) assert.equal((await failure).status, 403);
    } finally {
      agent.destroy();
      await app.stop();
      engine.release(database);
    }
  });

  test('a call whose body is still arriving does not count as waiting for its answer', async () => {
    const database = await engine.fresh('sample');
    const { app } = await serve(database, {}, { waitingMax: 1 });
    const address = await app.start();
    const busy = await openConnection(address);
    const other = await openConnection(address);
    try {
      const whole = soapBytes();
      await busy.send(whole.subarray(0, -10));
      await other.send(whole);
      assert.equal(statusOf(await other.receive()), 200);
      await busy.send(whole.subarray(-10));
      assert.equal(statusOf(await busy.receive()), 200);
    } finally {
      busy.close();
      other.close();
      await app.stop();
      engine.release(database);
    }
  });
});
