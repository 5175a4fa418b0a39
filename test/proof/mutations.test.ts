import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { faults } from '../../proof/mutations/faults.ts';

/** `npm run proof mutations` plants them; here it is seen that each can be planted. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('planted faults', () => {
  test('every planted fault has one place in the program, changes it, and names tests that exist', () => {
    const wrong = faults.flatMap(({ file, before, after, tests }) => {
      const places = existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8').split(before).length - 1 : 0;
      const absent = tests.filter((each) => !existsSync(join(ROOT, each)));
      const isRight = places === 1 && before !== after && tests.length > 0 && absent.length === 0;
      return isRight ? [] : [`${file}: ${before}: ${places} places; ${absent.join(', ')}`];
    });
    assert.deepEqual(wrong, []);
  });

  test('there are at least 50 planted faults', () => {
    assert.ok(faults.length >= 50);
  });
});
