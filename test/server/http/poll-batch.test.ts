import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { readConfig } from '../../../src/config/settings.ts';
import type { Reply, Request } from '../../../src/exchange.ts';
import { createBursts } from '../../../src/server/http/poll-batch.ts';
import { listen } from '../../../src/server/http/server.ts';
import { createCaller, startProgram } from '../../durability/program.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { ACME } from '../../support/service.ts';
import { openConnection } from '../../support/socket.ts';

/** Requests that had all begun to come before the first of them was looked at. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('a burst', () => {
  test('has one number while its chunks are read, none in between, and ends with its turn', async () => {
    const bursts = createBursts();
    const numbers = [];
    for (let turn = 0; turn < 3; turn++) {
      for (let chunk = 0; chunk < 3; chunk++) {
        assert.equal(bursts.current, undefined);
        bursts.enter();
        numbers.push(bursts.current);
        bursts.leave();
      }
      await nextTurn();
    }
    assert.deepEqual(numbers, [1, 1, 1, 2, 2, 2, 3, 3, 3]);
  });

  test('is a slice of the line of overload too, whose number is that of no turn', () => {
    const bursts = createBursts();
    const numbers = [1, 1, 2].map((slice) => {
      bursts.enterSlice(slice);
      const { current } = bursts;
      bursts.leave();
      assert.equal(bursts.current, undefined);
      return current;
    });
    bursts.enter();
    assert.equal(new Set([...numbers, bursts.current]).size, 3);
    bursts.leave();
  });

  test('there is none while the system may be asked several times in one turn', () => {
    const bursts = createBursts();
    const seen = () => {
      bursts.enter();
      const { current } = bursts;
      bursts.leave();
      return current;
    };
    for (let count = 0; count < 900; count++) bursts.opened();
    assert.equal(seen(), 1);
    bursts.opened();
    assert.equal(seen(), undefined);
    bursts.closed();
    assert.equal(seen(), 1);
  });
});

/** A server that notes for each path in which burst it was asked for. `/slow` is answered when the test says so. */
async function start(t: TestContext) {
  const bursts = createBursts();
  const seen: Record<string, number | undefined> = {};
  const sockets: Socket[] = [];
  const note = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
  subscribe('net.server.socket', note);
  const answer: Reply = { status: 200, headers: {}, body: 'x' };
  let finish = (_: Reply) => {};
  const handle = (request: Request): Reply | Promise<Reply> => {
    seen[request.path] = bursts.current;
    if (request.path !== '/slow') return answer;
    return new Promise((resolve) => {
      finish = resolve;
    });
  };
  const settings = readConfig({ COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' });
  const server = await listen(settings, handle, bursts);
  const client = await openConnection(server.address);
  t.after(() => {
    unsubscribe('net.server.socket', note);
    client.close();
    return server.close();
  });
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
  return { seen, socket: () => sockets[0] as Socket, client, get, finish: () => finish(answer) };
}

describe('a request is in the burst in which it began to come, or in none', () => {
  test('by itself, and in parts', async (t) => {
    const { seen, client, get } = await start(t);
    await client.send(get('/first'));
    await client.receive();
    await client.send(get('/parts').slice(0, 10));
    await client.send(get('/parts').slice(10));
    await client.receive();
    assert.equal(typeof seen['/first'], 'number');
    assert.ok((seen['/parts'] as number) > (seen['/first'] as number));
  });

  test('behind another one, or behind a line end, it may have come later than the system was asked', async (t) => {
    const { seen, client, get } = await start(t);
    await client.send(get('/first') + get('/second'));
    for (const _ of [1, 2]) await client.receive();
    await client.send(`\r\n${get('/third')}`);
    await client.receive();
    assert.equal(typeof seen['/first'], 'number');
    assert.deepEqual([seen['/second'], seen['/third']], [undefined, undefined]);
  });

  test('in a second chunk of one turn it may have been sent after the system was asked', async (t) => {
    const { seen, socket, client, get } = await start(t);
    await client.send(get('/first')); // from then on there is a socket
    await client.receive();
    // As libuv does after a chunk that filled its 64 KiB: it reads again before it asks the system again.
    for (const path of ['/full', '/behind']) socket().emit('data', Buffer.from(get(path)));
    for (const _ of [1, 2]) await client.receive();
    assert.equal(typeof seen['/full'], 'number');
    assert.equal(seen['/behind'], undefined);
  });

  test('what was sent ahead is read at another time', async (t) => {
    const { seen, client, get, finish } = await start(t);
    await client.send(get('/slow'));
    await client.send(get('/ahead')); // after this nothing more is taken
    await client.send(get('/held'));
    finish();
    for (const _ of [1, 2, 3]) await client.receive();
    await client.send(get('/last'));
    await client.receive();
    assert.deepEqual(
      Object.entries(seen).map(([path, burst]) => [path, typeof burst]),
      [
        ['/slow', 'number'],
        ['/ahead', 'undefined'],
        ['/held', 'undefined'],
        ['/last', 'number'],
      ],
    );
  });
});

onEveryEngine('processes that serve many at once', (engine) => {
  test('what one of them has acknowledged is in the next answer of the other, however many ask it meanwhile', async () => {
    const database = await engine.fresh('sample');
    const [asked, told] = [await startProgram(database, 1), await startProgram(database, 1)];
    const reader = createCaller(asked.address, ACME);
    const writer = createCaller(told.address, ACME);
    const crowd = Array.from({ length: 20 }, () => createCaller(asked.address, ACME));
    let isOver = false;
    const asking = crowd.map(async (caller) => {
      while (!isOver) await caller.ask('account', 'FetchSavedMessages');
    });
    for (let count = 0; count < 100; count++) {
      await writer.ask('account', 'SaveMessageTemplate', { message: `saved ${count}` });
      const saved = (await reader.ask('account', 'FetchSavedMessages')) as string[];
      assert.ok(saved.includes(`saved ${count}`), `saved ${count} is missing`);
    }
    isOver = true;
    await Promise.all(asking);
    for (const caller of [reader, writer, ...crowd]) caller.close();
    for (const program of [asked, told]) {
      program.kill('SIGTERM');
      assert.equal((await program.ended).code, 0);
    }
  });
});
