import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import type { Problem } from '../../src/problem.ts';
import { createReceiving, type Receiving } from '../../src/web/receiving.ts';

const BYTES_MAX = 4_000;

/** A body that the test sends piece by piece. */
function sending(receiving: Receiving, client: string, given: { bytesMax?: number; isKnown?: boolean } = {}) {
  const incoming = Object.assign(new PassThrough(), { headers: { 'transfer-encoding': 'chunked' } });
  const fields = new Map<string, string>();
  const outgoing = Object.assign(new EventEmitter(), {
    setHeader: (name: string, value: string) => fields.set(name, value),
  });
  const { bytesMax = 4_000, isKnown = false } = given;
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
    answered: () => void outgoing.emit('close'),
  };
}

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
