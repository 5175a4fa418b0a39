import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { counted, decimal, durationSaid, grouped, unmarked } from '../../src/console/counts.ts';
import { assets, framed } from '../../src/console/frame.ts';

describe('counts', () => {
  test('a number that other languages write in another way is marked with its value', () => {
    assert.equal(grouped(999).html, '999');
    assert.equal(grouped(9_007_199_254_740_993n).html, '<data value="9007199254740993">9,007,199,254,740,993</data>');
    assert.equal(grouped('-1234').html, '<data value="-1234">-1,234</data>');
    assert.equal(decimal(2.64).html, '<data value="2.6">2.6</data>');
    assert.equal(counted(2_000, 'message').html, '<data value="2000">2,000</data> messages');
    assert.equal(counted(1n, 'message').html, '1 message');
    assert.deepEqual(unmarked(counted(2_000, 'message')), { html: '2,000 messages' });
    assert.equal(unmarked('as it is'), 'as it is');
  });

  test('a duration has the unit in which people think of it', () => {
    const said = [400, 12_000, 180_000, 5 * 3_600_000, 3 * 86_400_000].map((ms) => durationSaid(ms).html);
    assert.deepEqual(said, ['<data value="0.4">0.4</data> s', '12 s', '3 min', '5 h', '3 days']);
  });
});

describe('script of the console', () => {
  const scripts = [...assets.values()].filter(({ type }) => type.startsWith('text/javascript'));

  test('each module imports only modules that are served, and the page requests all of them at once', () => {
    const page = framed({ title: 'x', main: { html: '' }, viewer: null, current: '' });
    for (const { path, text } of scripts) {
      assert.ok(page.includes(`"${path}"`), path);
      for (const [, imported = ''] of text.matchAll(/^import .*?'(.*)';$/gm)) assert.ok(assets.has(imported), imported);
    }
    assert.equal(page.split('<script').length, 2);
  });
});
