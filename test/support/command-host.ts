import { Readable } from 'node:stream';

/**
 * A process that runs commands one after the other: the program is loaded once, which takes most of the time of a short
 * command. Every command has its own arguments, environment, folder and standard streams, and runs src/main.ts as it is.
 */
export interface HostedCommand {
  readonly number: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly input: string;
}
export interface HostedOutcome {
  readonly number: number;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Ended extends Error {}

let before = Promise.resolve();
process.on('message', (command: HostedCommand) => {
  before = before.then(() => run(command));
});

async function run({ number, args, env, cwd, input }: HostedCommand): Promise<void> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.argv.splice(2, Infinity, ...args);
  Object.defineProperty(process, 'stdin', {
    value: Readable.from(input ? [Buffer.from(input)] : []),
    configurable: true,
  });
  const written = { stdout: '', stderr: '' };
  capture('stdout');
  capture('stderr');
  process.exitCode = 0;
  const ended = new Promise<void>((resolve) => {
    process.exit = (code) => {
      process.exitCode = code ?? process.exitCode ?? 0;
      resolve();
      throw new Ended();
    };
  });
  const url = new URL('../../src/main.ts', import.meta.url);
  url.search = `command=${number}`;
  await Promise.race([ended, import(url.href).then((main) => main.ended)]);
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal);
  process.send?.({ number, code: Number(process.exitCode), ...written } satisfies HostedOutcome);

  function capture(name: 'stdout' | 'stderr'): void {
    process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      written[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      const done = rest.find((each) => typeof each === 'function') as (() => void) | undefined;
      done?.();
      return true;
    };
  }
}
