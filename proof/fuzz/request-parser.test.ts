import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import { duplexPair } from 'node:stream';
import { describe, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { createBodyReceiver } from '../../src/http/body-receiver.ts';
import type { RequestHead } from '../../src/http/request-head.ts';
import { readHead } from '../../src/http/request-head.ts';
import { RequestParser } from '../../src/http/request-parser.ts';
import { createRandom, type Random } from '../../test/support/random.ts';
import { talkOf } from './http-grammar.ts';

/** Requests out of bytes: the same in whichever pieces they come, and the same that node:http makes of them. */

type Seen = readonly [method: string, target: string, body: string, contentType: string, host: string];
interface Read {
  readonly requests: Seen[];
  readonly isRefused: boolean;
  /** A request ended the connection, or is of a version that is not ours: what is behind it is not read. */
  readonly isOver?: boolean;
}

const HEADER_BYTES_MAX = 65_536;
const LENGTH_MAX = 4_000;
const LIMITS = { bodyBytesMax: 2 ** 20, receivingBytesMax: 2 ** 20 };

/** Up to what ends the connection. */
function readHere(pieces: readonly Buffer[]): Read {
  const rules = {
    headerBytesMax: HEADER_BYTES_MAX,
    bodies: createBodyReceiver(LIMITS),
    onExpectContinue: () => {},
    problemOf: ({ length, version }: RequestHead) =>
      Number.isNaN(length) || !/^1\.[01]$/.test(version) ? new Problem('malformed', 'not ours') : undefined,
  };
  const parser = new RequestParser(rules);
  const requests: Seen[] = [];
  for (const piece of pieces) {
    parser.add(piece);
    for (let next = parser.next(); next; next = parser.next()) {
      if (typeof next === 'string') return { requests, isRefused: true };
      const { head, body } = next;
      const { 'content-type': type = '', host = '' } = head.headers;
      const text = body instanceof Problem ? body.kind : Buffer.from(body).toString('latin1');
      requests.push([head.method, head.target, text, type, host]);
      if (!head.persists || next.bodyIncomplete || next.refused) return { requests, isRefused: false, isOver: true };
    }
  }
  return { requests, isRefused: parser.stage !== 'nothing' };
}

// CI judges the change and not the dice.
const random = createRandom('parser', process.env.CI ? 20_261_115 : undefined);
const talk = () => talkOf(random).pieces.map((piece) => Buffer.from(piece, 'latin1'));

function cut({ below }: Random, bytes: Buffer): Buffer[] {
  const places = Array.from({ length: below(6) }, () => below(bytes.length + 1)).sort((a, b) => a - b);
  return [...places, bytes.length].map((end, index) => bytes.subarray(places[index - 1] ?? 0, end));
}

/** As the system hands them over: a part of a larger buffer is not remembered. */
const ownBytes = (bytes: string | Buffer): Buffer => {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(Buffer.from(bytes as string, 'latin1'));
  return own;
};

describe('parsing requests from bytes', () => {
  test('the parser gives the same requests for any division into chunks', () => {
    for (let count = 0; count < 300; count++) {
      const bytes = Buffer.concat(talk());
      const whole = readHere([bytes]);
      for (const pieces of [cut(random, bytes), Array.from(bytes, (byte) => Buffer.from([byte]))]) {
        assert.deepEqual(readHere(pieces), whole, JSON.stringify(bytes.toString('latin1')));
      }
    }
  });

  test('a head that resembles the previous one is not mistaken for it', () => {
    const post = (fields: readonly string[], body = '') =>
      [`POST /a HTTP/1.1`, 'Host: h', ...fields, `Content-Length: ${body.length}`, '', body].join('\r\n');
    const similar = [
      ...[post([], 'one'), post([], 'two'), post([], 'longer'), post([])],
      ...[post(['Host: h']), post(['Content-Type: text/xml'], 'two'), post(['Content-Type: text/xmlx'], 'two')],
      ...[post([], 'one').replace('/a', '/b'), post([], 'one').replace('Host: h', 'host: h'), post([], post([]))],
    ];
    const alone = (request: string) => readHere([ownBytes(request)]).requests;
    for (let count = 0; count < 2_000; count++) {
      const requests = Array.from({ length: 2 + random.below(5) }, () => random.pick(similar));
      const pieces = random.below(2) === 0 ? requests : cut(random, Buffer.from(requests.join('')));
      assert.deepEqual(readHere(pieces.map(ownBytes)).requests, requests.flatMap(alone), JSON.stringify(requests));
    }
  });

  test('empty lines before a request count as bytes of its head, and not of the next one', () => {
    const get = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';
    const lines = '\r\n'.repeat(HEADER_BYTES_MAX / 2);
    const times = (count: number, text: string) => Array.from({ length: count }, () => Buffer.from(text));
    for (const pieces of [times(1, lines + get), times(1, lines).concat(times(1, get))]) {
      assert.equal(readHere([...pieces, ...pieces]).requests.length, 2);
    }
    assert.deepEqual(readHere(times(1, `${lines}\r\n${get}`)), { requests: [], isRefused: true });
    assert.deepEqual(readHere(times(HEADER_BYTES_MAX / 2 + 1, '\r\n')), { requests: [], isRefused: true });
  });

  test('a header field named constructor or __proto__ is just a field, and none is inherited', () => {
    const fields = ['Host: h', 'constructor: x', 'Constructor: y', '__proto__: z', '__proto__: z', 'toString: t'];
    const { headers = {} } = readHead(['GET / HTTP/1.1', ...fields].join('\r\n')) ?? {};
    assert.deepEqual(Object.entries(headers), [
      ['host', 'h'],
      ['constructor', 'x, y'],
      ['__proto__', 'z, z'],
      ['tostring', 't'],
    ]);
    for (const name of ['toString', 'valueOf', 'hasOwnProperty']) assert.equal(headers[name], undefined);
  });

  test('the parser reads what node:http reads and refuses what it refuses', async () => {
    let compared = 0;
    for (let count = 0; count < 3_000; count++) {
      const bytes = Buffer.concat(talk());
      const what = JSON.stringify(bytes.toString('latin1'));
      const [ours, theirs] = [readHere([bytes]), await readByNode(bytes)];
      // Node calls for a request when it has its head.
      const heads = (requests: readonly Seen[]) =>
        requests.map(([method, target, , ...fields]) => [method, target, ...fields]);
      const [here, there] = [heads(ours.requests), heads(theirs.requests)];
      // Long ones are for the tests of bounds: each counts in its own way. And RFC 9112 §3 leaves blanks too many to the server.
      if (
        bytes.length > LENGTH_MAX ||
        / {2,}/.test(bytes.toString('latin1')) ||
        EMPTY_LINE_OF_LF.test(bytes.toString('latin1')) ||
        ours.isOver ||
        theirs.isOver ||
        there.some(isAbsolute) ||
        here.some(isAbsolute) ||
        here.some(isOnlyOurs)
      )
        continue;
      compared += 1;
      assert.deepEqual(here, there.slice(0, here.length), what);
      assert.ok(there.length <= here.length + (ours.isRefused ? 1 : 0), `Node reads more of ${what}`);
      assert.equal(ours.isRefused, theirs.isRefused, what);
      for (const [index, request] of theirs.requests.entries()) {
        if (request[2] !== UNFINISHED) assert.deepEqual(ours.requests[index], request, what);
      }
    }
    assert.ok(compared > 1_000, `only ${compared} were compared`);
  });
});

const UNFINISHED = 'unfinished';
/** Node ignores it between two requests. Here a line ends with CR and LF everywhere. */
const EMPTY_LINE_OF_LF = /(?:^|\r\n)\n/;
/** Of what comes before the path Node wants more than we do, who look at it later: src/http/host-header.ts. */
const isAbsolute = ([, target = '']: readonly string[]) => !target.startsWith('/');

/** Methods that Node does not know, and bytes beyond ASCII in a query, are refused by it. */
const isOnlyOurs = ([method = '', target = '']: readonly string[]) =>
  !METHODS.includes(method) || /[\x80-\xff]/.test(target);

/** What a server of Node's takes for requests, and whether it refuses what follows them. */
function readByNode(bytes: Buffer): Promise<Read> {
  return new Promise((resolve) => {
    const requests: Seen[] = [];
    let isRefused = false;
    let isOver = false;
    const server = createServer({ requireHostHeader: false, maxHeaderSize: HEADER_BYTES_MAX });
    Object.assign(server, { httpAllowHalfOpen: true });
    const [client, side] = duplexPair();
    const take = (request: IncomingMessage, response: ServerResponse) => {
      const parts: Buffer[] = [];
      const { 'content-type': type = '', host = '' } = request.headers;
      const { method = '', url = '', httpVersion } = request;
      // Other versions Node leaves to others, as is done here; and it forgets what follows a wish for an upgrade.
      if ((httpVersion !== '1.1' && httpVersion !== '1.0') || request.headers.upgrade !== undefined) isOver = true;
      const index = requests.push([method, url, UNFINISHED, type, host]) - 1;
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        requests[index] = [method, url, Buffer.concat(parts).toString('latin1'), type, host];
        response.end();
      });
      request.on('error', () => {});
    };
    for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, take);
    const refuse = () => {
      isRefused = true;
      side.destroy();
    };
    server.on('clientError', refuse);
    server.on('connect', refuse);
    side.on('error', () => {});
    client.on('error', () => {});
    client.on('close', () => resolve({ requests, isRefused, isOver }));
    client.resume();
    server.emit('connection', side);
    client.end(bytes);
    setTimeout(() => client.destroy(), 200).unref();
  });
}
