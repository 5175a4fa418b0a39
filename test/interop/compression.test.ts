import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { onOneEngine } from '../support/engines.ts';
import { envelope, operationElement } from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { chunked, exchangeMessage, requestBytes, statusOf, textOf } from '../support/socket.ts';

/** Bodies that are compressed on their way, over a socket: in, only as they say; out, only as the client says. */

const START = 'POST /api/inbox.asmx HTTP/1.1';
const FIELDS = ['Host: sms.example', 'Connection: close', 'Content-Type: text/xml; charset=utf-8'];
const call = (operation: string, args: Record<string, string | number>) =>
  envelope('soap11', operationElement(operation, { user_id: ACME, ...args }));
const COUNT = call('CountUnread', {});
const BODY_BYTES_MAX = 64 * 1024;

const UNPACKED: Record<string, readonly [coding: string, pack: (body: string) => Uint8Array]> = {
  gzip: ['gzip', gzipSync],
  'gzip in capitals': ['GZIP', gzipSync],
  'x-gzip': ['x-gzip', gzipSync],
  deflate: ['deflate', deflateSync],
  // RFC 9110 §8.4.1.2 knows of the clients that leave the zlib wrapper out; .NET's DeflateStream makes such bytes.
  'deflate without its wrapper': ['deflate', deflateRawSync],
  brotli: ['br', brotliCompressSync],
  identity: ['identity', Buffer.from],
  // Old programs put into the field what belongs to charset or Content-Transfer-Encoding.
  ...Object.fromEntries(
    ['UTF-8', 'utf-8', 'None', '8bit', '7BIT', 'binary', 'iso-8859-1', 'windows-1252', '', ',', 'identity, utf-8'].map(
      (name) => [`${JSON.stringify(name)}, which is no compression`, [name, Buffer.from] as const],
    ),
  ),
  'gzip in a list with a charset': ['gzip, utf-8', gzipSync],
};

const REFUSED: Record<string, readonly [status: number, coding: string, body: Uint8Array]> = {
  'text that is no gzip': [400, 'gzip', Buffer.from(COUNT)],
  'gzip that breaks off': [400, 'gzip', gzipSync(COUNT).subarray(0, -12)],
  'gzip with a wrong checksum': [400, 'gzip', withoutChecksum(gzipSync(COUNT))],
  'nothing under the name of gzip': [400, 'gzip', Buffer.alloc(0)],
  'text that is no deflate': [400, 'deflate', Buffer.from(COUNT)],
  'a coding that nobody knows': [415, 'zstd-or-so', gzipSync(COUNT)],
  compress: [415, 'compress', gzipSync(COUNT)],
  zstd: [415, 'zstd', gzipSync(COUNT)],
  'base64, which changes the bytes': [415, 'base64', Buffer.from(COUNT)],
  'a list without end': [415, 'utf-8,'.repeat(5_000), Buffer.from(COUNT)],
  'two codings': [415, 'gzip, gzip', gzipSync(gzipSync(COUNT))],
  'a gzip bomb': [413, 'gzip', gzipSync(Buffer.alloc(32 * 1024 * 1024, ' '))],
  'a deflate bomb': [413, 'deflate', deflateSync(Buffer.alloc(32 * 1024 * 1024, ' '))],
  'a bomb that is an envelope': [413, 'gzip', gzipSync(COUNT + ' '.repeat(BODY_BYTES_MAX))],
};

function withoutChecksum(bytes: Buffer): Buffer {
  bytes.fill(0, bytes.length - 8, bytes.length - 4);
  return bytes;
}

/** Every client but one that asks for gzip by name. */
const PLAIN: Record<string, string[]> = {
  'nothing said': [],
  none: ['Accept-Encoding: none'],
  compress: ['Accept-Encoding: compress'],
  identity: ['Accept-Encoding: identity'],
  'an empty field': ['Accept-Encoding:'],
  deflate: ['Accept-Encoding: deflate'],
  'anything else': ['Accept-Encoding: br, zstd'],
  'gzip of no worth': ['Accept-Encoding: gzip;q=0'],
  'gzip of no worth, at length': ['Accept-Encoding: deflate, gzip; q=0.000, identity'],
  'a name that only contains gzip': ['Accept-Encoding: gzipped'],
  TE: ['TE: deflate,gzip;q=0.3'],
};
const PACKED = [
  ...[
    'gzip',
    'gzip, deflate',
    'gzip,deflate,compress',
    'deflate, gzip',
    'GZIP',
    'gzip;q=0.5',
    'gzip;q=1.0, identity; q=0.5',
  ],
  '*;q=0, gzip',
];

onOneEngine('compression, over a socket', (engine) => {
  let service: Service;
  let address: string;
  before(async () => {
    service = await startService(engine, 'sample', { inflatedBytesMax: BODY_BYTES_MAX });
    address = await service.app.start();
  });
  after(() => service.stop());
  const send = (fields: readonly string[], body: string | Uint8Array, start = START) =>
    exchangeMessage(address, requestBytes(start, [...FIELDS, ...fields], body));
  const served = async (fields: readonly string[], body: string | Uint8Array) => {
    const answer = await send(fields, body);
    assert.equal(statusOf(answer), 200, textOf(answer));
    assert.match(textOf(answer), /<CountUnreadResult>4</);
  };

  for (const [name, [coding, pack]] of Object.entries(UNPACKED)) {
    test(`a request in ${name} is read`, () => served([`Content-Encoding: ${coding}`], pack(COUNT)));
  }
  test('a request in gzip and in chunks is read', () =>
    served(['Content-Encoding: gzip', 'Transfer-Encoding: chunked'], chunked(gzipSync(COUNT), 11)));
  test('a form in gzip is read', async () => {
    const fields = ['Host: h', 'Connection: close', 'Content-Type: application/x-www-form-urlencoded'];
    const start = 'POST /api/inbox.asmx/CountUnread HTTP/1.1';
    const packed = gzipSync(`user_id=${ACME}`);
    const answer = await exchangeMessage(address, requestBytes(start, [...fields, 'Content-Encoding: gzip'], packed));
    assert.match(textOf(answer), />4<\/long>/);
  });

  for (const [what, [status, coding, body]] of Object.entries(REFUSED)) {
    test(`${what} is refused with ${status}, and the next request is served`, async () => {
      const answer = await send([`Content-Encoding: ${coding}`, `Content-Length: ${body.length}`], body);
      assert.equal(statusOf(answer), status);
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
      assert.match(textOf(answer), /^[^\n]+\n$/);
      await served([], COUNT);
    });
  }

  const LARGE = call('InboxDS', { max_count: 6 });
  for (const [what, fields] of Object.entries(PLAIN)) {
    test(`an answer is sent plain for Accept-Encoding: ${what}`, async () => {
      for (const answer of [await send(fields, LARGE), await send(fields, '', 'GET /api/inbox.asmx?WSDL HTTP/1.1')]) {
        assert.equal(statusOf(answer), 200);
        assert.equal(answer.headers['content-encoding'], undefined);
        assert.equal(answer.headers['transfer-encoding'], undefined);
        assert.match(answer.body.toString('utf8'), /^<\?xml version="1\.0" encoding="utf-8"\?>/);
      }
    });
  }
  for (const asked of PACKED) {
    test(`an answer is sent in gzip for Accept-Encoding: ${asked}`, async () => {
      const plain = (await send([], LARGE)).body;
      const answer = await send([`Accept-Encoding: ${asked}`], LARGE);
      assert.equal(answer.headers['content-encoding'], 'gzip');
      assert.equal(answer.headers.vary, 'Accept-Encoding');
      assert.ok(answer.body.length < plain.length);
      assert.deepEqual(gunzipSync(answer.body), plain);
    });
  }
  test('a short answer is sent plain even to those who ask for gzip', async () => {
    const answer = await send(['Accept-Encoding: gzip'], COUNT);
    assert.equal(answer.headers['content-encoding'], undefined);
    assert.match(textOf(answer), /<CountUnreadResult>4</);
  });
});
