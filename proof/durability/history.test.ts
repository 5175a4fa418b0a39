import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '../../test/support/random.ts';
import { type Call, explain } from './history.ts';

/** A register: the judge must see what is wrong, or its silence means nothing. */
const put = (value: string, calledAt: number, answeredAt: number): Call => ({
  label: `put ${value}`,
  calledAt,
  answeredAt,
  result: 'done',
  apply: () => ({ state: value, result: 'done' }),
});
const get = (result: string, calledAt: number, answeredAt: number): Call => ({
  label: 'get',
  calledAt,
  answeredAt,
  result,
  apply: (state) => ({ state, result: state }),
});
/** Takes it if it is there, and says whether it was. */
const take = (result: 'true' | 'false', calledAt: number, answeredAt: number): Call => ({
  label: 'take',
  calledAt,
  answeredAt,
  result,
  apply: (state) => (state === '' ? { state, result: 'false' } : { state: '', result: 'true' }),
});

const explained: [string, Call[]][] = [
  ['nothing', []],
  ['one after the other', [put('a', 1, 2), get('a', 3, 4), put('b', 5, 6), get('b', 7, 8)]],
  ['a read that overlaps a write and sees it', [put('a', 1, 4), get('a', 2, 3)]],
  ['a read that overlaps a write and does not', [put('a', 1, 4), get('0', 2, 3)]],
  ['two writes whose order a later read tells', [put('a', 1, 4), put('b', 2, 3), get('a', 5, 6)]],
  ['one of two that take at once', [take('true', 1, 4), take('false', 2, 3)]],
  ['a late call that must come first', [get('b', 1, 6), put('a', 2, 3), put('b', 4, 5)]],
];
const refused: [string, Call[]][] = [
  ['a value that nobody wrote', [get('a', 1, 2)]],
  ['a write that was answered and is lost', [put('a', 1, 2), get('0', 3, 4)]],
  ['a write that comes back', [put('a', 1, 2), put('b', 3, 4), get('a', 5, 6)]],
  ['two reads that see two orders', [put('a', 1, 10), put('b', 2, 9), get('a', 3, 4), get('b', 5, 6), get('a', 7, 8)]],
  ['two that both take the same', [take('true', 1, 4), take('true', 2, 3)]],
  ['a write seen and then not seen', [put('a', 1, 6), get('a', 2, 3), get('0', 4, 5)]],
];

describe('the checker of histories', () => {
  for (const [name, history] of explained) {
    test(`the checker finds a linear order for ${name}`, () => assert.equal(explain(history, '0'), null));
  }
  for (const [name, history] of refused) {
    test(`the checker refuses ${name}`, () => assert.match(explain(history, '0') ?? '', /no order explains call/));
  }

  test('the checker is quick with long histories of six clients, and finds one wrong answer among a thousand', () => {
    const random = createRandom('history');
    // Each has its effect at a whole number, and its client waits for it less than three before and after.
    const around = (moment: number) => [moment - random.below(300) / 100, moment + random.below(300) / 100] as const;
    let state = '0';
    const history = Array.from({ length: 1_000 }, (_, moment) => {
      if (random.chance(0.5)) return get(state, ...around(moment));
      state = String(random.below(4));
      return put(state, ...around(moment));
    });
    assert.equal(explain(history, '0'), null);
    const wrong = get('never written', 500, 503);
    assert.match(explain([...history, wrong], '0') ?? '', /→ never written, but from that state/);
  });
});
