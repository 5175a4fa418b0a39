import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Peer } from '../../test/support/peers.ts';
import { checkout } from '../launcher/project.ts';
import { ROOT } from './formats.ts';

/**
 * The image of the Dockerfile, built by buildah and run by podman, with a storage of its own. The base image is made from
 * Debian's packages by mmdebstrap, because a test downloads no image. Without cgroups of version 2 only runc runs.
 */
export interface Image {
  readonly bytes: number;
  /** Whom its containers run as. */
  readonly user: string;
  /** The folder that is /data of every container. */
  readonly data: string;
  /** Runs a container to its end, or in the background where it has a name. */
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Another command of podman, such as `stop`. */
  podman(...args: string[]): Promise<Ended>;
  remove(): void;
}

interface RunOptions {
  readonly name?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const USER = 10_001;
const SUITE = 'trixie';
const PROGRAMS = ['buildah', 'podman', 'runc', 'mmdebstrap'];

/** What builds and runs it, which needs root. */
export function imageBuilder(): Peer {
  const missing = PROGRAMS.filter((name) => spawnSync('which', [name]).status !== 0);
  const isRoot = process.getuid?.() === 0;
  return { name: isRoot ? missing.join(' ') : 'root', command: isRoot && missing.length === 0 ? 'buildah' : null };
}

const execute = promisify(execFile);
const OUTPUT_MAX = 2 ** 26;

export function buildImage(): Image {
  const folder = mkdtempSync(join(tmpdir(), 'columba-image-'));
  const at = (name: string) => join(folder, name);
  const storage = ['--root', at('storage'), '--runroot', at('run'), '--storage-driver', 'vfs'];
  const buildah = (...args: string[]): string =>
    execFileSync('buildah', [...storage, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: OUTPUT_MAX,
    }).trim();

  execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', SUITE, at('base.tar')], { stdio: 'ignore' });
  const base = buildah('from', 'scratch');
  buildah('add', base, at('base.tar'), '/');
  buildah('commit', '--rm', base, 'debian:13.6-slim');
  rmSync(at('base.tar'));

  const context = checkout();
  execFileSync(process.execPath, ['tools/executable.ts'], { cwd: context, stdio: 'ignore' });
  for (const file of ['Dockerfile', '.dockerignore']) cpSync(join(ROOT, file), join(context, file));
  buildah('build', '--isolation', 'chroot', '--pull=never', '--format', 'docker', '--tag', 'columba:test', context);
  const [size = '0'] = JSON.parse(buildah('images', '--json', 'columba:test')).map(
    ({ size }: { size: string }) => size,
  );
  const inspected = JSON.parse(buildah('inspect', '--type', 'image', 'columba:test'));

  const data = at('data');
  mkdirSync(data, { mode: 0o700 });
  chownSync(data, USER, USER);
  // Defaults of podman ask for more open files and processes than a container in a container may have.
  writeFileSync(at('containers.conf'), '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n');
  const env = { ...process.env, CONTAINERS_CONF: at('containers.conf'), DISABLE_HC_SYSTEMD: 'true' };
  const podman = async (...args: string[]): Promise<Ended> => {
    const global = [...storage, '--runtime', 'runc', '--cgroup-manager', 'cgroupfs'];
    try {
      const { stdout, stderr } = await execute('podman', [...global, ...args], { env, maxBuffer: OUTPUT_MAX });
      return { code: 0, stdout, stderr };
    } catch (thrown) {
      const { code, stdout, stderr } = thrown as Ended;
      return { code, stdout, stderr };
    }
  };
  return {
    bytes: bytesOf(size),
    user: inspected.Docker.config.User,
    data,
    podman,
    run: (args, { name, env: variables = {} } = {}) =>
      podman(
        'run',
        ...(name === undefined ? ['--rm'] : ['--detach', '--name', name]),
        ...['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
        ...['--network', 'host', '--cgroups', 'no-conmon', '--volume', `${data}:/data`],
        ...Object.entries(variables).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
        'columba:test',
        ...args,
      ),
    remove: () => {
      spawnSync('podman', [...storage, '--runtime', 'runc', 'rm', '--all', '--force'], { env, stdio: 'ignore' });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `204 MB` as buildah writes it. */
function bytesOf(size: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+) ?([KMG]?)B$/.exec(size) ?? [];
  return Number(number) * ({ K: 1e3, M: 1e6, G: 1e9 }[unit] ?? 1);
}
