import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { numberGroups, numberKey, regionOf } from '../../src/sms/numbers.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const BODY_BYTES = 1_000_000;
const READ = 100;
const NUMBER_LENGTH = 26;

describe('a number that is remembered', () => {
  for (const [name, read] of Object.entries({
    'its key': (text: string) => numberKey(text, 'ZA'),
    'its groups': numberGroups,
    'its region': regionOf,
  })) {
    test(`a number that is remembered with ${name} does not keep the request that it was cut from`, () => {
      collectGarbage();
      const before = process.memoryUsage().heapUsed;
      for (let index = 0; index < READ; index++) read(numberInBody(index));
      collectGarbage();
      const kept = process.memoryUsage().heapUsed - before;
      assert.ok(kept < (READ * BODY_BYTES) / 10, `${kept} bytes are kept`);
    });
  }
});

/** The end of a long text, which V8 does not copy. */
function numberInBody(index: number): string {
  const body = Buffer.from(`${'x'.repeat(BODY_BYTES)}${String(index).padStart(NUMBER_LENGTH, '9')}`).toString('latin1');
  return body.slice(-NUMBER_LENGTH);
}
