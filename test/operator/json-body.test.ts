import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { Problem } from '../../src/base/problem.ts';
import { actions } from '../../src/operator/actions/all.ts';
import { FIELDS_MAX, readJson } from '../../src/operator/json-body.ts';

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

  test('an object of more fields than any action takes is refused before the body is parsed', (t) => {
    const parse = t.mock.method(JSON, 'parse');
    const fields = (count: number) => Array.from({ length: count }, (_, index) => `"k${index}": 0`).join();
    const bodies = (count: number) => [
      `{${fields(count)}}`,
      `{"config": {${fields(count)}}}`,
      `[{"a": {}, "b": {${fields(9)}}}, {${fields(count)}}]`,
      `{"a": {${fields(9)}}, ${fields(count - 1)}}`,
    ];
    for (const body of bodies(FIELDS_MAX)) assert.equal(kindOf(body), 'none', body);
    const parsed = parse.mock.callCount();
    const sameName = `{${'"a":0,'.repeat(14_000)}"a":0}`;
    for (const body of [...bodies(FIELDS_MAX + 1), ...bodies(14_000), sameName]) {
      assert.throws(() => readJson(Buffer.from(body)), {
        kind: 'bad-argument',
        message: `#: an object has at most ${FIELDS_MAX} fields`,
      });
    }
    assert.equal(parse.mock.callCount(), parsed);
  });

  test('no action takes half as many fields as a body may have', () => {
    for (const { name, body } of actions.filter((each) => each.body)) {
      const { properties = {} } = z.toJSONSchema(body as z.ZodType, { io: 'input', unrepresentable: 'any' });
      assert.ok(Object.keys(properties).length < FIELDS_MAX / 2, name);
    }
  });

  test('an object with two fields of the same name is refused, at every level and however the name is written', () => {
    const twice = [
      '{"to": 1, "to": 2}',
      '[{"a": {"b": 0, "b": 0}}]',
      '{"a": 1, "\\u0061": 2}',
      '{"__proto__": 1, "__proto__": 2}',
    ];
    for (const body of twice) {
      assert.throws(() => readJson(Buffer.from(body)), {
        kind: 'bad-argument',
        message: /^#: an object has two fields/,
      });
    }
    for (const body of ['{"a": {"a": [{"a": ":"}, {"a": null}]}}', '{"__proto__": {"a": 1}}', '{"a": "b", "b": "a"}']) {
      assert.equal(kindOf(body), 'none', body);
    }
  });

  test('brackets and commas within a text are not counted', () => {
    const text = '[{:,"\\'.repeat(20_000);
    assert.deepEqual(readJson(Buffer.from(JSON.stringify({ text }))), { text });
    assert.equal(kindOf('"an open text \\'), 'malformed');
    assert.equal(kindOf(']]]]'), 'malformed');
  });
});
