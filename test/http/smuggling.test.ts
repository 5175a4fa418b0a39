import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { assertRefusal, said } from '../support/http-client.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { openConnection, statusOf, textOf } from '../support/socket.ts';

/**
 * Requests whose end two servers may see at different places. A proxy before us may have seen another one: so what is in doubt
 * is refused, nothing of it is done, nothing behind it is taken for a request, and the connection is closed.
 */
const save = (message: string) => `user_id=${ACME}&message=${message}`;
const BODY = save('doubtful');
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
/** What an attacker hides behind or in a request. */
const HIDDEN = `GET /api/account.asmx/SaveMessageTemplate?${save('hidden')} HTTP/1.1\r\nHost: h\r\n\r\n`;
const TARGET = '/api/account.asmx/SaveMessageTemplate';
const COUNT = `GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1\r\nHost: h\r\n`;
const post = (fields: string, body: string, version = '1.1') =>
  `POST ${TARGET} HTTP/${version}\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n${fields}\r\n${body}${HIDDEN}`;
const get = (fields: string, version = '1.1') =>
  `GET ${TARGET}?${BODY} HTTP/${version}\r\nHost: h\r\n${fields}\r\n${HIDDEN}`;
const length = (value: string) => post(`Content-Length: ${value}\r\n`, BODY);
const coding = (...values: string[]) =>
  post(values.map((value) => `Transfer-Encoding: ${value}\r\n`).join(''), CHUNKED);
const chunks = (text: string) => post('Transfer-Encoding: chunked\r\n', text);

const MALFORMED = [400, 'The request is not well-formed HTTP.'] as const;
const CODING = [400, 'The only Transfer-Encoding is chunked, in HTTP/1.1.'] as const;
const HEAD = [431, 'The address and header fields of a request have at most 65536 bytes.'] as const;

const REFUSED: Record<string, readonly [bytes: string, refusal: readonly [number, string]]> = {
  'two lengths that differ': [post(`Content-Length: ${BODY.length}\r\nContent-Length: 3\r\n`, BODY), MALFORMED],
  'two equal lengths': [post(`Content-Length: ${BODY.length}\r\ncontent-length: ${BODY.length}\r\n`, BODY), MALFORMED],
  'a list of lengths': [length(`${BODY.length}, ${BODY.length}`), MALFORMED],
  'a length with a sign': [length(`+${BODY.length}`), MALFORMED],
  'a negative length': [length('-1'), MALFORMED],
  'a length in base 16': [length(`0x${BODY.length.toString(16)}`), MALFORMED],
  'a length with a fraction': [length(`${BODY.length}.0`), MALFORMED],
  'an empty length': [length(''), MALFORMED],
  'two numbers in a length': [length(`${BODY.length} 3`), MALFORMED],
  'a length beyond 64 bits': [length('99999999999999999999999'), MALFORMED],
  'a length and chunks': [
    post(`Content-Length: ${CHUNKED.length}\r\nTransfer-Encoding: chunked\r\n`, CHUNKED),
    MALFORMED,
  ],
  'chunks and a length': [post(`Transfer-Encoding: chunked\r\nContent-Length: 3\r\n`, CHUNKED), MALFORMED],
  'chunked, identity': [coding('chunked, identity'), MALFORMED],
  'chunked in one line and identity in the next': [coding('chunked', 'identity'), MALFORMED],
  'chunked twice': [coding('chunked', 'chunked'), MALFORMED],
  'identity alone': [coding('identity'), MALFORMED],
  'identity and then chunked': [coding('identity', 'chunked'), CODING],
  'gzip, chunked': [coding('gzip, chunked'), CODING],
  'a coding that nobody knows': [coding('xchunked'), MALFORMED],
  'a quoted coding': [coding('"chunked"'), MALFORMED],
  'a coding behind a vertical tab': [coding('\x0bchunked'), MALFORMED],
  'an empty coding': [coding(''), MALFORMED],
  'chunks in HTTP/1.0': [post('Transfer-Encoding: chunked\r\n', CHUNKED, '1.0'), CODING],
  'a folded field': [post(`X: a\r\n b\r\nContent-Length: ${BODY.length}\r\n`, BODY), MALFORMED],
  'a folded length': [post(`Content-Length:\r\n ${BODY.length}\r\n`, BODY), MALFORMED],
  'a folded first field': [get('').replace('Host:', ' Host:'), MALFORMED],
  'bare line feeds': [get('X: y\r\n').replaceAll('\r\n', '\n'), MALFORMED],
  'a bare line feed before the request': [`\n${get('X: y\r\n')}`, MALFORMED],
  'a bare carriage return before the request': [`\r${get('X: y\r\n')}`, MALFORMED],
  'one bare line feed': [get('X: y\nZ: z\r\n'), MALFORMED],
  'a bare line feed before the body': [
    post(`Content-Length: ${BODY.length}\r\n`, BODY).replace('\r\n\r\n', '\r\n\n'),
    MALFORMED,
  ],
  'a bare carriage return': [get('X: y\rZ: z\r\n'), MALFORMED],
  'a blank before the colon': [get('X : y\r\n'), MALFORMED],
  'a blank before the colon of a length': [post(`Content-Length : ${BODY.length}\r\n`, BODY), MALFORMED],
  'a tab before the colon of a coding': [post('Transfer-Encoding\t: chunked\r\n', CHUNKED), MALFORMED],
  'a field without colon': [get('Xy\r\n'), MALFORMED],
  'a NUL in a value': [get('X: a\0b\r\n'), MALFORMED],
  'a NUL in a name': [get('X\0: ab\r\n'), MALFORMED],
  'a chunk size beyond 64 bits': [chunks(`FFFFFFFFFFFFFFFFF\r\n${BODY}\r\n0\r\n\r\n`), MALFORMED],
  'a negative chunk size': [chunks(`-3\r\n${BODY}\r\n0\r\n\r\n`), MALFORMED],
  'a chunk size with 0x': [chunks(`0x${CHUNKED}`), MALFORMED],
  'a chunk size with a blank': [chunks(CHUNKED.replace('\r\n', ' \r\n')), MALFORMED],
  'no chunk size': [chunks(`\r\n${BODY}\r\n0\r\n\r\n`), MALFORMED],
  'chunks with bare line feeds': [chunks(CHUNKED.replaceAll('\r\n', '\n')), MALFORMED],
  'a bare line feed in a chunk extension': [chunks(CHUNKED.replace('\r\n', ';x=\n')), MALFORMED],
  'a chunk that is longer than its size': [chunks(CHUNKED.replace('doubtful', 'doubtfulX')), MALFORMED],
  'a length in a trailer': [chunks(CHUNKED.replace(/0\r\n\r\n$/, '0\r\nContent-Length: 5\r\n\r\n')), MALFORMED],
  'a coding in a trailer': [
    chunks(CHUNKED.replace(/0\r\n\r\n$/, '0\r\nTransfer-Encoding: chunked\r\n\r\n')),
    MALFORMED,
  ],
  'a long chunk extension': [
    chunks(CHUNKED.replace('\r\n', `;${'x'.repeat(20_000)}\r\n`)),
    [413, 'The extensions of a chunk are too long.'],
  ],
  'a flood of trailers': [chunks(CHUNKED.replace(/0\r\n\r\n$/, `0\r\n${'X: y\r\n'.repeat(20_000)}\r\n`)), HEAD],
  'a flood of fields': [get('X: y\r\n'.repeat(20_000)), HEAD],
  'a field without end': [get(`X: ${'y'.repeat(70_000)}\r\n`), HEAD],
  'HTTP/2.0': [get('', '2.0'), [400, 'Only HTTP/1.1 and HTTP/1.0 are supported.']],
  'HTTP/1.10': [get('', '1.10'), MALFORMED],
  'no version': [get('').replace(' HTTP/1.1', ''), [400, 'Only HTTP/1.1 and HTTP/1.0 are supported.']],
  'a blank in the address': [get('').replace('?', '? '), MALFORMED],
  'a NUL in the address': [get('').replace('?', '?\0'), MALFORMED],
  'a byte beyond ASCII in the path': [get('').replace('/api', '/\xE9api'), MALFORMED],
  'a control character in the query': [get('').replace('?', '?\x1F'), MALFORMED],
  'a DEL in the query': [get('').replace('?', '?\x7F'), MALFORMED],
  'a method that is no token': [get('').replace('GET', 'G(T'), MALFORMED],
  'a method of 33 characters': [get('').replace('GET', 'G'.repeat(33)), MALFORMED],
  'the beginning of HTTP/2': [
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${HIDDEN}`,
    [400, 'Only HTTP/1.1 and HTTP/1.0 are supported.'],
  ],
  'the beginning of TLS': ['\x16\x03\x01\x02\0\x01\0\x01\xFC\x03\x03', MALFORMED],
};

onOneEngine('ambiguous requests', (engine) => {
  let service: Service;
  let address: string;
  before(async () => {
    service = await startService(engine);
    address = await service.app.start();
  });
  after(() => service.stop());

  const templates = async () => {
    const { text } = await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
    return [...text.matchAll(/<string>([^<]*)</g)].map(([, template]) => template);
  };
  const assertNothingSaved = async () => {
    const saved = await templates();
    for (const doubtful of ['doubtful', 'hidden']) assert.ok(!saved.includes(doubtful), `${doubtful} was saved`);
  };

  for (const [name, [bytes, [status, message]]] of Object.entries(REFUSED)) {
    test(`a request with ${name} gets ${status}, is not executed, and its connection is closed`, async () => {
      const answers = await said(address, bytes);
      assert.equal(answers.length, 1);
      assertRefusal(answers[0], status, message);
      assert.equal(answers[0]?.headers.connection, 'close');
      await assertNothingSaved();
    });
  }

  test('a request before the ambiguous one is answered first', async () => {
    const first = `${COUNT}\r\n`;
    for (const bytes of [`${first}\x01\x02`, first + length('+3'), first + first + chunks('zz\r\n')]) {
      const answers = await said(address, bytes);
      for (const answer of answers.slice(0, -1)) assert.match(textOf(answer), />4<\/long>/);
      assertRefusal(answers.at(-1), ...MALFORMED);
      assert.equal(answers.length, bytes.split('CountUnread').length);
    }
    await assertNothingSaved();
  });

  test('bytes of a body that look like a request are not handled as one', async () => {
    for (const [start, fields] of [
      ['GET /nowhere', `Content-Length: ${HIDDEN.length}`],
      ['POST /nowhere', `Content-Length: ${HIDDEN.length}`],
      ['GET /nowhere', 'Transfer-Encoding: CHUNKED'],
    ] as const) {
      const body = fields.includes('CHUNKED')
        ? `${HIDDEN.length.toString(16)};a=b\r\n${HIDDEN}\r\n0\r\nX: y\r\n\r\n`
        : HIDDEN;
      const connection = await openConnection(address);
      for (let time = 0; time < 2; time += 1) {
        await connection.send(Buffer.from(`${start} HTTP/1.1\r\nHost: h\r\n${fields}\r\n\r\n${body}`, 'latin1'));
        assert.equal(statusOf(await connection.receive()), 404);
      }
      connection.close();
    }
    await assertNothingSaved();
  });

  test('nothing is read after a request with Connection: close', async () => {
    const answers = await said(address, `${COUNT}Connection: close\r\n\r\n${HIDDEN}`);
    assert.equal(answers.length, 1);
    assert.match(textOf(answers[0] as never), />4<\/long>/);
    assert.equal(answers[0]?.headers.connection, 'close');
    await assertNothingSaved();
  });

  for (const [name, fields] of Object.entries({
    HTTP2: 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
    'a web socket': 'Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
  })) {
    test(`a client that offers to upgrade to ${name} is answered in HTTP/1.1, and so are its next requests`, async () => {
      const bytes = `${COUNT}Connection: Upgrade\r\n${fields}\r\n${COUNT}Connection: close\r\n\r\n`;
      const answers = await said(address, bytes);
      assert.deepEqual(
        answers.map(({ headers }) => [headers.connection, headers.upgrade]),
        [
          ['keep-alive', undefined],
          ['close', undefined],
        ],
      );
      for (const answer of answers) assert.match(textOf(answer), />4<\/long>/);
    });
  }

  for (const method of ['get', 'post', 'head', 'FROBNICATE', 'X'.repeat(32), '*', '__proto__']) {
    test(`the unknown method ${method} gets 405 with Allow, and what follows it is not read as a request`, async () => {
      for (const [target, allow] of [
        [TARGET, 'GET, POST'],
        ['/api/inbox.asmx', 'GET, HEAD, POST'],
        ['/', 'GET, HEAD'],
      ] as const) {
        for (const [field, body] of [
          ['X: y', ''],
          [`Content-Length: ${HIDDEN.length}`, HIDDEN],
          ['Transfer-Encoding: chunked', `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`],
        ]) {
          const bytes = `${method} ${target} HTTP/1.1\r\nHost: h\r\n${field}\r\n\r\n${body}${HIDDEN}`;
          const answers = await said(address, bytes);
          assert.equal(answers.length, 1);
          assertRefusal(answers[0], 405, `This address accepts only ${allow}.`);
          assert.deepEqual([answers[0]?.headers.allow, answers[0]?.headers.connection], [allow, 'close']);
        }
      }
      await assertNothingSaved();
    });
  }

  test('CONNECT is refused with 405, and what follows it is not read as a request', async () => {
    const answers = await said(address, `CONNECT sms.example:443 HTTP/1.1\r\nHost: h\r\n\r\n${HIDDEN}`);
    assert.equal(answers.length, 1);
    assertRefusal(answers[0], 405, 'This server is not a proxy.');
    assert.equal(answers[0]?.headers.allow, 'GET, HEAD, POST');
    await assertNothingSaved();
  });
});
