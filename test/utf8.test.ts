import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { utf8Bytes } from '../src/base/utf8.ts';

test('every text has the same bytes as Node encodes it to, half surrogate pairs included', () => {
  const long = (text: string) => text.repeat(Math.ceil(8_200 / Math.max(text.length, 1)));
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.integer({ min: 0, max: 0xffff })), (text, units) => {
      const odd = String.fromCharCode(...units);
      for (const each of [text, long(text), long(text + odd), long(`é${text}`)]) {
        assert.deepEqual(utf8Bytes(each), Buffer.from(each));
      }
    }),
  );
});
