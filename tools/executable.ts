import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { inject } from 'postject';
import { programFiles, THREADS } from './program.ts';

/**
 * Makes Columba as one file, with Node inside: `build/columba-VERSION-linux-x64`, and a file of checksums. It is a single
 * executable application of Node: https://nodejs.org/api/single-executable-applications.html. Without code cache and snapshot
 * the same sources give the same bytes, and a machine can make the file of another platform.
 *
 * npm run executable [-- PLATFORM …], where a PLATFORM is linux-x64, linux-arm64, darwin-x64, darwin-arm64 or win-x64.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'build');
const parts = join(folder, 'parts');
const { version, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  optionalDependencies: Readonly<Record<string, string>>;
};
/** Node's mark in its own binary, behind which it looks whether something was injected. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

const { positionals } = parseArgs({ allowPositionals: true });
const platforms = positionals.length > 0 ? positionals : [ownPlatform()];
const packages = platforms.map(packageOf); // before anything is made

rmSync(parts, { recursive: true, force: true });
mkdirSync(parts, { recursive: true });
await bundle();
const blob = makeBlob();
for (const [index, platform] of platforms.entries()) await makeExecutable(platform, packages[index] as string, blob);
writeChecksums();
rmSync(parts, { recursive: true, force: true });

function ownPlatform(): string {
  return `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
}

/** The npm package with the Node of a platform. */
function packageOf(platform: string): string {
  const found = Object.keys(optionalDependencies).find((name) => name.endsWith(`-${platform}`));
  if (found) return found;
  const known = Object.keys(optionalDependencies).map((name) => name.replace(/^node-(?:bin-)?/, ''));
  process.stderr.write(`There is no Node for ${platform}. Choose from ${known.join(', ')}.\n`);
  return process.exit(2);
}

/** The program and its threads, each as one CommonJS module: Node has nothing else in such a file. */
async function bundle(): Promise<void> {
  const { warnings } = await build({
    absWorkingDir: root,
    entryPoints: { main: 'src/main.ts', ...Object.fromEntries(THREADS.map((path) => [path, `src/${path}.ts`])) },
    outdir: parts,
    bundle: true,
    preserveSymlinks: true, // names of modules are part of the bytes, and must not say where packages lie
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minifySyntax: true,
    legalComments: 'none',
    external: ['pg-native'],
    define: { 'import.meta.url': 'undefined' }, // only read beside modules, which are not there
    logLevel: 'warning',
  });
  if (warnings.length > 0) throw new Error('The bundler warns, see above.');
  const main = join(parts, 'main.js');
  writeFileSync(
    main,
    `${readFileSync(join(root, 'tools', 'executable-start.cjs'), 'utf8')}\n${readFileSync(main, 'utf8')}`,
  );
}

function makeBlob(): Buffer {
  const threads = THREADS.map((path) => [`${path}.js`, `${path}.js`]);
  const config = {
    main: 'main.js', // the path is part of the bytes
    output: 'columba.blob',
    disableExperimentalSEAWarning: true,
    assets: { ...programFiles(root), ...Object.fromEntries(threads) },
  };
  writeFileSync(join(parts, 'sea.json'), JSON.stringify(config));
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  execFileSync(process.execPath, ['--experimental-sea-config', 'sea.json'], { cwd: parts, stdio: [...stdio] });
  return readFileSync(join(parts, 'columba.blob'));
}

async function makeExecutable(platform: string, name: string, resource: Buffer): Promise<void> {
  const isWindows = platform.startsWith('win');
  const file = join(folder, `columba-${version}-${platform}${isWindows ? '.exe' : ''}`);
  const node = join(nodeFolder(platform, name), 'bin', isWindows ? 'node.exe' : 'node');
  copyFileSync(node, file);
  const macho = platform.startsWith('darwin') ? { machoSegmentName: 'NODE_SEA' } : {};
  await inject(file, 'NODE_SEA_BLOB', resource, { sentinelFuse: FUSE, ...macho });
  chmodSync(file, 0o755);
  process.stdout.write(`${file}\n`);
}

/** The installed package, or one that npm brings for another platform. */
function nodeFolder(platform: string, name: string): string {
  if (platform === ownPlatform()) return join(root, 'node_modules', name);
  const wanted = `${name}@${optionalDependencies[name]}`;
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', wanted, '--json', '--pack-destination', parts], { encoding: 'utf8' }),
  ) as { filename: string }[];
  const unpacked = join(parts, platform);
  mkdirSync(unpacked);
  execFileSync('tar', ['-xzf', join(parts, packed?.filename ?? ''), '-C', unpacked]);
  return join(unpacked, 'package');
}

function writeChecksums(): void {
  const lines = globSync('columba-*', { cwd: folder })
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    );
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}
