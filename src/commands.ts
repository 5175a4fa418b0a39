import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type App, createApp, type Surroundings } from './app.ts';
import { accountCommand, accountUsage } from './operator/account-commands.ts';
import { exportAccounts } from './operator/export.ts';
import { type ImportResult, importFile } from './operator/import.ts';
import { Problem } from './problem.ts';
import { serve } from './serve.ts';
import { type Config, flagOf, readConfig, settings, shownValue } from './server/config.ts';
import { createLogOutput } from './server/log-output.ts';
import { createLog } from './server/observe.ts';
import type { Setting } from './server/setting.ts';

/** The commands; each answers with its exit code. */
export const commands: Readonly<Record<string, (args: string[]) => Promise<number>>> = {
  async serve(args) {
    const { flags, rest } = takeFlags(args, Object.keys(settings).map(flagOf));
    const { values } = parse(rest, { demo: { type: 'boolean' }, trace: { type: 'string' } }, 0);
    const trace = typeof values.trace === 'string' ? values.trace : undefined;
    const config = configOf(flags);
    const output = createLogOutput(config.workers > 1);
    process.on('exit', output.flush);
    const around = { ...surroundings(config), log: createLog(config.logLevel, output) };
    return serve(
      config,
      { ...around, telemetry: { output, environment: process.env } },
      { demo: values.demo === true, trace },
    );
  },

  import: (args) =>
    withApp(args, async (app, rest) => {
      const [path = ''] = parse(rest, {}, 1).positionals;
      const result = await importFile(path, app.archive, Date.now, showProgress());
      for (const mistake of result.mistakes) complain(mistake);
      print(`Imported ${counted(result)}.${result.mistakes.length > 0 ? ` Refused: ${result.mistakes.length}.` : ''}`);
      return result.mistakes.length > 0 ? 1 : 0;
    }),

  export: (args) =>
    withApp(args, async (app, rest) => {
      const text = { type: 'string' } as const;
      const { values } = parse(rest, { ndjson: { type: 'boolean' }, account: text, output: text }, 0);
      const output = typeof values.output === 'string' ? createWriteStream(values.output) : process.stdout;
      if (output !== process.stdout) await once(output, 'open'); // or the error, before anything is read
      const username = typeof values.account === 'string' ? values.account : null;
      await exportAccounts(app.archive, { ndjson: values.ndjson === true, username }, async (piece) => {
        if (!output.write(piece)) await once(output, 'drain');
      });
      if (output !== process.stdout) await once(output.end(), 'close');
      return 0;
    }),

  backup: (args) =>
    withApp(args, async (app, rest) => {
      const [path = ''] = parse(rest, {}, 1).positionals;
      await app.backup(path);
      print(`Wrote ${path}.`);
      return 0;
    }),

  account: (args) =>
    withApp(args, async (app, rest) => {
      await accountCommand(app.accounts, rest, print, Date.now);
      return 0;
    }),

  /** Settings and database, without serving. */
  check: (args) =>
    withApp(args, async (_app, rest, config) => {
      parse(rest, {}, 0);
      for (const [name, setting] of Object.entries<Setting<unknown>>(settings)) {
        print(`${setting.variable}=${shownValue(setting, String(config[name as keyof Config]))}`);
      }
      print('The settings are right and the database can be used.');
      return 0;
    }),

  async version() {
    print(ownVersion());
    return 0;
  },
};

const ownVersion = (): string => JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

export function help(): string {
  const usage = [
    'serve [--demo] [--trace FILE] [--SETTING VALUE …]',
    'import FILE',
    'export [--ndjson] [--account USERNAME] [--output FILE]',
    'backup FILE',
    ...accountUsage,
    'check',
    'version',
  ];
  const table = Object.entries(settings).map(
    ([name, { variable, fallback, meaning }]) =>
      `  --${flagOf(name)}, ${variable}${fallback && ` (${fallback})`}\n      ${meaning}`,
  );
  return `Usage: columba COMMAND\n\n${usage.map((line) => `  ${line}`).join('\n')}\n
Settings, as flags of serve (--database of every command) or in the environment:\n\n${table.join('\n')}\n`;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

export const surroundings = (config: Config): Surroundings => ({
  now: Date.now,
  sleep: async (ms) => void (await sleep(ms)),
  log: createLog(config.logLevel),
  pages: { version: ownVersion() },
});

async function withApp(
  args: string[],
  work: (app: App, rest: string[], config: Config) => Promise<number>,
): Promise<number> {
  const { flags, rest } = takeFlags(args, [flagOf('database')]);
  const config = configOf(flags);
  const app = await createApp(config, surroundings(config));
  try {
    return await work(app, rest, config);
  } finally {
    await app.stop();
  }
}

function configOf(flags: Record<string, string>): Config {
  try {
    return readConfig(process.env, flags);
  } catch (thrown) {
    throw new Problem('bad-argument', (thrown as Error).message);
  }
}

/** `--name VALUE` and `--name=VALUE` of the flags that are named, and the rest. */
function takeFlags(args: string[], names: string[]): { flags: Record<string, string>; rest: string[] } {
  const flags: Record<string, string> = {};
  const rest: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string;
    const [name = '', value] = arg.startsWith('--') ? arg.slice(2).split(/=(.*)/s, 2) : [];
    if (!names.includes(name)) {
      rest.push(arg);
      continue;
    }
    const given = value ?? args[++index];
    if (given === undefined) throw new Problem('bad-argument', `--${name}: a value is missing`);
    flags[name] = given;
  }
  return { flags, rest };
}

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

function parse(args: string[], options: Options, count: number) {
  try {
    const parsed = parseArgs({ args, options, allowPositionals: true });
    if (parsed.positionals.length === count) return parsed;
  } catch (thrown) {
    throw new Problem('bad-argument', `${(thrown as Error).message}\n${help()}`);
  }
  throw new Problem('bad-argument', help());
}

const counted = ({ accounts, messages }: ImportResult): string =>
  `${accounts.toLocaleString('en')} ${accounts === 1 ? 'account' : 'accounts'} with ${messages.toLocaleString('en')} messages`;

/** On a terminal, four times a second. */
function showProgress(): (result: ImportResult) => void {
  if (!process.stderr.isTTY) return () => {};
  let shownAt = 0;
  return (result) => {
    if (Date.now() - shownAt < 250) return;
    shownAt = Date.now();
    process.stderr.write(`\r${counted(result)}…\u001b[K\r`);
  };
}
