import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Config } from '../../src/config/settings.ts';
import { createBodyReceiver } from '../../src/http/body-receiver.ts';
import type { Addresses, Peer } from '../../src/http/client-address.ts';
import { decompress } from '../../src/http/compression.ts';
import { createRequests } from '../../src/http/request.ts';
import type { RequestHead } from '../../src/http/request-head.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { envelope, operationElement } from '../../test/support/protocols.ts';
import { ACME, startService } from '../../test/support/service.ts';
import { exchangeMessage, openConnection, requestBytes, statusOf } from '../../test/support/socket.ts';

/** A small request that becomes large: how many of one address are read, and who else is served. */

const call = (userId: string, filler = 0) =>
  envelope(
    'soap11',
    operationElement('CountUnread', { user_id: userId }),
    filler > 0 ? `<s:Header><f>${'x'.repeat(200_000)}</f>${'<g/>'.repeat(filler)}</s:Header>` : '',
  );
/** About 230 KB of XML in less than 1 KB. */
const LARGE = gzipSync(call('nobody', 5_000));
const post = (body: string | Buffer, ...fields: string[]) =>
  requestBytes(
    'POST /api/inbox.asmx HTTP/1.1',
    ['Host: h', 'Content-Type: text/xml', 'Connection: close', ...fields],
    body,
  );
const packed = (body: Buffer, ...fields: string[]) => post(body, 'Content-Encoding: gzip', ...fields);

async function serving(settings: Partial<Config>, work: (address: string) => Promise<void>): Promise<void> {
  const service = await startService(engines[0] as Engine, 'sample', settings);
  try {
    await work(await service.app.start());
  } finally {
    await service.stop();
  }
}

const PROXIED: Partial<Config> = { trustedProxies: ['127.0.0.1'] };
const from = (address: string) => `X-Forwarded-For: ${address}`;

describe('compressed requests of an address that proves to be nobody', () => {
  test('compressed requests of an address that proves to be nobody are read up to 8 MiB and then refused, while others and short calls of the same address are served', () =>
    serving(PROXIED, async (address) => {
      const status = async (bytes: Buffer) => statusOf(await exchangeMessage(address, bytes));
      const attacks = await Promise.all(Array.from({ length: 60 }, () => status(packed(LARGE, from('203.0.113.5')))));
      const read = attacks.filter((each) => each === 500).length;
      assert.ok(read >= 30 && read <= 45, `${read} were read`); // of 230 KB each
      assert.equal(attacks.filter((each) => each === 429).length, 60 - read);
      assert.equal(await status(post(call(ACME), from('203.0.113.5'))), 200);
      assert.equal(await status(packed(gzipSync(call(ACME, 5_000)), from('203.0.113.6'))), 200);
      assert.equal(await status(packed(gzipSync(call(ACME, 5_000)), from('203.0.113.5'))), 429);
    }));

  test('compressed requests are not limited if their calls name an account, however many there are', () =>
    serving(PROXIED, async (address) => {
      const good = gzipSync(call(ACME, 5_000));
      for (let round = 0; round < 60; round++) {
        const answer = await exchangeMessage(address, packed(good, from('203.0.113.7')));
        assert.equal(statusOf(answer), 200);
      }
    }));
});

test('short calls with a Content-Encoding are not limited, whether it is a compression or not', () =>
  serving(PROXIED, async (address) => {
    const short = gzipSync(call(ACME));
    const client = await openConnection(address);
    const kept = (coding: string, body: string | Buffer) =>
      requestBytes(
        'POST /api/inbox.asmx HTTP/1.1',
        ['Host: h', 'Content-Type: text/xml', `Content-Encoding: ${coding}`, from('203.0.113.8')],
        body,
      );
    for (let round = 0; round < 600; round++) {
      await client.send(round % 2 === 0 ? kept('gzip', short) : kept('utf-8', call(ACME)));
      assert.equal(statusOf(await client.receive()), 200);
    }
    client.close();
  }));

describe('memory of compressed requests', () => {
  test('a decompressed body counts its bytes until its request is answered', () =>
    serving({ receivingBytesMax: 2 ** 18, accountRate: 0 }, async (address) => {
      const good = packed(gzipSync(call(ACME, 5_000)));
      // One at a time there is always room.
      for (let round = 0; round < 5; round++) assert.equal(statusOf(await exchangeMessage(address, good)), 200);
      // All together there is room for one, and 429 for who comes meanwhile.
      const answers = await Promise.all(Array.from({ length: 20 }, () => exchangeMessage(address, good)));
      const statuses = new Set(answers.map(statusOf));
      assert.ok(
        [...statuses].every((status) => status === 200 || status === 429),
        [...statuses].join(),
      );
      assert.equal(statusOf(await exchangeMessage(address, good)), 200);
    }));

  test('a decompressed request is refused if the server is overloaded by then', async () => {
    const head = { method: 'POST', target: '/', headers: { 'content-encoding': 'gzip' }, version: '1.1' };
    const addresses = { of: () => ({ base: '', basePath: '', client: '' }) } as unknown as Addresses;
    const bodies = createBodyReceiver({ bodyBytesMax: 2 ** 20, receivingBytesMax: 2 ** 20 });
    let isOverloaded = false;
    const requests = createRequests(
      { urlLengthMax: 100, inflatedBytesMax: 2 ** 20 },
      addresses,
      bodies,
      () => isOverloaded,
    );
    const request = requests.make({
      head: head as unknown as RequestHead,
      peer: {} as Peer,
      body: LARGE,
      refused: undefined,
      pollId: undefined,
      holdBack: undefined,
    });
    const body = request.body();
    isOverloaded = true; // while it is decompressed
    await assert.rejects(Promise.resolve(body), { kind: 'unavailable' });
    request.release();
    assert.equal(bodies.held, 0);
  });

  test('decompressed bodies have one limit for all requests, and small bodies always fit', () => {
    const bodies = createBodyReceiver({ bodyBytesMax: 2 ** 20, receivingBytesMax: 2 ** 20 });
    bodies.hold(2 ** 20);
    assert.throws(() => bodies.hold(70_000), { kind: 'too-many' });
    bodies.hold(1_000);
    assert.equal(bodies.held, 2 ** 20 + 1_000);
    bodies.release(2 ** 20);
    bodies.hold(70_000);
    assert.equal(bodies.held, 71_000);
  });
});

test('at most four of 20 compressed bodies are decompressed at a time', async () => {
  const body = gzipSync('x'.repeat(100_000));
  let begun = 0;
  const init = (_: number, type: string) => {
    if (type === 'ZLIB') begun += 1;
  };
  const hook = createHook({ init }).enable();
  try {
    const unpacked = Array.from({ length: 20 }, () => decompress(body, 'gzip', 100_000));
    assert.equal(begun, 4);
    for (const bytes of await Promise.all(unpacked)) assert.equal(bytes.length, 100_000);
    assert.equal(begun, 20);
  } finally {
    hook.disable();
  }
});
