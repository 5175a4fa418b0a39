import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aligned, displayWidth } from '../../src/commands/columns.ts';

describe('tables at a terminal', () => {
  test('a character counts as many columns as the terminal gives it', () => {
    const widths: [string, number][] = [
      ['acme', 4],
      ['Žofie', 5],
      ['Z\u030cofie', 5], // a combining caron
      ['株式会社', 8],
      ['서울', 4],
      ['ﾃｽﾄ', 3], // half-width
      ['👍', 2],
      ['👨‍👩‍👧', 2], // one family of three emoji
      ['🇿🇦', 2],
      ['a\u200bb', 2], // a zero-width space
    ];
    for (const [text, width] of widths) assert.equal(displayWidth(text), width, text);
  });

  test('the columns of a table stand below each other with CJK and emoji', () => {
    const rows = [
      ['USERNAME', 'COMPANY', 'CREDITS'],
      ['acme', '株式会社', '5'],
      ['beta', '👍 Ltd', '17'],
    ];
    assert.deepEqual(aligned(rows, undefined), [
      'USERNAME  COMPANY   CREDITS',
      'acme      株式会社  5',
      'beta      👍 Ltd    17',
    ]);
  });

  test('no line of a table is wider than the terminal', () => {
    const rows = [['acme', '株'.repeat(60)]];
    const [line = ''] = aligned(rows, 80);
    assert.ok(displayWidth(line) <= 80 && displayWidth(line) >= 79, String(displayWidth(line)));
    assert.match(line, /^acme {2}株+…$/);
    assert.deepEqual(aligned([['acme', 'short']], 80), ['acme  short']);
  });
});
