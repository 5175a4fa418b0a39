import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Files of tests that run in one process, one after the other: starting a process and loading the program into it
 * costs a second and a half of CPU, which is more than most files need for their tests.
 */
const FILES_PER_PROCESS = 40;
/** They look at the memory or the handles of their process. */
const ALONE = /\/(?:response-cache-memory|many-connections)\.test\.ts$/;

/**
 * The first test waits until all files are loaded. Without it the tests of a short file end before the next file is there,
 * node:test takes that for the end and runs the hooks that close connections, and the process never ends.
 */
const LOADING = `import { test } from 'node:test';
const { promise, resolve: loaded } = Promise.withResolvers();
test('the files are loaded', () => promise);
`;

/** Writes a file for each process into the folder, which imports its files. `cpuFile` gets the CPU of each file of tests. */
export function writeBatches(folder: string, files: readonly string[], cpuFile?: string): string[] {
  const together = files.filter((file) => !ALONE.test(file));
  const count = Math.ceil(together.length / FILES_PER_PROCESS);
  // Neighbours differ in what they cost less than rooms do: each process takes every so-manyth file.
  const batches = Array.from({ length: count }, (_, first) => together.filter((__, index) => index % count === first));
  return [...files.filter((file) => ALONE.test(file)).map((file) => [file]), ...batches].map(writeBatch);

  function writeBatch(batch: readonly string[], index: number): string {
    const path = join(folder, `batch-${index}.test.mjs`);
    const url = (file: string) => JSON.stringify(pathToFileURL(resolve(file)).href);
    const lines = batch.map((file) => {
      const measure = cpuFile ? `measure(${JSON.stringify(cpuFile)}, ${JSON.stringify(file)});\n` : '';
      return `await import(${url(file)});\n${measure}`;
    });
    if (cpuFile) lines.unshift(`import { measure } from ${url('test/support/cpu.ts')};\n`);
    writeFileSync(path, [LOADING, ...lines, 'loaded();\n'].join(''));
    return path;
  }
}
