import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Request } from '../../src/base/exchange.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { type Service, startService } from '../../test/support/service.ts';

/** The largest answers that callers without a user_id get, in bytes: descriptions and pages, whatever is asked for. */

const KB = 1_000;
/** Of a name as long as Host may be. */
const LONG_BASE = `http://${'h'.repeat(255)}`;
/** Each of these takes more bytes on a page than in a request. */
const LONG = `${"'".repeat(30_000)}${'%26'.repeat(5_000)}${'%C3%BC'.repeat(2_000)}`;
const BROWSER = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };
const DEEP = '/a'.repeat(30_000);

const names = Object.keys(contract);
const ofEach = (...queries: string[]) =>
  names.flatMap((name) => queries.map((query) => ({ path: `/api/${name}.asmx`, query })));
const operations = Object.entries(contract).flatMap(([name, group]) =>
  Object.keys(group).map((operation) => ({ path: `/api/${name}.asmx`, query: `op=${operation}` })),
);
const asked = names.flatMap((name) => [
  { path: `/api/${name}.asmx`, query: `op=${LONG}` },
  { path: `/api/${name}.asmx`, query: `wsdl=${LONG}` },
  { path: `/api/${name}.asmx/${'o'.repeat(60_000)}`, query: '' },
  { path: `/api/${name}.asmx/${LONG}`, query: LONG },
  { path: `/api/${name}.asmx${DEEP}`, query: '' },
  { path: `/api/${name}.asmx/CountUnread`, query: `user_id=${LONG}` },
]);

/** What it is, the bytes that it has at most, the bytes when it is compressed, and what is asked for. */
const ANSWERS: [string, number, number, Partial<Request>[]][] = [
  ['description', 64 * KB, 5 * KB, ofEach('wsdl', 'disco')],
  ['page', 44 * KB, 12 * KB, [{ path: '/', query: '' }, ...ofEach(''), ...operations]],
  ['page that shows what was asked for', 20 * KB, 10 * KB, asked],
  [
    'page for what is not there',
    16 * KB,
    8 * KB,
    [LONG, 'o'.repeat(60_000), DEEP].map((path) => ({ path: `/${path}` })),
  ],
];

describe('the size of answers without a user_id', () => {
  let service: Service;
  before(async () => {
    service = await startService(engines[0] as Engine, 'empty');
  });
  after(() => service.stop());

  for (const [what, bytesMax, packedMax, requests] of ANSWERS) {
    test(`a ${what} has at most ${bytesMax} bytes, compressed ${packedMax}`, async (t) => {
      let [most, mostPacked] = [0, 0];
      for (const request of requests) {
        const { text } = await service.send({ base: LONG_BASE, headers: BROWSER, ...request });
        most = Math.max(most, Buffer.byteLength(text));
        mostPacked = Math.max(mostPacked, gzipSync(text).length);
      }
      t.diagnostic(`${most} bytes, compressed ${mostPacked}`);
      assert.ok(most > 0 && most <= bytesMax, `${most} bytes`);
      assert.ok(mostPacked <= packedMax, `${mostPacked} bytes, compressed`);
    });
  }
});
