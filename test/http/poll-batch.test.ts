import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { nextTurn } from '../../src/base/event-loop.ts';
import type { Reply, Request } from '../../src/base/exchange.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createPollBatches } from '../../src/http/poll-batch.ts';
import { listen } from '../../src/http/server.ts';
import { onOneEngine } from '../support/engines.ts';
import { createCaller, startProgram, until } from '../support/program.ts';
import { ACME } from '../support/service.ts';
import { openConnection } from '../support/socket.ts';

/** Requests that had all begun to arrive before the first of them is handled. */

describe('poll batches', () => {
  test('a turn of the event loop has one id, and the next turn has another', async () => {
    const batches = createPollBatches();
    const turns = [];
    for (let turn = 0; turn < 3; turn++) {
      turns.push([batches.current(), batches.current(), batches.current()]);
      await nextTurn();
    }
    for (const ids of turns) assert.equal(new Set(ids).size, 1);
    assert.equal(new Set(turns.flat()).size, 3);
  });

  test('a slice of the load-shedding queue has an id that no turn and no other slice has', () => {
    const batches = createPollBatches();
    const ids = [1, 1, 2].map(batches.ofSlice);
    assert.equal(new Set([...ids, batches.current()]).size, 3);
  });

  test('a poll has no id while more than 900 sockets are open, because one turn may poll several times', () => {
    const batches = createPollBatches();
    for (let count = 0; count < 900; count++) batches.opened();
    assert.equal(typeof batches.current(), 'number');
    batches.opened();
    assert.equal(batches.current(), undefined);
    batches.closed();
    assert.equal(typeof batches.current(), 'number');
  });
});

/** A server that notes the pollId of each path. `/slow` is answered when the test says so. */
async function start(t: TestContext) {
  const seen: Record<string, number | undefined> = {};
  const sockets: Socket[] = [];
  const note = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
  subscribe('net.server.socket', note);
  const answer: Reply = { status: 200, headers: {}, body: 'x' };
  let finish = (_: Reply) => {};
  const handle = (request: Request): Reply | Promise<Reply> => {
    seen[request.path] = request.pollId;
    if (request.path !== '/slow') return answer;
    return new Promise((resolve) => {
      finish = resolve;
    });
  };
  const settings = readConfig({ COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' });
  // On a slow machine the queue of the load shedding would hand out the ids of its slices.
  const server = await listen(settings, handle, { ...systemClock, monotonic: () => 0 });
  const client = await openConnection(server.address);
  t.after(() => {
    unsubscribe('net.server.socket', note);
    client.close();
    return server.close();
  });
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
  return { seen, socket: () => sockets[0], client, get, finish: () => finish(answer) };
}

describe('Request.pollId', () => {
  test('Request.pollId is that of the poll that delivered the end of the request, whole or in parts', async (t) => {
    const { seen, client, get } = await start(t);
    await client.send(get('/first'));
    await client.receive();
    await client.send(get('/parts').slice(0, 10));
    await client.send(get('/parts').slice(10));
    await client.receive();
    assert.equal(typeof seen['/first'], 'number');
    assert.ok((seen['/parts'] as number) > (seen['/first'] as number));
  });

  test('Request.pollId is undefined behind a pipelined request or a line end, which may have been sent after the poll', async (t) => {
    const { seen, client, get } = await start(t);
    await client.send(get('/first') + get('/second'));
    for (const _ of [1, 2]) await client.receive();
    await client.send(`\r\n${get('/third')}`);
    await client.receive();
    assert.equal(typeof seen['/first'], 'number');
    assert.deepEqual([seen['/second'], seen['/third']], [undefined, undefined]);
  });

  test('Request.pollId is undefined in a second chunk of one turn, which libuv may have read after the poll', async (t) => {
    const { seen, socket, client, get } = await start(t);
    await client.send(get('/first')); // from then on there is a socket
    await client.receive();
    // As libuv does after a chunk of 64 KiB: it reads again before it polls again.
    for (const path of ['/full', '/behind']) socket()?.emit('data', Buffer.from(get(path)));
    for (const _ of [1, 2]) await client.receive();
    assert.equal(typeof seen['/full'], 'number');
    assert.equal(seen['/behind'], undefined);
  });

  test('Request.pollId is undefined for requests that were sent while another one was handled', async (t) => {
    const { seen, socket, client, get, finish } = await start(t);
    await client.send(get('/slow'));
    await client.send(get('/ahead')); // after this nothing more is taken
    await client.send(get('/held'));
    const sent = ['/slow', '/ahead', '/held'].map(get).join('').length;
    await until('the server has read them', () => socket()?.bytesRead === sent);
    finish();
    for (const _ of [1, 2, 3]) await client.receive();
    await client.send(get('/last'));
    await client.receive();
    assert.deepEqual(
      Object.entries(seen).map(([path, pollId]) => [path, typeof pollId]),
      [
        ['/slow', 'number'],
        ['/ahead', 'undefined'],
        ['/held', 'undefined'],
        ['/last', 'number'],
      ],
    );
  });
});

onOneEngine('processes that serve many at once', (engine) => {
  test('a change that one process acknowledged is in the next response of the other, under load', async () => {
    const database = await engine.fresh('sample');
    const [asked, told] = [await startProgram(database, 1), await startProgram(database, 1)];
    const reader = createCaller(asked.address, ACME);
    const writer = createCaller(told.address, ACME);
    const crowd = Array.from({ length: 12 }, () => createCaller(asked.address, ACME));
    let isOver = false;
    const asking = crowd.map(async (caller) => {
      while (!isOver) await caller.ask('account', 'FetchSavedMessages');
    });
    for (let count = 0; count < 40; count++) {
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
