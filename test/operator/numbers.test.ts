import assert from 'node:assert/strict';
import { test } from 'node:test';
import calculator from 'sms-segments-calculator';
import { hasDigit, isRegion, numberKey, regionOf } from '../../src/sms/numbers.ts';
import { partsOf } from '../../src/sms/parts.ts';

test('all notations of one number have one key, seen from its country', () => {
  for (const text of [
    ...['+27825550201', '0027825550201', '0825550201', '27825550201'],
    ...['082 555 0201', ' 082-555-0201 ', '(082) 555.0201', '+27 82 555 0201', '+27 (0)82 555 0201', '+27(0)825550201'],
    ...[
      '\u00a0082\u00a0555\u00a00201',
      '\uff0b\uff12\uff17825550201',
      '\u0660\u0668\u0662\u0665\u0665\u0665\u0660\u0662\u0660\u0661',
    ],
  ]) {
    assert.equal(numberKey(text, 'ZA'), '+27825550201', text);
  }
});

test('a local number is of the country it is seen from, and without one only international numbers are read', () => {
  assert.equal(numberKey('020 7946 0018', 'GB'), '+442079460018');
  assert.equal(numberKey('(202) 555-0123', 'US'), '+12025550123');
  assert.equal(numberKey('+27 82 555 0201', 'GB'), '+27825550201');
  assert.equal(numberKey('+27 82 555 0201', null), '+27825550201');
  assert.equal(numberKey('082 555 0201', null), '0825550201');
  assert.equal(numberKey('082 555 0201', 'nowhere'), '0825550201');
});

test('a text that cannot be read as a number has its digits for a key, and without digits itself', () => {
  assert.equal(numberKey('ext. 7', 'ZA'), '7');
  assert.equal(numberKey('#7#', 'ZA'), '7');
  assert.equal(numberKey(' reception ', 'ZA'), 'reception');
  assert.equal(numberKey('Reception', 'ZA'), 'Reception');
  assert.equal(numberKey('', 'ZA'), '');
});

test('letters are no digits', () => {
  assert.equal(hasDigit('STOP'), false);
  assert.equal(hasDigit('+'), false);
  assert.equal(hasDigit('a1'), true);
  assert.equal(hasDigit('\u0661'), true);
  assert.equal(numberKey('ACME', 'ZA'), 'ACME');
});

test('the country of a number is known where it is international', () => {
  assert.equal(regionOf('+27825550201'), 'ZA');
  assert.equal(regionOf('+442079460018'), 'GB');
  for (const text of ['0825550201', 'none', '', null]) assert.equal(regionOf(text), null);
});

test('a region is the code of a country', () => {
  for (const text of ['ZA', 'GB', 'US', 'DE']) assert.equal(isRegion(text), true);
  for (const text of ['za', 'XX', '', 'ZAF', '27']) assert.equal(isRegion(text), false);
});

/** GSM 03.38: 160 characters alone, 153 each in several parts; UCS-2: 70, then 67. */
const PARTS: readonly [what: string, text: string, parts: number][] = [
  ['nothing', '', 1],
  ['160 characters of GSM 03.38', 'x'.repeat(160), 1],
  ['161 characters of GSM 03.38', 'x'.repeat(161), 2],
  ['2 × 153 characters of GSM 03.38', 'x'.repeat(306), 2],
  ['2 × 153 + 1 characters of GSM 03.38', 'x'.repeat(307), 3],
  ['its letters with accents', 'èéùìòÇØøÅåÆæßÉÄÖÑÜäöñüà'.repeat(6), 1],
  ['a euro sign, which counts two', `${'x'.repeat(158)}€`, 1],
  ['a euro sign, one too many', `${'x'.repeat(159)}€`, 2],
  ['brackets, braces, tilde, bar, caret and backslash, which count two', '[]{}~|^\\'.repeat(10), 1],
  ['one of them too many', `${'[]{}~|^\\'.repeat(10)}x`, 2],
  ['a two that does not fit into the first part', `${'x'.repeat(152)}€${'x'.repeat(152)}`, 3],
  ['70 characters of UCS-2', 'ж'.repeat(70), 1],
  ['71 characters of UCS-2', 'ж'.repeat(71), 2],
  ['2 × 67 characters of UCS-2', 'ж'.repeat(134), 2],
  ['2 × 67 + 1 characters of UCS-2', 'ж'.repeat(135), 3],
  ['one character that is not in GSM 03.38', `${'x'.repeat(70)}ж`, 2],
  ['35 emoji, which count two', '😀'.repeat(35), 1],
  ['36 emoji', '😀'.repeat(36), 2],
  ['line ends', `${'x'.repeat(158)}\r\n`, 1],
];
for (const [what, text, parts] of PARTS) {
  test(`${what}: ${parts} ${parts === 1 ? 'part' : 'parts'}`, () => assert.equal(partsOf(text), parts));
}

test('texts of the plain alphabet have as many parts as the library that knows all alphabets says', () => {
  const alphabet = [...`AZaz09 \n!"#%&'()*+,-./:;<=>?@_£$¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà`];
  for (let length = 0; length < 700; length += 13) {
    const text = Array.from({ length }, (_, at) => alphabet[(at * 31 + length) % alphabet.length]).join('');
    assert.equal(partsOf(text), Math.max(1, new calculator.SegmentedMessage(text).segmentsCount), JSON.stringify(text));
  }
});
