import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { createApp } from '../../src/app.ts';
import { type Config, readConfig } from '../../src/server/config.ts';
import { type Engine, onEveryEngine } from '../support/engines.ts';
import { ACME } from '../support/service.ts';
import { type Connection, openConnection, requestBytes, statusOf, textOf } from '../support/socket.ts';
import { assertRefusal, scene, stranger } from './talking.ts';

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

/** When the server has seen that one was closed. */
async function servedAgain(address: string): Promise<Connection> {
  for (;;) {
    const connection = await openConnection(address);
    const answer = await connection
      .send(COUNT)
      .then(connection.receive)
      .catch(() => undefined);
    if (answer && statusOf(answer) === 200) return connection;
    connection.close();
    await nextTurn();
  }
}

onEveryEngine('crowds', (engine) => {
  test('as many connections as connectionsMax says; more get 503 and are closed, and a place that is left is free again', () =>
    scene(engine, { connectionsMax: 4 }, async ({ address, neighbour }) => {
      const guests = [await served(address), await served(address), await served(address)];
      for (let time = 0; time < 20; time += 1) await refused(address);
      await neighbour.call();
      for (const guest of guests) {
        await guest.send(COUNT);
        assert.equal(statusOf(await guest.receive()), 200);
      }
      guests.pop()?.close();
      guests.push(await servedAgain(address));
      for (const guest of guests) guest.close();
    }));

  test('one client address has as many as connectionsPerClientMax says, whatever others have', () =>
    scene(engine, { host: '::', connectionsPerClientMax: 2 }, async ({ address, neighbour }) => {
      const [four, six] = [atLoopback(address, '127.0.0.1'), atLoopback(address, '[::1]')];
      const guests = [await served(four), await served(four)];
      for (let time = 0; time < 20; time += 1) await refused(four);
      guests.push(await served(six)); // the neighbour is the other one there
      await neighbour.call();
      guests.shift()?.close();
      guests.push(await servedAgain(four));
      for (const guest of guests) guest.close();
    }));

  test('a trusted proxy, behind which there are many, has any number of them, up to connectionsMax', () =>
    scene(
      engine,
      { connectionsPerClientMax: 1, connectionsMax: 6, trustedProxies: ['127.0.0.1'] },
      async ({ address }) => {
        const guests: Connection[] = [];
        for (let count = 1; count < 6; count += 1) guests.push(await served(address));
        await refused(address);
        for (const guest of guests) guest.close();
      },
    ));

  test('a connection is closed after as many requests as requestsPerConnectionMax says, and nothing behind them is done', () =>
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

  test('of large bodies only so many are taken at once as receivingBytesMax says; small ones always', () =>
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
      assertRefusal(answer, 429, 'Too much is being sent at the same time. Try again later.');
      assert.equal(answer?.headers['retry-after'], '1');
      assert.deepEqual((await stranger(address, small).told).map(statusOf), [200]);

      await first.send('x'.repeat(10_000));
      assert.equal(statusOf(await first.receive()), 200);
      const third = await openConnection(address);
      await third.send(large(100_000));
      assert.equal(statusOf(await third.receive()), 200);
      for (const connection of [first, second, third]) connection.close();
    }));

  test('calls that are sent at once are done in their order', () =>
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

  test('of a flood on one connection one request is worked on, the rest waits, and others are served', async () => {
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

/** A service whose refusals are held back by the test. */
async function startHolding(engine: Engine, sleep: (ms: number) => Promise<void>) {
  const database = await engine.fresh('sample');
  const config: Config = {
    ...readConfig({ COLUMBA_DATABASE: database, COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' }),
  };
  const app = await createApp(config, { now: Date.now, sleep, log: pino({ level: 'silent' }) });
  return { app, address: await app.start() };
}
