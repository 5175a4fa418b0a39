import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Installations that look like those of other machines: without links of npm, without a Node, as a package. */

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');

export const folder = mkdtempSync(join(tmpdir(), 'columba-launcher-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
export function freshFolder(): string {
  const path = join(folder, `${++count}`);
  mkdirSync(path);
  return path;
}

/** The same Node in another place, which is therefore not the one that npm installed. */
export function otherNode(): string {
  const path = join(freshFolder(), 'node');
  try {
    linkSync(process.execPath, path);
  } catch {
    copyFileSync(process.execPath, path); // another file system
  }
  return path;
}

const isPlatformPackage = (name: string) => /^node-(bin-)?(linux|darwin|win)-/.test(name);

/** Links to what npm installed, but none to `.bin`. */
export function linkModules(target: string, withNode = true): void {
  mkdirSync(target, { recursive: true });
  for (const name of readdirSync(MODULES)) {
    if (name.startsWith('.') || (!withNode && isPlatformPackage(name))) continue;
    symlinkSync(join(MODULES, name), join(target, name));
  }
}

/** A checkout: what the command needs, and what the package is made of. */
export function checkout(withNode = true): string {
  const path = freshFolder();
  const parts = [
    'bin',
    'src',
    'tools',
    'packaging',
    'package.json',
    'tsconfig.json',
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'examples/sample.json',
    'examples/deploy/columba.service',
  ];
  for (const part of parts) cpSync(join(ROOT, part), join(path, part), { recursive: true });
  linkModules(join(path, 'node_modules'), withNode);
  return path;
}

export interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>;
  /** What it wrote to standard output, once that matches. */
  written(pattern: RegExp): Promise<string>;
}

/** A program with nothing in its environment but PATH and what is given. */
export function start(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Program {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  after(() => child.kill('SIGKILL'));
  const texts = { stdout: '', stderr: '' };
  child.stderr.on('data', (chunk) => {
    texts.stderr += chunk;
  });
  child.stdout.on('data', (chunk) => {
    texts.stdout += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...texts }));
  return {
    child,
    ended,
    async written(pattern) {
      for (;;) {
        const [found] = pattern.exec(texts.stdout) ?? [];
        if (found !== undefined) return found;
        await Promise.race([once(child.stdout, 'data'), ended.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
      }
    },
  };
}

/** `serve --demo` on a free port; the address when it serves. */
export const addressOf = (demo: Program): Promise<string> => demo.written(/http:\/\/[\d.]+:\d+/);

/** Waits until nobody listens there any more. */
export async function untilFree(address: string): Promise<void> {
  for (;;) {
    try {
      await (await fetch(`${address}/health/live`)).arrayBuffer();
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
