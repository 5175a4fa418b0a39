import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { readJson } from '../../src/operator/json-body.ts';

const kindOf = (text: string): string => {
  try {
    readJson(Buffer.from(text));
    return 'none';
  } catch (thrown) {
    return thrown instanceof Problem ? thrown.kind : String(thrown);
  }
};

describe('JSON bodies', () => {
  test('levels and values are counted before the body is parsed', () => {
    assert.equal(kindOf('['.repeat(32) + ']'.repeat(32)), 'none');
    assert.equal(kindOf('['.repeat(33) + ']'.repeat(33)), 'too-large');
    assert.equal(kindOf('['.repeat(500_000)), 'too-large');
    assert.equal(kindOf(`[${'0,'.repeat(19_998)}0]`), 'none');
    assert.equal(kindOf(`[${'0,'.repeat(20_000)}0]`), 'too-large');
  });

  test('what stands in a text is not counted', () => {
    const text = '[{,"\\'.repeat(20_000);
    assert.deepEqual(readJson(Buffer.from(JSON.stringify({ text }))), { text });
    assert.equal(kindOf('"an open text \\'), 'malformed');
    assert.equal(kindOf(']]]]'), 'malformed');
  });
});
