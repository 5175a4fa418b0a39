import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { THREADS } from '../../tools/program.ts';

const source = globSync('src/**/*.ts').sort();

test('the program finds its own files through one module, because the executable contains them', () => {
  const places = source.filter((file) => readFileSync(file, 'utf8').includes('import.meta.url'));
  assert.deepEqual(places, ['src/base/program-files.ts']);
});

test('every thread of the program is part of the executable', () => {
  const threads = source.filter((file) => file.endsWith('-worker.ts')).map((file) => file.slice(4, -3));
  assert.deepEqual([...THREADS].sort(), threads);
});
