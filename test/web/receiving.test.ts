import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import type { Problem } from '../../src/base/problem.ts';
import { createReceiving, type Receiving, type Sender } from '../../src/web/receiving.ts';

const BYTES_MAX = 4_000;

/** A body that the test sends piece by piece. */
function sending(
  receiving: Receiving,
  client: string,
  given: { bytesMax?: number; sender?: Sender; contentEncoding?: string } = {},
) {
  const { bytesMax = 4_000, sender = 'stranger', contentEncoding } = given;
  const headers = { 'transfer-encoding': 'chunked', 'content-encoding': contentEncoding };
  const incoming = Object.assign(new PassThrough(), { headers });
  const fields = new Map<string, string>();
  const outgoing = Object.assign(new EventEmitter(), {
    headersSent: false,
    setHeader(name: string, value: string) {
      if (outgoing.headersSent) throw new Error('the header was sent');
      fields.set(name, value);
    },
  });
  const read = receiving
    .read(
      { incoming: incoming as unknown as IncomingMessage, outgoing: outgoing as unknown as ServerResponse },
      { client, bytesMax, sender },
    )
    .then(
      (bytes) => bytes.length,
      (thrown: Problem) => thrown.kind,
    );
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    read,
    fields,
    async send(bytes: number) {
      incoming.write(Buffer.alloc(bytes));
      await turn();
    },
    end: () => void incoming.end(),
    leave: () => void incoming.destroy(),
    answering: () => {
      outgoing.headersSent = true;
    },
    answered: () => void outgoing.emit('close'),
  };
}

type Sending = ReturnType<typeof sending>;

describe('bodies that are being received', () => {
  test('a body has a limit, and its connection is closed beyond it', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const body = sending(receiving, 'a', { bytesMax: 100 });
    await body.send(100);
    await body.send(1);
    assert.equal(await body.read, 'too-large');
    assert.equal(body.fields.get('Connection'), 'close');
    assert.equal(receiving.bytes, 0);
  });

  test('the bodies of one client have at most a quarter of all bytes', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const [one, other] = [sending(receiving, '192.0.2.1'), sending(receiving, '192.0.2.1')];
    await one.send(600);
    await other.send(401);
    assert.equal(await other.read, 'too-many');
    assert.equal(receiving.bytes, 600);
    const neighbour = sending(receiving, '192.0.2.2');
    await neighbour.send(1_000);
    neighbour.end();
    assert.equal(await neighbour.read, 1_000);
  });

  test('the addresses of one IPv6 network count as one client', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const [one, other] = [sending(receiving, '2001:db8::1'), sending(receiving, '2001:db8::2')];
    await one.send(900);
    await other.send(200);
    assert.equal(await other.read, 'too-many');
  });

  test('when strangers have used their bytes, the oldest body of the client with the most bytes is refused', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const large = ['a', 'b', 'c'].map((client) => sending(receiving, client));
    for (const [index, body] of large.entries()) await body.send(index === 1 ? 840 : 830);
    const late = sending(receiving, 'd');
    await late.send(200);
    late.end();
    assert.equal(await late.read, 200);
    assert.equal(await large[1]?.read, 'too-many');
    assert.equal(receiving.bytes, 2 * 830 + 200);
  });

  test('when all bytes are used, a body with a valid token replaces the largest one of a stranger', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const known = ['a', 'b', 'c'].map((client) => sending(receiving, client, { sender: 'known' }));
    for (const body of known) await body.send(1_000);
    const strangers = ['d', 'e'].map((client) => sending(receiving, client));
    for (const [index, body] of strangers.entries()) await body.send(index === 0 ? 510 : 490);
    const late = sending(receiving, 'f', { sender: 'known' });
    await late.send(500);
    late.end();
    assert.equal(await late.read, 500);
    assert.equal(await strangers[0]?.read, 'too-many');
    assert.equal(receiving.bytes, 3_000 + 490 + 500);
  });

  test('strangers who read no answer leave an eighth of all bytes to carriers, and strangers and carriers leave a quarter to people who are signed in', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const send = async (client: string, bytes: number, sender: Sender) => {
      const body = sending(receiving, client, { sender });
      await body.send(bytes);
      body.end();
      return body.read;
    };
    for (const client of ['a', 'b', 'c', 'd', 'e']) assert.equal(await send(client, 500, 'stranger'), 500);
    assert.equal(await send('f', 1, 'stranger'), 'too-many');
    assert.equal(await send('a', 500, 'carrier'), 500, 'five eighths are taken');
    assert.equal(await send('b', 1, 'carrier'), 'too-many');
    assert.equal(await send('a', 1_000, 'known'), 1_000, 'three quarters are taken');
    assert.equal(receiving.bytes, BYTES_MAX);
  });

  test('a complete body is not refused to make room for another, and one whose answer has begun does not make others fail', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const strangers = ['a', 'b', 'c'].map((client) => sending(receiving, client));
    const [whole, answered] = strangers as [Sending, Sending];
    for (const body of strangers) await body.send(body === whole ? 834 : 833);
    whole.end();
    assert.equal(await whole.read, 834);
    whole.answering();
    answered.answering(); // before its body was whole
    const late = sending(receiving, 'd');
    await late.send(500);
    late.end();
    assert.equal(await late.read, 500);
    assert.equal(await answered.read, 'too-many');
    assert.equal(receiving.bytes, 834 + 833 + 500, 'the whole body still counts');
    whole.answered();
    assert.equal(receiving.bytes, 833 + 500);
  });

  test('bodies of strangers take nothing from the share of known clients at the same address', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const crowd = [sending(receiving, '192.0.2.1'), sending(receiving, '192.0.2.1')];
    await crowd[0]?.send(1_000);
    await crowd[1]?.send(1);
    assert.equal(await crowd[1]?.read, 'too-many');
    const known = sending(receiving, '192.0.2.1', { sender: 'known' });
    await known.send(1_000);
    known.end();
    assert.equal(await known.read, 1_000);
    const another = sending(receiving, '192.0.2.1', { sender: 'known' });
    await another.send(1);
    assert.equal(await another.read, 'too-many');
  });

  test('a body whose Content-Encoding is identity is accepted, and a compressed one is not', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const plain = sending(receiving, 'a', { contentEncoding: 'Identity' });
    await plain.send(10);
    plain.end();
    assert.equal(await plain.read, 10);
    assert.equal(await sending(receiving, 'a', { contentEncoding: 'gzip' }).read, 'unsupported-media');
    assert.equal(await sending(receiving, 'a', { contentEncoding: 'identity, gzip' }).read, 'unsupported-media');
  });

  test('a body with a valid token is never refused to make room for another', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const known = ['a', 'b', 'c', 'd'].map((client) => sending(receiving, client, { sender: 'known' }));
    for (const body of known) await body.send(1_000);
    const late = sending(receiving, 'e');
    await late.send(10);
    assert.equal(await late.read, 'too-many');
    assert.equal(receiving.bytes, 4_000);
  });

  test('a body counts until its request is answered, and is malformed if the client disconnects', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const body = sending(receiving, 'a');
    await body.send(500);
    body.end();
    assert.equal(await body.read, 500);
    assert.equal(receiving.bytes, 500);
    body.answered();
    assert.equal(receiving.bytes, 0);
    const gone = sending(receiving, 'a');
    await gone.send(500);
    gone.leave();
    assert.equal(await gone.read, 'malformed');
    gone.answered();
    assert.equal(receiving.bytes, 0);
  });
});

test('an answer that nobody reads does not end the process when all bytes are used', async () => {
  const receiving = createReceiving(4 * 1_048_576);
  const answered: number[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { client = '', answer } = incoming.headers as Record<string, string>;
    const request = { client, bytesMax: 1_048_576, sender: 'stranger' } as const;
    const status = await receiving.read({ incoming, outgoing }, request).then(
      () => 200,
      () => 429,
    );
    answered.push(status);
    outgoing.writeHead(status).end(Buffer.alloc(Number(answer)));
    server.emit('answered');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const send = (client: string, answer: number, length: number) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
    socket.write(`POST / HTTP/1.1\r\nHost: h\r\nClient: ${client}\r\nAnswer: ${answer}\r\n`);
    socket.write(`Content-Length: ${length}\r\n\r\n`);
    socket.write(Buffer.alloc(1_000_000));
    return socket.pause();
  };
  const unread = send('unread', 64 * 1_048_576, 1_000_000);
  await once(server, 'answered');
  const halves = Array.from({ length: 6 }, (_, number) => send(`half ${number}`, 10, 1_000_001));
  for (let count = 1; count < 6; count += 1) await once(server, 'answered');
  assert.deepEqual(
    answered,
    [200, 429, 429, 429, 429, 429],
    'there is room for 1 of the 6 beside the one that is answered',
  );
  for (const socket of [unread, ...halves]) socket.destroy();
  server.close();
});
