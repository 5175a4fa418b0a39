import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { isPublicAddress } from '../../../src/base/public-address.ts';
import { retryAfterMs } from '../../../src/domain/webhooks/deliverer.ts';
import { createEventSender } from '../../../src/domain/webhooks/sender.ts';
import { startReceiver } from '../../carriers/webhook-receiver.ts';

const NEVER = new AbortController().signal;
const LOOPBACK = ['127.0.0.0/8', '::1'];
const sender = (allowedNetworks: readonly string[], names: Record<string, string[]> = {}, timeoutMs = 15_000) =>
  createEventSender({
    allowedNetworks,
    timeoutMs,
    clock: systemClock,
    resolve: async (host) => (names[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  });

describe('the sender of events', () => {
  test('the sender of events sends a POST with its fields to an allowed address', async (t) => {
    const receiver = await startReceiver(t);
    const sent = await sender(LOOPBACK)(receiver.url, { 'webhook-id': 'evt_1' }, '{"ü":1}', NEVER);
    assert.deepEqual(sent, { status: 204, error: null, retryAfter: null });
    assert.equal(receiver.received[0]?.headers['webhook-id'], 'evt_1');
    assert.equal(receiver.received[0]?.body, '{"ü":1}');
  });

  test('the sender of events refuses private and loopback addresses, however they are written', async (t) => {
    const receiver = await startReceiver(t);
    const { port } = new URL(receiver.url);
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '10.0.0.1',
      '169.254.169.254',
    ]) {
      const { status, error } = await sender([])(`http://${host}:${port}/`, {}, '', NEVER);
      assert.equal(status, null, host);
      assert.match(error ?? '', /not public/, host);
    }
    assert.deepEqual(receiver.received, []);
  });

  test('the sender of events checks the addresses that a name has at connect time, all of them', async (t) => {
    const receiver = await startReceiver(t);
    const { port } = new URL(receiver.url);
    const names = {
      'inside.example': ['127.0.0.1'],
      'mixed.example': ['93.184.216.34', '127.0.0.1'],
      'none.example': [],
    };
    for (const host of Object.keys(names)) {
      const { error } = await sender([], names)(`https://${host}:${port}/`, {}, '', NEVER);
      assert.match(error ?? '', host === 'none.example' ? /no address/ : /not public/, host);
    }
    const { status } = await sender(LOOPBACK, names)(`http://inside.example:${port}/`, {}, '', NEVER);
    assert.equal(status, 204);
    assert.equal(receiver.received.length, 1);
  });

  test('the sender of events refuses plain http to a public address', async () => {
    const { error } = await sender([], { 'shop.example': ['93.184.216.34'] })('http://shop.example/', {}, '', NEVER);
    assert.match(error ?? '', /plain http/);
  });

  test('the sender of events does not follow a redirect', async (t) => {
    const receiver = await startReceiver(t);
    receiver.answer = { status: 307, headers: { Location: receiver.url } };
    assert.equal((await sender(LOOPBACK)(receiver.url, {}, '', NEVER)).status, 307);
    assert.equal(receiver.received.length, 1);
  });

  test('the sender of events gives up on a receiver that does not answer, and names no secret of the URL', async (t) => {
    const silent = createServer(() => {});
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.after(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    const slow = await sender(LOOPBACK, {}, 50)(`http://127.0.0.1:${port}/?key=s3cret`, {}, '', NEVER);
    assert.deepEqual(slow, { status: null, error: 'no answer in time', retryAfter: null });
    silent.close();
    const refused = await sender(LOOPBACK)('http://127.0.0.1:1/?key=s3cret', {}, '', NEVER);
    assert.equal(refused.error, 'ECONNREFUSED');
    assert.equal((await sender([])('no address', {}, '', NEVER)).status, null);
  });

  test('an address is public if no special-purpose registry has it', () => {
    for (const address of ['93.184.216.34', '8.8.8.8', '2606:2800:220:1::1', '2a00:1450::1']) {
      assert.ok(isPublicAddress(address), address);
    }
    const inner = '0.0.0.0 100.64.0.1 172.31.0.1 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 192.0.2.1';
    const inner6 =
      ':: ::1 fe80::1 fe80::1%eth0 fc00::1 ff02::1 2001:db8::1 2002:7f00:1:: ::ffff:10.0.0.1 ::ffff:7f00:1 64:ff9b::7f00:1';
    for (const address of `${inner} ${inner6}`.split(' ')) assert.ok(!isPublicAddress(address), address);
    for (const text of ['', 'localhost', '1.2.3']) assert.ok(!isPublicAddress(text), text);
  });

  test('Retry-After is seconds or a date, and at most a day', () => {
    const now = Date.parse('2026-11-15T12:00:00Z');
    assert.equal(retryAfterMs('120', now), 120_000);
    assert.equal(retryAfterMs('Sun, 15 Nov 2026 12:01:00 GMT', now), 60_000);
    assert.equal(retryAfterMs('Sun, 15 Nov 2026 11:00:00 GMT', now), 0);
    assert.equal(retryAfterMs('999999999', now), 86_400_000);
    for (const field of [null, '', 'soon', '-5']) assert.equal(retryAfterMs(field, now), 0);
  });
});
