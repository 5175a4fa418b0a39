import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fieldBytes, readFields } from '../../src/base/form-fields.ts';

const COUNT_MAX = 2_000;

describe('the fields of a query or a form', () => {
  test('fields are read as URLSearchParams reads them', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('&', '=', '+', '%', '%4', '%41', '%e2%82%ac', '%ff', '%EF%BB%BF'),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('').replace(/^\?+/, '');
        assert.deepEqual(readFields(text, COUNT_MAX), [...new URLSearchParams(text)]);
      }),
    );
  });

  test('bytes of UTF-8 that were not percent-encoded are read too, beside broken ones', () => {
    const text = Buffer.from('näme=€%ff', 'utf8').toString('latin1');
    assert.deepEqual(readFields(text, 2), [['näme', '€\ufffd']]);
  });

  test('more fields than the given count are refused, empty ones included', () => {
    assert.equal(readFields('a=1&a=2', 2)?.length, 2);
    assert.equal(readFields('a=1&a=2&a=3', 2), null);
    assert.equal(readFields('&&&', 2), null);
    assert.deepEqual(readFields('', 2), []);
  });

  test('bytes that are no UTF-8 are kept where bytes are asked for', () => {
    assert.deepEqual(fieldBytes('%ff%00+%zz%'), Buffer.from([0xff, 0, 0x20, 0x25, 0x7a, 0x7a, 0x25]));
  });
});
