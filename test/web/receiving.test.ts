import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import type { Problem } from '../../src/base/problem.ts';
import { createReceiving, type Receiving } from '../../src/web/receiving.ts';

const BYTES_MAX = 4_000;

/** A body that the test sends piece by piece. */
function sending(
  receiving: Receiving,
  client: string,
  given: { bytesMax?: number; isKnown?: boolean; contentEncoding?: string } = {},
) {
  const { bytesMax = 4_000, isKnown = false, contentEncoding } = given;
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
      { client, bytesMax, isKnown },
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
  test('one body has a limit, and its connection closes beyond it', async () => {
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

  test('addresses of one IPv6 network are one client', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const [one, other] = [sending(receiving, '2001:db8::1'), sending(receiving, '2001:db8::2')];
    await one.send(900);
    await other.send(200);
    assert.equal(await other.read, 'too-many');
  });

  test('where all bytes are taken, the oldest body of the client with most of them is refused', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const large = ['a', 'b', 'c', 'd'].map((client) => sending(receiving, client));
    for (const [index, body] of large.entries()) await body.send(index === 2 ? 1_000 : 990);
    const carrier = sending(receiving, 'carrier');
    await carrier.send(200);
    carrier.end();
    assert.equal(await carrier.read, 200);
    assert.equal(await large[2]?.read, 'too-many');
    assert.equal(receiving.bytes, 3 * 990 + 200);
  });

  test('a body that is whole is not refused for another one, and one whose answer has begun fails nobody', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const strangers = ['a', 'b', 'c', 'd'].map((client) => sending(receiving, client));
    const [whole, answered] = strangers as [Sending, Sending];
    for (const body of strangers) await body.send(body === whole ? 1_000 : 999);
    whole.end();
    assert.equal(await whole.read, 1_000);
    whole.answering();
    answered.answering(); // before its body was whole
    const carrier = sending(receiving, 'carrier');
    await carrier.send(500);
    carrier.end();
    assert.equal(await carrier.read, 500);
    assert.equal(await answered.read, 'too-many');
    assert.equal(receiving.bytes, 1_000 + 2 * 999 + 500, 'the whole body still counts');
    whole.answered();
    assert.equal(receiving.bytes, 2 * 999 + 500);
  });

  test('bodies of strangers take nothing from the share of known clients at the same address', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const crowd = [sending(receiving, '192.0.2.1'), sending(receiving, '192.0.2.1')];
    await crowd[0]?.send(1_000);
    await crowd[1]?.send(1);
    assert.equal(await crowd[1]?.read, 'too-many');
    const known = sending(receiving, '192.0.2.1', { isKnown: true });
    await known.send(1_000);
    known.end();
    assert.equal(await known.read, 1_000);
    const another = sending(receiving, '192.0.2.1', { isKnown: true });
    await another.send(1);
    assert.equal(await another.read, 'too-many');
  });

  test('a body whose Content-Encoding is identity is taken, and a compressed one is not', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const plain = sending(receiving, 'a', { contentEncoding: 'Identity' });
    await plain.send(10);
    plain.end();
    assert.equal(await plain.read, 10);
    assert.equal(await sending(receiving, 'a', { contentEncoding: 'gzip' }).read, 'unsupported-media');
    assert.equal(await sending(receiving, 'a', { contentEncoding: 'identity, gzip' }).read, 'unsupported-media');
  });

  test('a body of somebody who has shown a token makes room for nobody', async () => {
    const receiving = createReceiving(BYTES_MAX);
    const known = ['a', 'b', 'c', 'd'].map((client) => sending(receiving, client, { isKnown: true }));
    for (const body of known) await body.send(1_000);
    const late = sending(receiving, 'e');
    await late.send(10);
    assert.equal(await late.read, 'too-many');
    assert.equal(receiving.bytes, 4_000);
  });

  test('a body counts until its request is answered, and is malformed where the client goes away', async () => {
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

test('an answer that nobody reads fails no process when all bytes are taken', async () => {
  const receiving = createReceiving(4 * 1_048_576);
  const answered: number[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { client = '', answer } = incoming.headers as Record<string, string>;
    const request = { client, bytesMax: 1_048_576, isKnown: false };
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
  for (let count = 1; count < 4; count += 1) await once(server, 'answered');
  assert.deepEqual(answered, [200, 429, 429, 429], 'there is room for 3 of the 6 beside the one that is answered');
  for (const socket of [unread, ...halves]) socket.destroy();
  server.close();
});
