import type { Command } from 'commander';
import { Registry } from 'prom-client';
import { addOperatorCommands } from '../src/commands/all.ts';
import { createProgram } from '../src/commands/program.ts';
import type { Action } from '../src/operator/action.ts';
import { actions } from '../src/operator/actions/all.ts';
import { addMessageCounts, createMetrics } from '../src/serve/telemetry/metrics.ts';
import { addBackupMetric, addSendingMetrics } from '../src/serve/telemetry/sending-metrics.ts';
import { table } from './markdown.ts';

/** The tables of routes, commands and metrics, from what the program declares. */

const nounOf = (name: string): string => name.split(' ', 1)[0] as string;
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A table of the routes of each noun. */
export function routes(): string {
  const nouns = [...new Set(actions.map(({ name }) => nounOf(name)))];
  const rowOf = (action: Action) => [
    `\`${action.method} ${action.path}\``,
    cell(action.summary),
    action.scope === null ? 'any' : `\`${action.scope}\`${action.accountTokens ? ', also of an account' : ''}`,
    `\`columba ${action.name}\``,
  ];
  return nouns
    .map((noun) => {
      const rows = actions.filter(({ name }) => nounOf(name) === noun).map(rowOf);
      return `### ${noun}\n\n${table(['request', 'what it does', 'scope of the token', 'command'], rows)}`;
    })
    .join('\n\n');
}

/** A table of all commands, with their arguments and options. */
export function commands(): string {
  const program = addOperatorCommands(createProgram('0'));
  const rows = program.commands.flatMap((command) => rowsOf(command, ''));
  return table(['command', 'what it does', 'options'], rows);
}

function rowsOf(command: Command, before: string): string[][] {
  const name = `${before}${command.name()}`;
  const shown = command.createHelp().visibleCommands(command);
  const inner = shown.filter((each) => each.name() !== 'help').flatMap((each) => rowsOf(each, `${name} `));
  const words = command.registeredArguments.map((each) => (each.required ? each.name() : `[${each.name()}]`));
  if (command.commands.length > 0 && words.length === 0) return inner;
  const options =
    name === 'serve' ? ['`--demo`', '`--trace`', 'a flag for each [setting](SETTINGS.md)'] : flagsOf(command);
  const own = [`\`${[name, ...words].join(' ')}\``, cell(sentence(command.description())), options.join(', ') || '–'];
  return [own, ...inner];
}

const flagsOf = (command: Command): string[] =>
  command.options
    .filter(({ hidden, long }) => !hidden && long !== '--database' && long !== '--json' && long !== '--help')
    .map(({ long }) => `\`${long}\``);

/** A table of the metrics of Columba's own, from their help texts. */
export async function metrics(): Promise<string> {
  const nothing = async () => Promise.reject(new Error('no database'));
  const { registry } = createMetrics(
    {
      engine: 'sqlite',
      traffic: () => undefined,
      responseCache: () => ({ hits: 0, misses: 0, bytes: 0 }),
      linesLost: () => 0,
    },
    '0',
  );
  addMessageCounts(registry, nothing);
  addSendingMetrics(registry, nothing);
  addBackupMetric(registry, () => 0);
  const own = (await Registry.merge([registry]).getMetricsAsJSON()).filter(
    ({ name, help }) => name.startsWith('columba_') && !help.startsWith('Now columba_'),
  );
  return table(
    ['metric', 'type', 'meaning'],
    own.map(({ name, type, help }) => [`\`${name}\``, String(type), cell(help)]),
  );
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
