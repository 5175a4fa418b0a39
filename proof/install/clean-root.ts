import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Peer } from '../../test/support/peers.ts';

/**
 * A Debian on which nobody has installed anything: made by mmdebstrap, entered with namespaces of its own for processes and
 * mounts. The network is that of this machine, so that a carrier can be simulated outside of it.
 */
export interface CleanRoot {
  /** Where its files are on this machine. */
  readonly folder: string;
  /** Runs a line of shell in the folder /srv and records it. Throws if it fails. */
  type(line: string): Promise<string>;
  /** The same without a record, for what looks at the machine. */
  look(line: string): Promise<string>;
  readonly typed: readonly Typed[];
  /** Every file, apart from those of Debian's own programs that change while packages are installed. */
  files(): string[];
  close(): Promise<void>;
}

export interface Typed {
  readonly line: string;
  readonly seconds: number;
}

/** What makes a clean root, which only root can. */
export const cleanRootMaker = (): Peer => ({
  name: 'mmdebstrap, for root,',
  command: process.getuid?.() === 0 && spawnSync('mmdebstrap', ['--version']).status === 0 ? 'mmdebstrap' : null,
});

const SUITE = 'bookworm';

/** The archive of a new root, which takes most of the time. */
export function bootstrap(archive: string): void {
  const packages = '--include=ca-certificates,curl';
  execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', packages, SUITE, archive], { stdio: 'ignore' });
}

const MOUNTS = `set -e
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
exec chroot "$0" sleep infinity`;
/** What a package manager and Debian's own programs write. */
const OF_DEBIAN =
  /^\/(?:proc|dev|sys|tmp|run|var\/(?:lib\/(?:dpkg|apt|systemd|pam|misc)|cache|log)|etc\/(?:ld\.so|\.pwd|alternatives|(?:passwd|group|shadow|gshadow|subuid|subgid)))/;

export async function createCleanRoot(archive: string): Promise<CleanRoot> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-root-'));
  execFileSync('tar', ['-xf', archive, '-C', folder, '--exclude=./dev/*']);
  for (const file of ['/etc/resolv.conf', '/etc/hosts']) copyFileSync(file, join(folder, file));
  copyFileSync('/etc/ssl/certs/ca-certificates.crt', join(folder, 'etc/ssl/certs/ca-certificates.crt'));

  const namespace = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', MOUNTS, folder], {
    stdio: 'ignore',
  });
  process.once('exit', () => namespace.kill('SIGKILL'));
  const inside = await processInside(namespace);
  const typed: Typed[] = [];
  const look = (line: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const enter = ['--target', String(inside), '--mount', '--pid', '-r'];
      const shell = [
        '/usr/bin/env',
        '-i',
        'HOME=/srv',
        `PATH=${PATH}`,
        'DEBIAN_FRONTEND=noninteractive',
        TRUST,
        'sh',
        '-c',
      ];
      execFile('nsenter', [...enter, ...shell, `cd /srv\n${line}`], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
        if (error) reject(new Error(`${line}\nended with ${error.code}:\n${stdout}${stderr}`));
        else resolve(stdout);
      });
    });
  return {
    folder,
    typed,
    look,
    async type(line) {
      const begin = performance.now();
      const output = await look(line);
      typed.push({ line, seconds: (performance.now() - begin) / 1_000 });
      return output;
    },
    files: () => listed(folder, '/').filter((path) => !OF_DEBIAN.test(path)),
    async close() {
      namespace.kill('SIGKILL');
      while (existsSync(`/proc/${inside}`)) await sleep(20);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Node has its own list of authorities. A network whose proxy signs is reached by what the machine trusts. */
const TRUST = 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The process that keeps the namespaces, once it sees the new root. */
async function processInside(namespace: ChildProcess): Promise<number> {
  const children = `/proc/${namespace.pid}/task/${namespace.pid}/children`;
  for (let tries = 0; tries < 1_500; tries++) {
    const [pid = ''] = existsSync(children) ? readFileSync(children, 'utf8').split(' ') : [];
    if (pid !== '' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep')) return Number(pid);
    await sleep(20);
  }
  throw new Error('the clean root cannot be entered');
}

function listed(folder: string, path: string): string[] {
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
    const inner = join(path, entry.name);
    if (OF_DEBIAN.test(inner)) return [];
    return entry.isDirectory() ? listed(folder, inner) : [inner];
  });
}

/** A place for what is made here, gone when the process ends. */
export function workFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'columba-install-'));
  mkdirSync(join(folder, 'release'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
