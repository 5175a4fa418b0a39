import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { numberEnd, writtenKey } from '../../src/sms/numbers.ts';

describe('the end of a number', () => {
  const digits = fc.stringMatching(/^\d{1,80}$/);

  test('digits alone have the same key and end as the same digits with blanks between them', () => {
    fc.assert(
      fc.property(digits, fc.constantFrom('', '+'), (text, sign) => {
        const spaced = sign + [...text].join(' ');
        assert.equal(writtenKey(sign + text), writtenKey(spaced));
        assert.equal(numberEnd(sign + text), numberEnd(spaced));
      }),
    );
    assert.equal(numberEnd('+27825550142'), '550142');
    assert.equal(numberEnd('142'), '142');
  });

  test('a name of 64 characters beyond the basic plane keeps whole characters at its end', () => {
    assert.equal(numberEnd('😀'.repeat(7)), '😀'.repeat(6));
  });
});
