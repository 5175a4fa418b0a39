import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { badField, conflict, Problem } from '../../src/base/problem.ts';
import { wrongFields } from '../../src/console/wrong-fields.ts';
import { refused } from '../../src/operator/input.ts';

describe('wrong fields of a form', () => {
  const labels = { text: 'Text', sendAt: 'Send at', file: 'CSV file' };
  const said = (problem: Problem) => wrongFields(problem, labels).sentence;

  test('a field that is named by a pointer, a name or a JSON name is reported by its label', () => {
    for (const pointer of ['#/text', '?text', '{text}', '#/text/0']) {
      assert.equal(said(refused([{ pointer, detail: 'it is long: too long' }])), 'Text: it is long: too long');
    }
    assert.equal(said(badField('sendAt', 'this has passed')), 'Send at: this has passed');
    assert.equal(said(conflict('text: it is there already')), 'Text: it is there already');
  });

  test('a field without a label is reported by its name in words', () => {
    assert.equal(said(badField('notAfter', 'too early')), 'Not after: too early');
    assert.equal(said(refused([{ pointer: '?dry_run', detail: 'what?' }])), 'Dry run: what?');
  });

  test('each of several fields is reported once, by its label', () => {
    const detail = 'expected a whole number from 0 to 9, as a text';
    const errors = ['#/text/0', '#/text/1', '#/sendAt'].map((pointer) => ({ pointer, detail }));
    assert.deepEqual(wrongFields(refused(errors), labels), {
      sentence: '3 fields are wrong.',
      each: ['Text: expected a whole number from 0 to 9', 'Send at: expected a whole number from 0 to 9'],
    });
  });

  test('a sentence that names no field stays as it is', () => {
    for (const sentence of ['Row 3: a quote is not closed.', 'Send at: this time has passed.', 'Not: now']) {
      assert.equal(said(new Problem('bad-argument', sentence)), sentence);
    }
    const errors = [{ pointer: '#/3', detail: 'row 3: it is too long' }];
    assert.equal(said(new Problem('bad-argument', 'Row 3: it is too long.', { errors })), 'Row 3: it is too long.');
  });
});
