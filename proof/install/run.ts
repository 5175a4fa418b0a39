import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrap, cleanRootMaker, workFolder } from './clean-root.ts';
import { go, ways } from './ways.ts';

/**
 * `npm run proof install [-- WAY…]`: makes a release, or takes the one in build/, goes every way in a clean Debian, and prints
 * each line with its seconds. Exits with 1 if a way takes more than ten lines or five minutes, or leaves more than data, and
 * with 3 if there is no clean root here.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const print = (line: string) => void process.stdout.write(`${line}\n`);

async function main(chosen: readonly string[]): Promise<number> {
  const names = chosen.length > 0 ? chosen : Object.keys(ways);
  const unknown = names.filter((name) => !Object.hasOwn(ways, name));
  if (unknown.length > 0) {
    print(`Unknown: ${unknown.join(', ')}. Choose from ${Object.keys(ways).join(', ')}.`);
    return 2;
  }
  const { name: maker, command } = cleanRootMaker();
  if (command === null) {
    print(`Not proved: ${maker} is missing.`);
    return 3;
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folder = workFolder();
  const release = join(folder, 'release');
  if (!existsSync(join(root, 'build', `columba-${version}.tgz`)))
    execFileSync(process.execPath, ['tools/release.ts'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  cpSync(join(root, 'build'), release, { recursive: true });
  const archive = join(folder, 'root.tar');
  bootstrap(archive);
  let failed = 0;
  for (const name of names) {
    const { lines, faults } = await go(ways[name] as (typeof ways)[string], archive, release, version);
    const seconds = lines.reduce((sum, line) => sum + line.seconds, 0);
    print(`\n${name}: ${lines.length} lines, ${seconds.toFixed(1)} s`);
    for (const line of lines) print(`${line.seconds.toFixed(1).padStart(6)} s  ${line.line.replaceAll('\n', ' ')}`);
    for (const fault of faults) print(`FAULT ${fault}`);
    failed += faults.length;
  }
  return failed > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
