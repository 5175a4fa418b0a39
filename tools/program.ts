import { globSync } from 'node:fs';
import { join } from 'node:path';

/** What belongs to the program beside its modules, by the path from `src` that it asks for. */

export const THREADS = [
  'serve/health-worker',
  'serve/backup/backup-worker',
  'serve/backup/verify-worker',
  'store/sqlite/checkpoint-worker',
  'migration/compare/comparing-worker',
];

/** The files that the program reads as texts. */
export function programFiles(root: string): Record<string, string> {
  const src = join(root, 'src');
  const assets = globSync('**/assets/*', { cwd: src }).sort();
  return {
    '../package.json': join(root, 'package.json'),
    '../examples/sample.json': join(root, 'examples', 'sample.json'),
    ...Object.fromEntries(assets.map((path) => [path, join(src, path)])),
  };
}
