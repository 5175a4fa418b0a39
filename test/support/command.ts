import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { systemClock } from '../../src/base/clock.ts';
import { everything } from '../../src/commands/all.ts';
import { commandActor, operatorCommands } from '../../src/commands/operator.ts';
import { readConfig } from '../../src/config/settings.ts';
import type { Services } from '../../src/operator/action.ts';
import type { App } from '../../src/serve/compose/contract.ts';
import { servicesOf } from '../../src/serve/compose/operator.ts';
import type { HostedCommand, HostedOutcome } from './command-host.ts';

/** The command as people run it, with an environment of its own. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
  /** The command itself, or a link to it. */
  readonly command?: string;
}

export const COLUMBA = fileURLToPath(new URL('../../columba', import.meta.url));

/** A folder for one test file, gone after it. */
export const folder = mkdtempSync(join(tmpdir(), 'columba-command-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
/** A path where there is nothing yet. */
export const freshPath = (extension: string): string => join(folder, `${++count}.${extension}`);
export const freshDatabase = (): string => `sqlite:${freshPath('db')}`;

/** A command that ends by itself, in a process for all commands of a file. */
export function columba(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  return options.command === undefined && !SERVING.test(args.join(' '))
    ? hosted(args, options)
    : columbaAlone(args, options);
}

/** The same in a process of its own: slower by the time that it takes to load the program. */
export function columbaAlone(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  const { child, ended } = launch(args, options);
  child.stdin?.end(options.input ?? '');
  return ended;
}

/** They change their process for good, and wait for signals. */
const SERVING = /^(?:serve|migrate proxy)\b/;
const environmentOf = (env: CommandOptions['env']): Record<string, string> => {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, TMPDIR: tmpdir(), ...env };
};

let host: ChildProcess | undefined;
let hostedCount = 0;

function hosted(args: readonly string[], { env, cwd = folder, input = '' }: CommandOptions): Promise<Outcome> {
  host ??= startHost();
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const number = ++hostedCount;
  const of = host;
  const onMessage = ({ number: answered, ...outcome }: HostedOutcome) => {
    if (answered !== number) return;
    of.off('message', onMessage);
    resolve(outcome);
  };
  of.on('message', onMessage);
  of.once('exit', (code) => reject(new Error(`the process of the commands ended with ${code}`)));
  of.send({ number, args, env: environmentOf(env), cwd, input } satisfies HostedCommand);
  return promise;
}

function startHost(): ChildProcess {
  const execArgv = ['--disable-warning=ExperimentalWarning'];
  const child = fork(fileURLToPath(new URL('command-host.ts', import.meta.url)), {
    execArgv,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.setMaxListeners(0);
  running.add(child);
  child.once('exit', () => {
    running.delete(child);
    host = undefined;
  });
  return child;
}

/** `columba account …` in this process. */
export async function accountIn(app: App, args: readonly string[], print: (line: string) => void) {
  const services = servicesOf(app, readConfig({}), systemClock);
  const dependencies = { withServices: (_: unknown, _options: unknown, work: Work) => work(services), print };
  const commands = operatorCommands(everything, { ...dependencies, actor: commandActor() });
  const command = commands.find((each) => each.name() === 'account') as Command;
  for (const each of [command, ...command.commands]) each.exitOverride().configureOutput({ writeErr: () => {} });
  await command.parseAsync(args, { from: 'user' });
}
type Work = (services: Services) => Promise<void>;

export interface Server {
  readonly address: string;
  /** What it has written so far. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly child: ChildProcess;
  /** What it wrote, and how it ended. */
  readonly ended: Promise<Outcome>;
}

/** `columba serve` on a free port, when it serves. */
export async function serving(args: readonly string[], options: CommandOptions = {}): Promise<Server> {
  const { child, output, ended } = launch(
    // Nobody is refused here because the machine was busy with other tests.
    ['serve', '--port', '0', '--drain-timeout-ms', '0', '--turn-max-ms', '60000', ...args],
    options,
  );
  const address = new Promise<string>((resolve) => {
    const read = () => {
      const match = /"address":"(http:[^"]+)"|Pages +(http:\S+)\/\n[\s\S]*\n$/.exec(output.stderr + output.stdout);
      if (match) resolve((match[1] ?? match[2]) as string);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
  });
  const early = ended.then(({ code, stderr }): never => {
    throw new Error(`columba serve ended with ${code}: ${stderr}`);
  });
  return { address: await Promise.race([address, early]), output, child, ended };
}

/** A test that fails leaves nothing running: its child would keep this process alive. */
const running = new Set<ChildProcess>();
const killAll = () => {
  for (const child of running) child.kill('SIGKILL');
};
after(killAll);
process.once('exit', killAll);

/** What was started, whether it serves or not. */
export function launch(args: readonly string[], { env, cwd = folder, command = COLUMBA }: CommandOptions) {
  const child = spawn(command, args, { cwd, env: environmentOf(env) });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
  ended.catch(() => {});
  running.add(child);
  child.once('close', () => running.delete(child));
  return { child, output, ended };
}
