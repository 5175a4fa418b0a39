import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

/**
 * Makes a Debian package of the executable: `build/columba_VERSION_amd64.deb`. It takes dpkg-deb, and the executable that
 * `npm run executable -- linux-x64` has made. Equal files give equal bytes, because every file gets the same time.
 *
 * npm run deb [-- PLATFORM …], where a PLATFORM is linux-x64 or linux-arm64.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'build');
const { version, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const ARCHITECTURES: Readonly<Record<string, string>> = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };
/** The versions and their days, newest first, as CHANGELOG.md has them. */
const RELEASES = [
  ...readFileSync(join(root, 'CHANGELOG.md'), 'utf8').matchAll(/^## (\d\S+) - (\d{4}-\d\d-\d\d)$/gm),
].map(([, release = '', day = '']) => ({ release, epoch: Date.parse(`${day}T00:00:00Z`) / 1_000 }));
/** The time of every file, which dpkg-deb writes into the archive. */
const EPOCH = dayOf(version);

const { positionals } = parseArgs({ allowPositionals: true });
for (const platform of positionals.length > 0 ? positionals : [`linux-${process.arch}`]) makePackage(platform);

/** In seconds. Without its day in CHANGELOG.md, a version would be one of 1970. */
function dayOf(wanted: string): number {
  const found = RELEASES.find(({ release }) => release === wanted);
  if (found) return found.epoch;
  process.stderr.write(`CHANGELOG.md has no heading "## ${wanted} - YYYY-MM-DD", which gives the package its date.\n`);
  return process.exit(1);
}

function makePackage(platform: string): void {
  const architecture = ARCHITECTURES[platform];
  if (!architecture) throw new Error(`${platform}: expected ${Object.keys(ARCHITECTURES).join(' or ')}`);
  const executable = join(folder, `columba-${version}-${platform}`);
  const tree = join(folder, `deb-${architecture}`);
  rmSync(tree, { recursive: true, force: true });
  const put = (path: string, content: string | Buffer, mode = 0o644) => {
    const target = join(tree, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    writeFileSync(target, content);
    chmodSync(target, mode);
  };
  const ours = (name: string) => readFileSync(join(root, 'packaging', 'debian', name), 'utf8');
  const compressed = (text: string) => gzipSync(text, { level: 9 });

  put('usr/bin/columba', ours('columba.sh'), 0o755);
  mkdirSync(join(tree, 'usr/lib/columba'), { recursive: true });
  copyFileSync(executable, join(tree, 'usr/lib/columba/columba'));
  put('etc/columba/columba.conf', ours('columba.conf'));
  put('lib/systemd/system/columba.service', unit());
  put('usr/share/man/man1/columba.1.gz', compressed(ours('columba.1')));
  put('usr/share/doc/columba/copyright', copyright());
  put('usr/share/doc/columba/changelog.gz', compressed(changelog()));
  put('usr/share/lintian/overrides/columba', ours('lintian-overrides'));
  put('DEBIAN/conffiles', '/etc/columba/columba.conf\n');
  for (const script of ['postinst', 'prerm', 'postrm']) put(`DEBIAN/${script}`, ours(script), 0o755);
  put('DEBIAN/control', control(architecture, installedKiB(tree)));
  for (const path of ['.', ...globSync('**/*', { cwd: tree })]) utimesSync(join(tree, path), EPOCH, EPOCH);

  const file = join(folder, `columba_${version}_${architecture}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '-z1', '--build', tree, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(EPOCH) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  rmSync(tree, { recursive: true });
  process.stdout.write(`${file}\n`);
}

/** The unit of the examples, with the places of the package. */
function unit(): string {
  return readFileSync(join(root, 'examples', 'deploy', 'columba.service'), 'utf8')
    .replace(/^#[^\n]*\n#[^\n]*\n\n/, '')
    .replace('Documentation=file:/opt/columba/docs/INSTALL.md', 'Documentation=man:columba(1)')
    .replace('# The script becomes node, so node is the main process.\n', '')
    .replace('/opt/columba/columba serve', '/usr/lib/columba/columba serve')
    .replace('ProtectSystem=strict\n', 'ProtectSystem=strict\nReadWritePaths=-/var/backups/columba\n')
    .replace(
      /Environment=COLUMBA_DATABASE=\S+\nEnvironment=COLUMBA_WORKERS=\d+\n/,
      'Environment=COLUMBA_CONFIG=/etc/columba/columba.conf\n',
    );
}

/** As dpkg-gencontrol counts: every file in whole KiB, and one KiB for each folder. */
function installedKiB(tree: string): number {
  return globSync('{etc,lib,usr}/**', { cwd: tree })
    .map((path) => statSync(join(tree, path)))
    .reduce((sum, found) => sum + (found.isFile() ? Math.ceil(found.size / 1024) : 1), 0);
}

function control(architecture: string, installed: number): string {
  return `Package: columba
Version: ${version}
Architecture: ${architecture}
Maintainer: The Columba project <packages@columba.example>
Installed-Size: ${installed}
Depends: adduser, init-system-helpers (>= 1.52), libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8), procps
Section: comm
Priority: optional
Description: ${description.split(' that ')[0].replace(/^Self-hosted/, 'self-hosted')}
 Columba answers programs that were written against an ASP.NET (ASMX)
 messaging API, over SOAP 1.1, SOAP 1.2, HTTP GET and HTTP POST, and sends
 and receives their messages through carriers. It has an operator's API, a
 console and a ledger of credits, on SQLite or PostgreSQL.
`;
}

function copyright(): string {
  const text = readFileSync(join(root, 'LICENSE'), 'utf8').trim();
  const [, year] = /Copyright[^\d\n]*(\d{4}[^\n]*)/.exec(text) ?? [];
  const body = text
    .split('\n')
    .slice(1)
    .map((line) => (line.trim() === '' ? ' .' : ` ${line}`));
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Columba

Files: *
Copyright: ${year ?? 'the Columba project'}
License: Expat
${body.join('\n')}
`;
}

function changelog(): string {
  const entries = RELEASES.map(({ release, epoch }) => {
    const at = new Date(epoch * 1_000).toUTCString().replace('GMT', '+0000');
    return `columba (${release}) unstable; urgency=medium

  * The changes are in CHANGELOG.md of the sources.

 -- The Columba project <packages@columba.example>  ${at}
`;
  });
  return entries.join('\n');
}
