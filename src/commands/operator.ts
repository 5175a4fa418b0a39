import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import type { Action, Services } from '../operator/action.ts';
import { actionsOf, nounOf } from '../operator/actions/of-noun.ts';
import type { Actor } from '../operator/actor.ts';
import { meaningOf } from '../operator/nouns.ts';
import { servicesOf } from '../serve/compose/operator.ts';
import { actionCommand, type CommandDependencies, summaryOf } from './action-command.ts';
import { completionCommand } from './completion.ts';
import { print } from './output.ts';
import { configOf, databaseOption, userName, withSession } from './session.ts';

/**
 * The commands of the operator: every action, under its noun. They are loaded only if one of them
 * is used, and then only those of its noun.
 */

export const commandActor = (): Actor => ({
  kind: 'command',
  name: userName(),
  tokenId: null,
  address: null,
  scopes: [],
  account: null,
});

/** What commands are made of. */
export interface Declared {
  readonly actions: readonly Action[];
  /** Commands that do more than one action, by their noun. */
  readonly written: Readonly<Record<string, (dependencies: CommandDependencies) => Command[]>>;
}

/**
 * The commands of actions; a noun with several verbs is a command with subcommands. Options are
 * made of schemas, which takes 0.4 s of CPU for all actions, so with the words of a command line
 * only the verbs among them are made: all verbs of a noun if none is there.
 */
export function operatorCommands(
  { actions, written }: Declared,
  dependencies: CommandDependencies,
  words?: readonly string[],
): Command[] {
  const nouns = [...new Set(actions.map(({ name }) => nounOf(name)))];
  return nouns.map((noun) => {
    const own = actions.filter(({ name }) => nounOf(name) === noun);
    const [first] = own;
    const isAsked = words === undefined || words.includes(noun);
    if (own.length === 1 && first && !first.name.includes(' '))
      return isAsked ? actionCommand(first, dependencies) : new Command(noun).description(summaryOf(first));
    const group = new Command(noun).description(meaningOf(noun)).helpCommand(false).usage('COMMAND');
    if (!isAsked) return group;
    const verbs = verbsOf(noun, own, dependencies, written[noun]?.(dependencies) ?? []);
    const named = verbs.filter(({ verb }) => words?.includes(verb));
    for (const { make, isHidden } of named.length > 0 ? named : verbs) group.addCommand(make(), { hidden: isHidden });
    return group;
  });
}

const verbOf = (name: string): string => name.split(' ')[1] as string;

interface Verb {
  readonly verb: string;
  readonly isHidden: boolean;
  readonly make: () => Command;
}

function verbsOf(
  noun: string,
  own: readonly Action[],
  dependencies: CommandDependencies,
  written: readonly Command[],
): Verb[] {
  const ofAction = (action: Action, name: string, isHidden: boolean): Verb => ({
    verb: verbOf(name),
    isHidden,
    make: () => actionCommand(action, dependencies, name),
  });
  const made: Verb[] = written.map((command) => ({ verb: command.name(), isHidden: false, make: () => command }));
  const ofActions = own
    .filter(({ name }) => !written.some((command) => command.name() === verbOf(name)))
    .map((action) => ofAction(action, action.name, false));
  const former = own.flatMap((action) => (action.formerly ? [ofAction(action, action.formerly.name, true)] : []));
  return noun === 'account' ? [...ofActions, ...made, ...former] : [...made, ...ofActions, ...former];
}

/** For actions that need no database. Using it would be a bug. */
const NO_DATABASE = { database: {} as Services['database'], engine: 'sqlite' as const, extensions: [] };

/** The commands of one noun, and nothing else is loaded. */
export async function addCommandsOf(program: Command, noun: string, words: readonly string[]): Promise<void> {
  const written: Declared['written'] = {
    ...(noun === 'account' && { account: (await import('./account.ts')).accountCommands }),
    ...(noun === 'migrate' && { migrate: (await import('../migration/commands/migrate.ts')).migrateCommands }),
  };
  addCommands(program, { actions: await actionsOf(noun), written }, words);
}

export function addCommands(program: Command, declared: Declared, words?: readonly string[]): Command {
  const dependencies: CommandDependencies = { withServices, print, actor: commandActor() };
  for (const command of operatorCommands(declared, dependencies, words)) {
    program.addCommand(inheriting(command, program));
    const isGroup = command.commands.length > 0;
    command.addOption(isGroup ? databaseOption().hideHelp() : databaseOption()); // the option may precede the subcommand
    for (const each of command.commands) inheriting(each, program).addOption(databaseOption());
  }
  program.addCommand(inheriting(completionCommand(program, print), program));
  return program;
}

const withServices: CommandDependencies['withServices'] = async (command, options, work) => {
  if (options.needsNoDatabase) return work(servicesOf(NO_DATABASE, configOf(command).config, systemClock));
  await withSession(command, options, async ({ services, config }) => {
    const file = config.connectors === '' ? null : await import('../carriers/connector-file.ts'); // loads every kind
    const connectorsOfFile = () => file?.readConnectorFile(config.connectors).map(({ name }) => name) ?? [];
    await work({ ...servicesOf(services, config, systemClock), connectorsOfFile });
  });
};

const inheriting = (command: Command, program: Command): Command => command.copyInheritedSettings(program);
