import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { getAsset, isSea } from 'node:sea';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * Files that belong to the program, by their path from `src`. They lie beside the modules in a
 * checkout and in the npm package, and inside of the executable where everything is one file.
 */
const urlOf = (path: string): URL => new URL(`../${path}`, import.meta.url);

export const programText = (path: string): string =>
  isSea() ? getAsset(path, 'utf8') : readFileSync(urlOf(path), 'utf8');

/** `path` is without the extension, which is `.ts` in a checkout and `.js` elsewhere. */
export const startThread = (path: string, options: WorkerOptions): Worker =>
  isSea()
    ? new Worker(getAsset(`${path}.js`, 'utf8'), { ...options, eval: true })
    : new Worker(urlOf(path + extname(import.meta.url)), options);
