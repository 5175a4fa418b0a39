import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFields } from '../../src/base/form-fields.ts';
import { growthOf, RATIO_MAX } from './cpu.ts';
import { formShapes } from './form-shapes.ts';

const COUNT_MAX = 2_000;

describe('the fields of a query or a form', () => {
  for (const [name, shape] of Object.entries(formShapes)) {
    test(`the work of reading fields grows with the bytes, not with their square: ${name}`, async () => {
      const ratio = await growthOf(shape, (text) => readFields(text, COUNT_MAX));
      assert.ok(ratio < RATIO_MAX, `${ratio.toFixed(1)} times the CPU for ten times the bytes`);
    });
  }
});
