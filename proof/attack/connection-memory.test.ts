import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type Engine, engines } from '../../test/support/engines.ts';
import { portOf, type Scene, said, scene, stranger } from '../../test/support/http-client.ts';
import { envelope, operationElement } from '../../test/support/protocols.ts';
import { requestBytes } from '../../test/support/socket.ts';

/** What was refused leaves nothing behind, and what is too large is never held. */

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MIB = 2 ** 20;
/** In MiB, without what can be thrown away: some of it only when a turn has passed since it was found. */
async function memoryInUse(): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    collectGarbage();
    await wait(10);
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
}

// Each of 500 may leave 12 KiB behind: less than the smallest of these requests holds while it is looked at.
const GROWTH_MAX_MIB = 6;
const TIMES = 500;
const AT_ONCE = 20;

const soap = (body: string | Buffer, fields: readonly string[] = []) =>
  requestBytes(
    'POST /api/inbox.asmx HTTP/1.1',
    ['Host: h', 'Content-Type: text/xml', 'Connection: close', ...fields],
    body,
  );
const get = (target: string, fields: readonly string[]) =>
  requestBytes(`GET ${target} HTTP/1.1`, [...fields, 'Connection: close']);
const inHeader = (content: string) =>
  envelope('soap11', operationElement('CountRead', {}), `<s:Header>${content}</s:Header>`);
const BOMB = Buffer.alloc(16 * MIB, ' ');
const [GZIP, BROTLI] = [gzipSync(BOMB), brotliCompressSync(BOMB, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })];
const SMALL = { bodyBytesMax: 65_536, inflatedBytesMax: 65_536 };
const CHUNKED = ['Transfer-Encoding: chunked'];

const ATTACKS: Record<string, (turn: number) => Buffer> = {
  'a DOCTYPE with entities': () => soap(`<!DOCTYPE a [<!ENTITY e "${'x'.repeat(5_000)}">]><a>&e;</a>`),
  'too deep elements': () => soap(inHeader('<a>'.repeat(5_000))),
  'too many elements': () => soap(inHeader('<a/>'.repeat(11_000))),
  'names that nobody has seen before': (turn) => soap(inHeader(`<a${turn} b${turn}="" xmlns:c${turn}="u${turn}"/>`)),
  'a flood of references': () => soap(inHeader(`<a>${'&#65;'.repeat(3_000)}</a>`)),
  'a gzip bomb': () => soap(GZIP, ['Content-Encoding: gzip']),
  'a brotli bomb': () => soap(BROTLI, ['Content-Encoding: br']),
  'a body in chunks that is too large': () =>
    soap(`${`1000\r\n${'x'.repeat(4_096)}\r\n`.repeat(20)}0\r\n\r\n`, CHUNKED),
  'a body in chunks of one byte': () => soap('1\r\nx\r\n'.repeat(1_000).concat('0\r\n\r\n'), CHUNKED),
  'two lengths': () => soap('', ['Content-Length: 5', 'Content-Length: 6']),
  'a flood of fields': () => get('/', ['Host: h', ...Array<string>(9_000).fill('X: y')]),
  'a Host that nobody has seen before': (turn) => get('/', [`Host: h${turn}<`]),
  'an address that is too long': (turn) => get(`/?${turn}${'x'.repeat(62_000)}`, ['Host: h']),
  'a media type that nobody has seen before': (turn) =>
    requestBytes(
      'POST /api/inbox.asmx HTTP/1.1',
      ['Host: h', `Content-Type: a/b${turn}; c=d`, 'Connection: close'],
      'x',
    ),
  'a user_id that nobody has': (turn) => get(`/api/inbox.asmx/CountRead?user_id=nobody-${turn}`, ['Host: h']),
};

// Nothing of this gets to the database, so one is enough.
const [engine] = engines as [Engine];

describe('memory of connections', () => {
  async function repeat({ address }: Scene, times: number, attack: (turn: number) => Buffer, first: number) {
    let turn = first;
    const one = async () => {
      while (turn < first + times) await said(address, attack(turn++));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  }

  for (const [name, attack] of Object.entries(ATTACKS)) {
    test(`${TIMES} connections leave nothing in memory: ${name}`, () =>
      scene(engine, SMALL, async (present) => {
        await repeat(present, 100, attack, 0); // what is compiled and cached once
        const before = await memoryInUse();
        await repeat(present, TIMES, attack, 100);
        const grown = (await memoryInUse()) - before;
        assert.ok(grown < GROWTH_MAX_MIB, `${grown.toFixed(1)} MiB more`);
      }));
  }

  test('interrupted connections leave nothing in memory', () =>
    scene(engine, {}, async ({ address, neighbour }) => {
      const breakOff = async () => {
        const { socket, told } = stranger(address, soap('x', ['Content-Length: 5000']));
        await new Promise((resolve) => socket.once('connect', resolve));
        socket.destroy();
        await told;
      };
      for (let turn = 0; turn < 100; turn += 1) await breakOff();
      const before = await memoryInUse();
      for (let turn = 0; turn < TIMES; turn += 1) await breakOff();
      await neighbour.call();
      const grown = (await memoryInUse()) - before;
      assert.ok(grown < GROWTH_MAX_MIB, `${grown.toFixed(1)} MiB more`);
    }));

  test('an endless body takes no more memory than the limit of a body', () =>
    scene(engine, {}, async ({ address }) => {
      // One that does not mind being told that it has had its answer.
      const socket = connect({ port: portOf(address), host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {}).resume();
      socket.write(soap('', CHUNKED));
      const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);
      const before = await memoryInUse();
      let sent = 0;
      let most = 0;
      while (!socket.destroyed && sent < 64 * MIB) {
        if (!socket.write(chunk))
          await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), wait(50)]);
        sent += chunk.length;
        if (sent % (4 * MIB) < chunk.length) most = Math.max(most, (await memoryInUse()) - before);
      }
      socket.destroy();
      // Four times the limit of a body. How much more is taken before the connection is closed depends on the machine.
      assert.ok(sent > 4 * MIB, `only ${sent} bytes were sent`);
      assert.ok(most < GROWTH_MAX_MIB, `${most.toFixed(1)} MiB more`);
    }));
});
