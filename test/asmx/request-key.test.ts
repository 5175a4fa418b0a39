import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hashOf, isKeyOf, keyOf, lengthOf } from '../../src/asmx/request-key.ts';
import type { Request } from '../../src/base/exchange.ts';

const requestOf = (parts: Partial<Request> = {}): Request => ({
  method: 'POST',
  path: '/api/inbox.asmx',
  query: '',
  headers: { 'content-type': 'text/xml', soapaction: '"CountUnread"', host: 'a' },
  base: '',
  client: '127.0.0.1',
  body: () => new Uint8Array(),
  ...parts,
});
const bytes = (text: string): Uint8Array => Buffer.from(text);
const BODY = bytes('<user_id>one</user_id>');

describe('the key of a request', () => {
  const key = keyOf(requestOf(), BODY);

  test('equal requests have the same key, wherever their bytes are in memory', () => {
    const padded = bytes(`-${Buffer.from(BODY)}-`).subarray(1, -1);
    assert.equal(hashOf(requestOf(), padded), key.hash);
    assert.ok(isKeyOf(key, requestOf({ headers: { ...requestOf().headers, host: 'b' } }), padded));
  });

  const others: Record<string, [Partial<Request>, Uint8Array]> = {
    method: [{ method: 'GET' }, BODY],
    path: [{ path: '/api/sent.asmx' }, BODY],
    query: [{ query: 'a=1' }, BODY],
    'Content-Type': [{ headers: { soapaction: '"CountUnread"' } }, BODY],
    SOAPAction: [{ headers: { 'content-type': 'text/xml', soapaction: '"CountRead"' } }, BODY],
    body: [{}, bytes('<user_id>two</user_id>')],
    'end of the body': [{}, BODY.subarray(0, -1)],
  };
  for (const [what, [parts, body]] of Object.entries(others)) {
    test(`a request with another ${what} has another key`, () => assert.ok(!isKeyOf(key, requestOf(parts), body)));
  }

  test('a key does not keep the packet of its request in memory', () => {
    const packet = Buffer.alloc(60_000, 'x');
    assert.equal(keyOf(requestOf(), packet.subarray(0, 100)).body.buffer.byteLength, 100);
  });

  test('the length of a key counts all of its parts', () => {
    assert.equal(lengthOf(key), 'POST/api/inbox.asmxtext/xml"CountUnread"'.length + BODY.length);
  });

  const SIMILAR = 20_000;
  const similar: Record<string, (number: number) => [Partial<Request>, Uint8Array]> = {
    bodies: (number) => [{}, bytes(`<user_id>user-${number}</user_id>`)],
    queries: (number) => [{ query: `user_id=user-${number}` }, bytes('')],
    paths: (number) => [{ path: `/api/${number}` }, BODY],
    lengths: (number) => [{}, new Uint8Array(number)],
  };
  for (const [what, make] of Object.entries(similar)) {
    test(`similar ${what} have different hashes`, () => {
      const hashes = new Set<number>();
      for (let number = 0; number < SIMILAR; number++) {
        const [parts, body] = make(number);
        hashes.add(hashOf(requestOf(parts), body));
      }
      // Chance alone makes 0.05 pairs; 20 would be no chance.
      assert.ok(hashes.size > SIMILAR - 20, `${hashes.size} hashes`);
    });
  }
});
