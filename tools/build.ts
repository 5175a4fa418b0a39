import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Makes `dist/` for the npm package: JavaScript, because Node refuses TypeScript below node_modules.
 * `npm pack` calls it before and, with `--remove`, after.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;

rmSync(dist, { recursive: true, force: true });
if (!process.argv.includes('--remove')) build();

function build(): void {
  const { status } = spawnSync(
    process.execPath,
    [`${root}node_modules/typescript/bin/tsc`, '-p', 'tools/tsconfig.build.json'],
    {
      cwd: root,
      stdio: ['ignore', 2, 2], // npm pack --json writes to standard output
    },
  );
  if (status !== 0) throw new Error('The compiler found mistakes. Run: npm run lint');
  for (const folder of globSync('**/assets', { cwd: `${root}src` })) {
    cpSync(`${root}src/${folder}`, `${dist}/${folder}`, { recursive: true });
  }
}
