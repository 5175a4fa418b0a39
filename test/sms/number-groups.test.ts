import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { numberGroups } from '../../src/sms/numbers.ts';

describe('groups of a number', () => {
  test('a number in E.164 is grouped as its country writes it, and no digit is lost', () => {
    for (const number of ['+27 82 555 0142', '+1 213 373 4253', '+55 11 96123 4567', '+49 1512 3456789']) {
      assert.deepEqual(numberGroups(number.replaceAll(' ', '')), number.split(' '));
    }
  });

  test('what is not in E.164, or of no country, is left as it is written', () => {
    for (const text of [
      '0825550142',
      '+27 82 555 0142',
      '40404',
      'VODACOM',
      '+0825550142',
      '+',
      '',
      '+278255501420000',
    ]) {
      assert.equal(numberGroups(text).join(''), text);
      assert.ok(numberGroups(text).length === 1 || text === '+278255501420000', text);
    }
  });
});
