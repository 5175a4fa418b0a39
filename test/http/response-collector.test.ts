import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPieces, get, PIECE_BYTES, start, text, wholeText } from '../support/byte-pieces.ts';
import { openReceiver, type Received, textOf } from '../support/received-bytes.ts';

/** Answers in pieces that tell their length. */
describe('the length of streamed answers', () => {
  /** How the end of an answer is told. */
  const framingOf = (answer: Received | undefined) => [
    answer?.headers['content-length'],
    answer?.headers['transfer-encoding'],
  ];
  const MIB = 16 * PIECE_BYTES;

  test('an answer of 1 MiB has a Content-Length, and one byte more is sent in chunks', async (t) => {
    const longer = createPieces(17, (index) => (index < 16 ? text(index) : '.'));
    const server = await start(t, { '/mib': createPieces(16, text).reply, '/longer': longer.reply });
    const client = openReceiver(server.address);
    client.send(get('/mib') + get('/longer'));
    const [mib, more] = await client.answers(2);
    assert.deepEqual(framingOf(mib), [String(MIB), undefined]);
    assert.ok(mib?.body.toString() === wholeText(16));
    assert.deepEqual(framingOf(more), [undefined, 'chunked']);
    assert.equal(more?.body.length, MIB + 1);
    client.leave();
  });

  test('HTTP/1.0 gets the Content-Length of a streamed answer too, and may keep its connection', async (t) => {
    const server = await start(t, { '/short': createPieces(3, text).reply });
    const client = openReceiver(server.address);
    for (const path of ['/short', '/live']) client.send(`GET ${path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`);
    const [short, next] = await client.answers(2);
    assert.deepEqual(framingOf(short), [String(3 * PIECE_BYTES), undefined]);
    assert.equal(short?.headers.connection, 'keep-alive');
    assert.equal(next?.body.toString(), 'live\n');
    client.leave();
  });

  test('a compressed answer has the Content-Length of what is sent, if that is at most 1 MiB', async (t) => {
    const server = await start(t, { '/long': createPieces(60, text).reply });
    const client = openReceiver(server.address);
    client.send(get('/long', 'Accept-Encoding: gzip'));
    const [answer] = await client.answers(1);
    assert.deepEqual(framingOf(answer), [String(answer?.body.length), undefined]);
    assert.ok(answer && textOf(answer) === wholeText(60));
    client.leave();
  });

  test('when half of the memory for unsent answers is used, answers are chunked until there is room again', async (t) => {
    const replies = { '/a': createPieces(5, text).reply, '/b': createPieces(1, text).reply };
    const held = createPieces(10_000, text);
    const server = await start(t, { ...replies, '/held': held.reply }, { unsentBytesMax: 8 * PIECE_BYTES });
    const [client, other] = [openReceiver(server.address), openReceiver(server.address)];
    client.send(get('/a'));
    assert.deepEqual(framingOf((await client.answers(1))[0]), [undefined, 'chunked']);
    // What a client that has gone did not take is given back as well.
    other.send(get('/held'));
    await other.started();
    other.leave();
    await held.finished();
    client.send(get('/b'));
    assert.deepEqual(framingOf((await client.answers(2))[1]), [String(PIECE_BYTES), undefined]);
    client.leave();
  });

  test('an answer that fails before any of it was sent becomes an error, and the connection continues', async (t) => {
    const { reply } = createPieces(20, text, 5);
    const failed = () => ({ status: 503, headers: {}, body: 'failed\n' });
    const server = await start(t, { '/long': { ...reply, failed } });
    const client = openReceiver(server.address);
    client.send(get('/long') + get('/live'));
    const [error, next] = await client.answers(2);
    assert.deepEqual([error?.status, error?.body.toString()], [503, 'failed\n']);
    assert.equal(next?.body.toString(), 'live\n');
    client.leave();
  });
});
