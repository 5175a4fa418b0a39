import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, cpSync, globSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after } from 'node:test';
import { type Instruction, pairsOf, ROOT, readDockerfile, stagesOf } from './formats.ts';

/**
 * The files of the image, made by following the Dockerfile without Docker: in a folder, on this machine's own Debian or what
 * it is. They run as the image's user where the tests are root, and otherwise as the one who tests.
 */
export interface Image {
  /** Where a path of the image is on this machine. */
  at(path: string): string;
  readonly env: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
  /** What is in it: paths, sizes, times. */
  contents(): string[];
  /** A program in the image, without the environment of the tests. */
  run(command: readonly string[], env: Readonly<Record<string, string>>): Container;
}

export interface Container {
  readonly child: ChildProcess;
  readonly output: { text: string };
  readonly ended: Promise<number | null>;
}

const asRoot = process.getuid?.() === 0;

export function buildImage(): Image {
  const folder = mkdtempSync(join(tmpdir(), 'columba-image-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755); // the image's user goes through it
  const roots = new Map<string, string>();
  const stages = stagesOf(readDockerfile('Dockerfile'));
  for (const [index, stage] of stages.entries()) build(stage, join(folder, String(index)), roots);
  const final = stages.at(-1) as Instruction[];
  const root = join(folder, String(stages.length - 1));
  const value = (name: string): string => final.findLast((each) => each.name === name)?.value ?? '';
  const at = (path: string): string => (path.startsWith('/') ? join(root, path) : path);

  // What the first RUN of the last stage does, and what Docker does for a volume and for /tmp.
  const [uid = 0, gid = 0] = value('USER').split(':').map(Number);
  for (const path of [value('VOLUME'), '/tmp']) {
    mkdirSync(at(path), { recursive: true });
    if (asRoot) chownSync(at(path), uid, gid);
  }
  const env = pairsOf(value('ENV'));
  const running = new Set<ChildProcess>();
  // A test that fails leaves nothing running, which would keep the tests from ending.
  const stopAll = () => {
    for (const child of running) child.kill('SIGKILL');
  };
  after(stopAll);
  process.once('exit', stopAll);
  return {
    at,
    env,
    entrypoint: JSON.parse(value('ENTRYPOINT')),
    command: JSON.parse(value('CMD')),
    healthcheck: JSON.parse(value('HEALTHCHECK').replace(/^CMD /, '')),
    contents: () =>
      globSync('opt/**/*', { cwd: root }).map((path) => {
        const { size, mtimeMs, mode } = lstatSync(join(root, path));
        return [path, size, mtimeMs, mode].join(' ');
      }),
    run([program = '', ...args], more) {
      const child = spawn(at(program), args, {
        cwd: at(value('WORKDIR')),
        env: { PATH: '/usr/bin:/bin', HOME: at('/data'), TMPDIR: at('/tmp'), ...env, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
        ...(asRoot && { uid, gid }),
      });
      running.add(child);
      const output = { text: '' };
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (piece: string) => {
          output.text += piece;
        });
      }
      const ended = new Promise<number | null>((resolve, reject) => {
        child.once('error', reject);
        child.once('close', (code) => {
          running.delete(child);
          resolve(code);
        });
      });
      return { child, output, ended };
    },
  };
}

function build(stage: readonly Instruction[], root: string, roots: Map<string, string>): void {
  let workdir = root;
  for (const { name, flags, value } of stage) {
    if (name === 'FROM') {
      const [, alias] = / AS (\S+)$/.exec(value) ?? [];
      if (alias) roots.set(alias, root);
    } else if (name === 'WORKDIR') {
      workdir = join(root, value);
      mkdirSync(workdir, { recursive: true });
    } else if (name === 'COPY') {
      const parts = value.split(' ');
      const target = parts.pop() as string;
      const from = flags.from === undefined ? ROOT : (roots.get(flags.from) as string);
      for (const source of parts) {
        const to = join(workdir, target, target.endsWith('/') ? basename(source) : '');
        cpSync(join(from, source), to, { recursive: true, verbatimSymlinks: true });
      }
    } else if (name === 'RUN') {
      runLine(value, workdir);
    }
  }
}

function runLine(line: string, cwd: string): void {
  // Users cannot be made here; the number is used as it is, and /data is made above.
  if (line.startsWith('groupadd ')) return;
  if (!/^(npm|chmod|ln) [\w ./=,+*-]+$/.test(line)) throw new Error(`This RUN cannot be followed here: ${line}`);
  // From npm's cache, where `npm ci` has put everything a while ago.
  const env = { ...process.env, npm_config_prefer_offline: 'true' };
  execFileSync('sh', ['-c', line], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
}
