import assert from 'node:assert/strict';
import { test } from 'node:test';
import calculator from 'sms-segments-calculator';
import { hasDigit, isRegion, numberKey, regionOf, sameNumber, writtenKey } from '../../src/sms/numbers.ts';
import { partsOf } from '../../src/sms/parts.ts';

test('all notations of one number have one key in the region of its country', () => {
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

test('a local number belongs to the region in which it is read, and without a region only international numbers are read', () => {
  assert.equal(numberKey('020 7946 0018', 'GB'), '+442079460018');
  assert.equal(numberKey('(202) 555-0123', 'US'), '+12025550123');
  assert.equal(numberKey('+27 82 555 0201', 'GB'), '+27825550201');
  assert.equal(numberKey('+27 82 555 0201', null), '+27825550201');
  assert.equal(numberKey('082 555 0201', null), '0825550201');
  assert.equal(numberKey('082 555 0201', 'nowhere'), '0825550201');
});

test('without a country a number is international with plus sign, with 00 and with neither', () => {
  for (const text of ['+27825550201', '0027825550201', '27825550201', '00 27 82 555 0201', '+27 (0)82 555 0201']) {
    assert.equal(numberKey(text, null), '+27825550201', text);
  }
});

test('a text is read as a local number first, then as one of another country, then as its digits', () => {
  assert.equal(numberKey('2389911234', 'GB'), '+442389911234'); // +238 991 12 34 is one of Cape Verde
  assert.equal(numberKey('+2389911234', 'GB'), '+2389911234');
  assert.equal(numberKey('002389911234', 'GB'), '+2389911234');
  assert.equal(numberKey('27825550201', 'GB'), '+27825550201');
  assert.equal(numberKey('0027825550201', 'US'), '+27825550201'); // where one dials 011
  assert.equal(numberKey('01127825550201', 'US'), '+27825550201');
  assert.equal(numberKey('123456789012345678901', 'GB'), '123456789012345678901');
});

test('a local number that begins with the code of its country is recognised by its length', () => {
  assert.equal(numberKey('4915123456789', 'DE'), '+4915123456789');
  assert.equal(numberKey('492112345', 'DE'), '+49492112345'); // 04921 is Emden
  assert.equal(numberKey('278123456', 'ZA'), '+27278123456');
  assert.equal(numberKey('55991234567', 'BR'), '+5555991234567');
});

test('one blank before the first digit is a lost plus sign, if that gives a number', () => {
  assert.equal(numberKey(' 2389911234', 'GB'), '+2389911234');
  for (const text of ['  2389911234', '\t2389911234', '2389911234 '])
    assert.equal(numberKey(text, 'GB'), '+442389911234');
  assert.equal(numberKey(' 02389911234', 'GB'), '+442389911234');
  assert.equal(numberKey(' 7', 'GB'), '7');
});

test('an extension is not part of a number', () => {
  for (const text of [
    '0825550201 ext. 12',
    '0825550201x12',
    '+27825550201;ext=12',
    '082 555 0201 #12',
    '0825550201 extn 12#',
  ]) {
    assert.equal(numberKey(text, 'ZA'), '+27825550201', text);
    assert.equal(writtenKey(text).slice(-6), '550201', text);
  }
});

test('a number is searched for by its last 6 digits, and one of fewer local digits also by these alone', () => {
  assert.deepEqual(sameNumber('082 555 0201', 'ZA').ends, ['550201']);
  assert.deepEqual(sameNumber('+50051234', null).ends, ['051234', '51234']);
  assert.deepEqual(sameNumber('reception', 'ZA').ends, ['eption']);
});

test('a text that cannot be read as a number has its digits for a key, and without digits itself', () => {
  assert.equal(numberKey('ext. 7', 'ZA'), '7');
  assert.equal(numberKey('#7#', 'ZA'), '7');
  assert.equal(numberKey(' reception ', 'ZA'), 'reception');
  assert.equal(numberKey('Reception', 'ZA'), 'Reception');
  assert.equal(numberKey('', 'ZA'), '');
});

test('letters in a phone number are no digits', () => {
  assert.equal(hasDigit('STOP'), false);
  assert.equal(hasDigit('+'), false);
  assert.equal(hasDigit('a1'), true);
  assert.equal(hasDigit('\u0661'), true);
  assert.equal(numberKey('ACME', 'ZA'), 'ACME');
});

test('the country of a number is known if the number is international', () => {
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
  test(`a text has ${parts} ${parts === 1 ? 'part' : 'parts'}: ${what}`, () => assert.equal(partsOf(text), parts));
}

test('texts of the GSM 7-bit alphabet have as many parts as the library says', () => {
  const alphabet = [...`AZaz09 \n!"#%&'()*+,-./:;<=>?@_£$¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà`];
  for (let length = 0; length < 700; length += 13) {
    const text = Array.from({ length }, (_, at) => alphabet[(at * 31 + length) % alphabet.length]).join('');
    assert.equal(partsOf(text), Math.max(1, new calculator.SegmentedMessage(text).segmentsCount), JSON.stringify(text));
  }
});
