import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { type Config, readConfig } from '../../src/config/settings.ts';
import { createApp } from '../../src/serve/compose/contract.ts';
import { type Engine, onOneEngine } from '../support/engines.ts';
import { assertRefusal, type Stranger, scene, stranger } from '../support/http-client.ts';
import { ACME } from '../support/service.ts';
import { type Connection, openConnection, requestBytes, statusOf, textOf } from '../support/socket.ts';

/** More connections and more requests on them than anybody needs. */

const COUNT = requestBytes(`GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1`, ['Host: h']);
const FULL = 'There are too many connections. Try again later.';
const atLoopback = (address: string, host: string) => address.replace('[::]', host);

/** A connection that is known to be in use. */
async function served(address: string): Promise<Connection> {
  const connection = await openConnection(address);
  await connection.send(COUNT);
  assert.equal(statusOf(await connection.receive()), 200);
  return connection;
}

async function refused(address: string): Promise<void> {
  const answers = await stranger(address).told;
  assert.equal(answers.length, 1);
  assertRefusal(answers[0], 503, FULL);
  assert.equal(answers[0]?.headers['retry-after'], '5');
  assert.equal(answers[0]?.headers.connection, 'close');
}

/** A connection in the middle of a request: it is not idle, and so makes room for nobody. */
async function busy(address: string) {
  const connection = await served(address);
  await connection.send(COUNT.subarray(0, 20));
  return {
    close: connection.close,
    /** Ends the request, and begins the next one. */
    async goOn(): Promise<void> {
      await connection.send(Buffer.concat([COUNT.subarray(20), COUNT.subarray(0, 20)]));
      assert.equal(statusOf(await connection.receive()), 200);
    },
  };
}

/** When the server has seen that one was closed. */
async function busyAgain(address: string) {
  for (;;) {
    const connection = await busy(address).catch(() => undefined);
    if (connection) return connection;
    await nextTurn();
  }
}

/** A service without anybody who has an idle connection. */
async function alone(
  engine: Engine,
  settings: Partial<Config>,
  work: (address: string, held: (() => void)[]) => Promise<void>,
) {
  const held: (() => void)[] = [];
  const patient = { headersTimeoutMs: 600_000, requestTimeoutMs: 600_000, ...settings };
  const { app, address } = await startHolding(engine, () => new Promise((resolve) => held.push(resolve)), patient);
  try {
    await work(address, held);
  } finally {
    for (const release of held) release();
    await app.stop();
  }
}

onOneEngine('many connections', (engine) => {
  test('at most connectionsMax connections are open, further ones get 503, and a closed one makes room', () =>
    alone(engine, { connectionsMax: 4 }, async (address) => {
      const guests = [await busy(address), await busy(address), await busy(address), await busy(address)];
      for (let time = 0; time < 20; time += 1) await refused(address);
      for (const guest of guests) await guest.goOn();
      guests.pop()?.close();
      guests.push(await busyAgain(address));
      for (const guest of guests) await guest.goOn();
      for (const guest of guests) guest.close();
    }));

  test('one client address has at most connectionsPerClientMax connections, whatever others have', () =>
    alone(engine, { host: '::', connectionsPerClientMax: 2 }, async (address) => {
      const [four, six] = [atLoopback(address, '127.0.0.1'), atLoopback(address, '[::1]')];
      const guests = [await busy(four), await busy(four)];
      for (let time = 0; time < 20; time += 1) await refused(four);
      guests.push(await busy(six), await busy(six));
      for (const guest of guests) await guest.goOn();
      guests.shift()?.close();
      guests.push(await busyAgain(four));
      for (const guest of guests) guest.close();
    }));

  test('a trusted proxy may have any number of connections, up to connectionsMax', () =>
    alone(engine, { connectionsPerClientMax: 1, connectionsMax: 6, trustedProxies: ['127.0.0.1'] }, async (address) => {
      const guests = [];
      for (let count = 0; count < 6; count += 1) guests.push(await busy(address));
      await refused(address);
      for (const guest of guests) guest.close();
    }));

  test('silent connections are closed for new ones, the oldest first, so every probe is served', async () => {
    const silent: Stranger[] = [];
    await alone(engine, { connectionsMax: 100, connectionsPerClientMax: 100 }, async (address) => {
      for (let number = 0; number < 300; number += 1) {
        const next = stranger(address);
        silent.push(next);
        await once(next.socket, 'connect');
      }
      for (let time = 0; time < 20; time += 1) {
        const probe = requestBytes('GET /health/ready HTTP/1.1', ['Host: h', 'Connection: close']);
        assert.deepEqual((await stranger(address, probe).told).map(statusOf), [200]);
        (await served(address)).close();
      }
    });
    const told = (await Promise.all(silent.map((each) => each.told))).map(([answer]) => answer);
    const dropped = told.filter((answer) => answer !== undefined);
    for (const answer of dropped) assertRefusal(answer, 503, FULL);
    assert.ok(dropped.length > 200 && dropped.length <= 240, `${dropped.length} were dropped`);
    assert.deepEqual(told.slice(dropped.length).filter(Boolean), [], 'one was dropped before an older one');
  });

  test('connections that guess user_ids, whose refusals are delayed, take no connection from a valid account at the same address', () =>
    alone(engine, { connectionsPerClientMax: 50 }, async (address, held) => {
      const guess = requestBytes('GET /api/inbox.asmx/CountUnread?user_id=nobody HTTP/1.1', ['Host: h']);
      const first = await openConnection(address);
      for (let failure = 0; failure < 10; failure += 1) {
        await first.send(guess);
        assert.equal(statusOf(await first.receive()), 403, 'these are free');
      }
      first.close();
      const guessing = Array.from({ length: 50 }, () => stranger(address, guess));
      const told = Promise.all(guessing.map((guesser) => guesser.told));
      while (held.length < 50) await nextTurn();
      const good = [];
      for (let number = 0; number < 10; number += 1) good.push(await busy(address));
      for (const guest of good) await guest.goOn();
      for (const release of held) release();
      for (const { socket } of guessing) socket.end();
      const statuses = (await told).map(([answer]) => answer && statusOf(answer));
      assert.deepEqual(
        [503, 403].map((status) => statuses.filter((each) => each === status).length),
        [10, 40],
      );
      for (const guest of good) guest.close();
    }));

  test('a connection is closed after requestsPerConnectionMax requests, and nothing after them is executed', () =>
    scene(engine, { requestsPerConnectionMax: 3 }, async ({ service, address, neighbour }) => {
      const save = requestBytes(`GET /api/account.asmx/SaveMessageTemplate?user_id=${ACME}&message=fourth HTTP/1.1`, [
        'Host: h',
      ]);
      const answers = await stranger(address, Buffer.concat([COUNT, COUNT, COUNT, save, save])).told;
      assert.deepEqual(answers.slice(0, 3).map(statusOf), [200, 200, 200]);
      assert.equal(answers[2]?.headers.connection, 'close');
      assert.equal(answers.length, 3);
      const { text } = await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
      assert.ok(!text.includes('fourth'));
      await neighbour.call(); // and a third time in the end
    }));

  test('large bodies are received concurrently up to receivingBytesMax, and small ones always', () =>
    scene(engine, { receivingBytesMax: 200_000 }, async ({ address, neighbour }) => {
      const start = 'POST /api/account.asmx/Profile HTTP/1.1';
      const fields = ['Host: h', 'Content-Type: application/x-www-form-urlencoded'];
      const large = (bytes: number) =>
        requestBytes(start, [...fields, 'Content-Length: 100000'], `user_id=${ACME}&filler=`.padEnd(bytes, 'x'));
      const small = requestBytes(start, [...fields, 'Connection: close'], `user_id=${ACME}`);
      const [first, second] = [await openConnection(address), await openConnection(address)];
      await first.send(large(90_000));
      await second.send(large(90_000));
      await neighbour.call();
      const [answer] = await stranger(address, large(99_999)).told;
      assertRefusal(answer, 429, 'Too much data is being sent at the same time. Try again later.');
      assert.equal(answer?.headers['retry-after'], '1');
      assert.deepEqual((await stranger(address, small).told).map(statusOf), [200]);

      await first.send('x'.repeat(10_000));
      assert.equal(statusOf(await first.receive()), 200);
      const third = await openConnection(address);
      await third.send(large(100_000));
      assert.equal(statusOf(await third.receive()), 200);
      for (const connection of [first, second, third]) connection.close();
    }));

  test('pipelined calls are executed in their order', () =>
    scene(engine, {}, async ({ address }) => {
      const template = (operation: string) =>
        requestBytes(`GET /api/account.asmx/${operation}?user_id=${ACME}&message=x HTTP/1.1`, ['Host: h']);
      const connection = await openConnection(address);
      const [save, remove] = [template('SaveMessageTemplate'), template('DeleteMessageTemplate')];
      await connection.send(Buffer.concat(Array<Buffer[]>(50).fill([save, remove, remove]).flat()));
      for (let round = 0; round < 50; round += 1) {
        for (const result of ['true', 'true', 'false']) {
          assert.match(textOf(await connection.receive()), new RegExp(`>${result}<`));
        }
      }
      connection.close();
    }));

  test('the requests of a flood on one connection are executed one at a time, and other clients are served', async () => {
    const held: (() => void)[] = [];
    const nextHeld = async () => {
      while (held.length === 0) await nextTurn();
    };
    const { app, address } = await startHolding(engine, () => new Promise((resolve) => held.push(resolve)));
    try {
      const flood = requestBytes('GET /api/inbox.asmx/CountRead?user_id=nobody HTTP/1.1', ['Host: h']);
      const { socket, told } = stranger(address, Buffer.concat(Array<Buffer>(5_000).fill(flood)));
      await nextHeld();
      for (let time = 0; time < 20; time += 1) (await served(address)).close();
      for (let answer = 0; answer < 30; answer += 1) {
        assert.equal(held.length, 1);
        held.pop()?.();
        await nextHeld();
      }
      socket.end();
      socket.destroy();
      const answers = await told;
      assert.ok(answers.length > 30 && answers.length < 5_000, `${answers.length} answers`);
      for (const answer of answers) assert.equal(statusOf(answer), 403);
    } finally {
      for (const release of held) release();
      await app.stop();
    }
  });
});

/** Work in the background pauses for less, a refused caller waits for longer. */
const PAUSE_MS_MAX = 50;

/** A service whose refusals are held back by the test. */
async function startHolding(engine: Engine, hold: (ms: number) => Promise<void>, settings: Partial<Config> = {}) {
  const database = await engine.fresh('sample');
  const config: Config = {
    ...readConfig({ COLUMBA_DATABASE: database, COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' }),
    ...settings,
  };
  const sleep = (ms: number) => (ms <= PAUSE_MS_MAX ? systemClock.sleep(ms) : hold(ms));
  const app = await createApp(config, { clock: { ...systemClock, sleep }, log: pino({ level: 'silent' }) });
  return { app, address: await app.start() };
}
