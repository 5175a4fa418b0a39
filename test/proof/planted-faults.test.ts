import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { plantedFaults } from '../../proof/simulator/faults.ts';

/** `npm run simulate -- --planted` plants them; whoever moves a line learns here that it is in the list. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const placesOf = (file: string, text: string): number =>
  existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8').split(text).length - 1 : 0;

describe('planted faults of the simulator', () => {
  test('every planted fault has its line in the program exactly once, and changes it', () => {
    const wrong = plantedFaults.filter(({ file, before, after }) => placesOf(file, before) !== 1 || before === after);
    assert.deepEqual(
      wrong.map(({ name }) => name),
      [],
    );
  });

  test('at least 50 faults are looked for in simulated worlds, and each of the others names a test that exists', () => {
    const others = plantedFaults.flatMap(({ ordinaryTest }) => ordinaryTest ?? []);
    assert.ok(plantedFaults.length - others.length >= 50);
    assert.deepEqual(
      others.filter((file) => !existsSync(join(ROOT, file))),
      [],
    );
  });
});
