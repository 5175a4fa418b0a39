import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contactValues, fieldsOf, filled, valuesOf } from '../../src/sms/fields.ts';

describe('texts with fields', () => {
  test('fields are found once each, in their order, and other parentheses are text', () => {
    assert.deepEqual(fieldsOf('Hello ((first name)), ((Time)) ((First_Name)) (a) ((b'), ['first name', 'Time']);
    assert.deepEqual(fieldsOf('(()) (( )) ((a\nb)) ((c(d)))'), []);
  });

  test('names are compared without regard to case, blanks, hyphens and underscores', () => {
    const values = valuesOf({ 'First-Name': 'Anna', TIME: '14:30' });
    assert.deepEqual(filled('((first name)) at (( time ))', values), { text: 'Anna at 14:30', missing: [] });
  });

  test('a value that is missing or blank is named, and a value is never read as a field', () => {
    const values = valuesOf({ name: '((time))', time: ' ', cost: '$&' });
    assert.deepEqual(filled('((name)) ((time)) ((cost))', values), { text: '((time))   $&', missing: ['time'] });
    assert.deepEqual(filled('((x))', new Map()), { text: '((x))', missing: ['x'] });
  });

  test('a contact has its names and its number', () => {
    const values = contactValues({ name: 'Anna', surname: null, mobile: '+27825550201' });
    const { text, missing } = filled('((name)) ((full name)) ((mobile)) ((surname))', values);
    assert.deepEqual([text, missing], ['Anna Anna +27825550201 ', ['surname']]);
  });
});
