import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import type { HttpServer } from '../../src/http/server.ts';
import { createPieces, get, isLive, PIECE_BYTES, start, text, wholeText } from '../../test/support/byte-pieces.ts';
import { until, within } from '../../test/support/program.ts';
import { openReceiver, textOf } from '../../test/support/received-bytes.ts';

describe('header fields', () => {
  test('a list of Set-Cookie becomes one field line per item, and a line end in an item begins no other field', async (t) => {
    const cookies = ['session=1; Path=/', 'theme=dark\r\nX-Injected: 1'];
    const server = await start(t, { '/cookies': { status: 200, headers: { 'Set-Cookie': cookies }, body: 'x' } });
    const { headers } = await fetch(`${server.address}/cookies`);
    assert.deepEqual(headers.getSetCookie(), ['session=1; Path=/', 'theme=darkX-Injected: 1']);
    assert.equal(headers.get('x-injected'), null);
  });

  test('a reply that closes the connection says so, and no request after it is answered', async (t) => {
    const server = await start(t, { '/last': { status: 200, headers: {}, body: 'x', closes: true } });
    const client = openReceiver(server.address);
    client.send(get('/last') + get('/live'));
    const answers = await client.ended();
    assert.deepEqual(
      answers.map(({ headers, body }) => [headers.connection, body.toString()]),
      [['close', 'x']],
    );
  });
});

/** Answers that come in pieces, and clients that do not take them. */
const PIECES = 10_000;
// The buffers between two sockets hold some MB, and up to 38 MB where a system gives them all it may.
const AHEAD_MAX = 1_000;

describe('streamed answers', () => {
  test('all pieces of a response come in order, and the connection can be used again', async (t) => {
    const { reply, asked } = createPieces(50, text);
    const server = await start(t, { '/long': reply });
    const client = openReceiver(server.address);
    client.send(get('/long'));
    client.send(get('/live'));
    const [long, next] = await client.answers(2);
    assert.deepEqual([long?.headers['transfer-encoding'], long?.headers['content-length']], ['chunked', undefined]);
    assert.ok(long?.body.toString() === wholeText(50));
    assert.equal(next?.body.toString(), 'live\n');
    assert.equal(asked(), 50);
    client.leave();
  });

  for (const [how, fields, piece] of [
    ['plain', [], text],
    ['in gzip', ['Accept-Encoding: gzip'], () => randomBytes(PIECE_BYTES)],
  ] as const) {
    test(`a client that reads nothing gets no more than its buffers hold, is disconnected, and the rest is never made (${how})`, async (t) => {
      const { reply, asked, finished } = createPieces(PIECES, piece);
      const server = await start(t, { '/long': reply }, { sendTimeoutMs: 1_000 });
      const client = openReceiver(server.address);
      client.send(get('/long', ...fields));
      await client.started();
      client.pause();
      await isLive(server);
      await finished();
      assert.ok(asked() < AHEAD_MAX, `${asked()} pieces were asked for`);
      client.resume();
      const [answer] = await client.ended();
      assert.equal(answer?.isWhole, false);
      await isLive(server);
    });

    test(`a slow client that keeps reading gets the whole answer (${how})`, async (t) => {
      const count = 200;
      const { reply, asked } = createPieces(count, text);
      const server = await start(t, { '/long': reply });
      const client = openReceiver(server.address);
      client.send(get('/long', ...fields));
      await client.started();
      for (let pauses = 0; pauses < 20; pauses++) {
        client.pause();
        await isLive(server);
        client.resume();
        await isLive(server);
      }
      const [answer] = await client.answers(1);
      assert.ok(answer && textOf(answer) === wholeText(count));
      assert.equal(asked(), count);
      client.leave();
    });

    test(`when a client disconnects, its answer is no longer made (${how})`, async (t) => {
      const { reply, asked, finished } = createPieces(PIECES, piece);
      const server = await start(t, { '/long': reply });
      const client = openReceiver(server.address);
      client.send(get('/long', ...fields));
      await client.started();
      client.leave();
      await finished();
      assert.ok(asked() < PIECES);
      await isLive(server);
    });

    test(`an answer that cannot be finished is cut off, and the connection is closed (${how})`, async (t) => {
      const { reply, finished } = createPieces(60, piece, 40); // beyond what is collected before anything is sent
      const server = await start(t, { '/long': reply });
      const client = openReceiver(server.address);
      client.send(get('/long', ...fields));
      client.send(get('/live'));
      const answers = await client.ended();
      await finished();
      assert.deepEqual(
        answers.map(({ status, isWhole }) => [status, isWhole]),
        [[200, false]],
      );
      await isLive(server);
    });
  }

  for (const [how, ...fields] of [['plain'], ['in gzip', 'Accept-Encoding: gzip']]) {
    for (const [what, heldBytes] of [
      ['that are collected', 0],
      ['that are not', 64_000_000], // more than half of what may be unsent, and more than any system holds
    ] as const) {
      test(`of many answers ${what}, one produces a piece in each turn of the event loop (${how})`, async (t) => {
        let [inTurn, most] = [0, 0];
        const counted = (index: number) => {
          inTurn += 1;
          most = Math.max(most, inTurn);
          return text(index);
        };
        const names = Array.from({ length: 20 }, (_, index) => `/${index}`);
        const replies = names.map((name) => [name, createPieces(40, counted).reply] as const);
        const held = createPieces(2, () => 'x'.repeat(heldBytes)).reply;
        const server = await start(
          t,
          { ...Object.fromEntries(replies), '/held': held },
          { unsentBytesMax: 100_000_000 },
        );
        const deaf = openReceiver(server.address);
        deaf.pause();
        if (heldBytes > 0) deaf.send(get('/held'));
        await until('it is held', () => server.traffic.unsentBytes >= heldBytes);
        let timer: NodeJS.Immediate | undefined;
        const watch = () => {
          inTurn = 0;
          timer = setImmediate(watch);
        };
        watch();
        t.after(() => clearImmediate(timer));
        const clients = names.map(() => openReceiver(server.address));
        // Open before, so that all can ask in one turn.
        for (const client of clients) client.send(get('/live'));
        for (const client of clients) await client.answers(1);
        for (const [index, client] of clients.entries()) client.send(get(`/${index}`, ...fields));
        for (const client of clients) {
          const [, answer] = await client.answers(2);
          assert.ok(answer && textOf(answer) === wholeText(40));
          client.leave();
        }
        deaf.leave();
        // Two where one is made before this test has begun to count again, and one behind it.
        assert.ok(most <= 2, `${most} pieces in one turn`);
      });
    }
  }

  test('requests behind an unread answer on the same connection cost nothing more', async (t) => {
    const [first, second] = [createPieces(PIECES, text), createPieces(PIECES, text)];
    const server = await start(t, { '/first': first.reply, '/second': second.reply }, { sendTimeoutMs: 1_000 });
    const client = openReceiver(server.address);
    client.send(get('/first') + get('/second'));
    await client.started();
    client.pause();
    await first.finished();
    assert.ok(second.asked() < AHEAD_MAX, `${second.asked()} pieces were asked for`);
    await until('nobody asks for the second', second.isOver);
    client.leave();
  });

  test('when a client disconnects, the requests behind its current answer are dropped', async (t) => {
    const [first, second] = [createPieces(PIECES, text), createPieces(PIECES, text)];
    const server = await start(t, { '/first': first.reply, '/second': second.reply });
    const client = openReceiver(server.address);
    client.send(get('/first') + get('/second'));
    await client.started();
    client.leave();
    await first.finished();
    await until('nobody asks for the second', second.isOver);
    await isLive(server);
  });

  test('no piece is produced for a closed connection, because the database may be closed by then, too', async (t) => {
    let late = 0;
    let opened: HttpServer | undefined;
    const watched = (index: number) => {
      if (opened?.traffic.connectionsOpen === 0) late += 1;
      return text(index);
    };
    const { reply, finished } = createPieces(PIECES, watched);
    const server = await start(t, { '/long': reply }, { sendTimeoutMs: 200 });
    opened = server;
    const client = openReceiver(server.address);
    client.send(get('/long'));
    await client.started();
    client.pause();
    await finished();
    assert.equal(late, 0);
    client.leave();
  });

  test('the time-out of an answer ends with the answer, and does not close the connection later', async (t) => {
    const { reply, finished } = createPieces(3, text);
    const server = await start(t, { '/long': reply }, { sendTimeoutMs: 100 });
    const client = openReceiver(server.address);
    client.send(get('/long'));
    await client.answers(1);
    await finished();
    // Three times the time, in steps that keep the connection from being idle.
    for (let count = 2; count < 8; count++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      client.send(get('/live'));
      await client.answers(count);
    }
    client.leave();
  });

  test('a server that closes sends answers in progress completely', async (t) => {
    const { reply } = createPieces(200, text);
    const server = await start(t, { '/long': reply });
    const client = openReceiver(server.address);
    client.send(get('/long'));
    await client.started();
    client.pause();
    const closed = server.close();
    client.resume();
    const [answer] = await client.answers(1);
    assert.ok(answer?.body.toString() === wholeText(200));
    await within('it closes', closed);
    await client.ended();
  });

  test('a server that closes does not wait for idle connections', async (t) => {
    const server = await start(t, {}, { idleTimeoutMs: 3_600_000 });
    const client = openReceiver(server.address);
    client.send(get('/live'));
    await client.answers(1);
    await within('it closes', server.close());
    await client.ended();
  });

  test('a server that closes does not wait longer for a client that reads nothing', async (t) => {
    const { reply, finished } = createPieces(PIECES, text);
    const server = await start(t, { '/long': reply }, { sendTimeoutMs: 500 });
    const client = openReceiver(server.address);
    client.send(get('/long'));
    await client.started();
    client.pause();
    await within('it closes', server.close());
    await finished();
    client.leave();
  });
});
