import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import calculator from 'sms-segments-calculator';
import { charactersBeyondGsm7, encodePart, partHeader, partsOf, splitText } from '../../src/sms/parts.ts';

/** The texts that sms-segments-calculator publishes in its tests, with their segments. */
const VECTORS: readonly [what: string, text: string, encoding: 'gsm7' | 'ucs2', segments: number][] = [
  ['GSM-7 in one segment', '1234567890'.repeat(16), 'gsm7', 1],
  ['GSM-7 in two segments', `${'1234567890'.repeat(16)}1`, 'gsm7', 2],
  ['GSM-7 in three segments', `${'1234567890'.repeat(30)}1234567`, 'gsm7', 3],
  ['UCS-2 in one segment', `😜23456789${'0123456789'.repeat(5)}12345678`, 'ucs2', 1],
  ['UCS-2 in two segments', '😜2345678901234567890123456789012345678901234567890123456789012345678901', 'ucs2', 2],
  ['UCS-2 in three segments', `😜${'1234567890'.repeat(13)}123456`, 'ucs2', 3],
  ['UCS-2 with two emoji', '😜2345678901234567890123456789012345678901234567890123456789😜', 'ucs2', 1],
  ['GSM-7 with characters of the extension table', '{}[]~^|€\\', 'gsm7', 1],
  ['emoji of several code points', '👨‍👩‍👧‍👦'.repeat(7), 'ucs2', 2],
  ['Kanji', '漢'.repeat(71), 'ucs2', 2],
];

describe('parts of a text', () => {
  for (const [what, text, encoding, segments] of VECTORS) {
    test(`a text has ${segments} ${segments === 1 ? 'part' : 'parts'}: ${what}`, () => {
      const split = splitText(text);
      assert.equal(split.encoding, encoding);
      assert.equal(split.parts.length, segments);
      assert.equal(partsOf(text), segments);
      assert.equal(new calculator.SegmentedMessage(text).segmentsCount, segments, 'the library says the same');
    });
  }

  const character = fc.constantFrom(...'abcÄ€{}[]\\^~|жß漢\n\r', '😀', '👨‍👩‍👧‍👦', 'e\u0301', '🇿🇦');
  const text = fc.array(character, { maxLength: 400 }).map((characters) => characters.join(''));

  test('parts join to the text, fit into an SMS and split no surrogate pair and no escape', () => {
    fc.assert(
      fc.property(text, (given) => {
        const { encoding, parts } = splitText(given);
        assert.equal(parts.join(''), given);
        assert.equal(parts.length, partsOf(given));
        for (const part of parts) {
          const body = encodePart(part, encoding);
          const most = encoding === 'gsm7' ? (parts.length > 1 ? 153 : 160) : parts.length > 1 ? 134 : 140;
          assert.ok(body.length <= most, `${body.length} octets`);
          assert.ok(part.isWellFormed());
          if (encoding === 'gsm7') assert.notEqual(body.at(-1), 0x1b);
        }
      }),
    );
  });

  test('texts are split as sms-segments-calculator splits them', () => {
    const known = fc.constantFrom(
      ...'abcÄ€{}[]\\^~|жß漢\n\r',
      '😀',
      '👨‍👩‍👧‍👦',
      'e\u0301',
      '🇿🇦',
      '👍🏽',
      '❤️',
      '\u1100\u1161',
    );
    const alphabets = fc.constantFrom(/./gsu, /[abcÄ€{}[\]\\^~|ß\n\r]/gu);
    fc.assert(
      fc.property(fc.array(known, { maxLength: 400 }), alphabets, (characters, alphabet) => {
        const given = characters.join('').match(alphabet)?.join('') ?? '';
        const { segments } = new calculator.SegmentedMessage(given);
        const raw = segments.map((segment: Iterable<{ raw?: string }>) =>
          Array.from(segment, (each) => each.raw ?? ''),
        );
        assert.deepEqual(
          splitText(given).parts,
          raw.map((each: string[]) => each.join('')),
        );
      }),
    );
  });

  test('a text is UCS-2 exactly where it has a character beyond GSM 7-bit, and these are named', () => {
    fc.assert(
      fc.property(text, (given) => {
        assert.equal(charactersBeyondGsm7(given).length > 0, splitText(given).encoding === 'ucs2');
      }),
    );
    assert.deepEqual(charactersBeyondGsm7('50 € for Łukasz 😀 😀'), ['Ł', '😀']);
  });

  test('a character longer than a part is split between code points', () => {
    const { parts } = splitText(`a${'\u0301'.repeat(200)}`);
    assert.equal(parts.length, 3);
    for (const part of parts) assert.ok(part.length <= 67);
  });

  test('GSM 7-bit has one octet for each septet, UCS-2 two for each unit, and a header names the part', () => {
    assert.deepEqual([...encodePart('@a€', 'gsm7')], [0x00, 0x61, 0x1b, 0x65]);
    assert.deepEqual([...encodePart('ж', 'ucs2')], [0x04, 0x36]);
    assert.deepEqual([...partHeader(0x1ff, 3, 2)], [5, 0, 3, 0xff, 3, 2]);
  });
});
