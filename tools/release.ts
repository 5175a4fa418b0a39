import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * Makes everything that a release consists of in `build/`: the executables and Debian packages of both architectures of
 * Linux, the npm package, the bill of materials, and SHA256SUMS over all of them. The version is that of package.json,
 * and CHANGELOG.md must have its section.
 *
 * npm run release [-- --twice], where --twice makes everything a second time and compares the bytes.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'build');
const PLATFORMS = ['linux-x64', 'linux-arm64'];

/** What keeps the version from being released; null if nothing does. */
export function releaseFault(version: string, changelog: string): string | null {
  if (!/^\d+\.\d+\.\d+$/.test(version)) return `package.json: expected a version such as 0.2.0, and not ${version}`;
  const [, section = ''] = changelog.split(new RegExp(`^## \\[?${version.replaceAll('.', '\\.')}\\]?.*$`, 'm'));
  if (section === '') return `CHANGELOG.md: there is no section "## ${version}". Write it first.`;
  const [own = ''] = section.split(/^## /m);
  return own.trim() === '' ? `CHANGELOG.md: the section ${version} is empty. Write what changes for users.` : null;
}

function make(): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const run = (tool: string, ...args: string[]) =>
    execFileSync(process.execPath, [join('tools', tool), ...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  run('executable.ts', ...PLATFORMS);
  run('deb.ts', ...PLATFORMS);
  run('sbom.ts', join(folder, 'columba.cdx.json'));
  execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  const lines = globSync('columba*', { cwd: folder }).sort().map(checksumLine);
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
  return lines.join('');
}

const checksumLine = (name: string): string =>
  `${createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex')}  ${name}\n`;

function main(): number {
  const { values } = parseArgs({ options: { twice: { type: 'boolean', default: false } } });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const fault = releaseFault(version, readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  if (fault !== null) {
    process.stderr.write(`${fault}\n`);
    return 1;
  }
  const first = make();
  if (values.twice && make() !== first) {
    process.stderr.write(`The second build differs from the first:\n${first}`);
    return 1;
  }
  process.stdout.write(`${readFileSync(join(folder, 'SHA256SUMS'), 'utf8')}`);
  return 0;
}

if (import.meta.main) process.exitCode = main();
