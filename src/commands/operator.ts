import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { readConnectorFile } from '../carriers/connector-file.ts';
import { migrateCommands } from '../migration/commands/migrate.ts';
import type { Action, Services } from '../operator/action.ts';
import { actions } from '../operator/actions/all.ts';
import type { Actor } from '../operator/actor.ts';
import { meaningOf } from '../operator/nouns.ts';
import { servicesOf } from '../serve/compose/operator.ts';
import { accountCommands, findCommand } from './account.ts';
import { actionCommand, type CommandDependencies, summaryOf } from './action-command.ts';
import { completionCommand } from './completion.ts';
import { print } from './output.ts';
import { configOf, databaseOption, settingOption, userName, withSession } from './session.ts';

/**
 * The commands of the operator: every action, under its noun. They are loaded only if one of them
 * is used.
 */

export const commandActor = (): Actor => ({
  kind: 'command',
  name: userName(),
  tokenId: null,
  address: null,
  scopes: [],
  account: null,
});

/**
 * The commands of all actions; a noun with several verbs is a command with subcommands. Options are
 * made of schemas, which takes 0.4 s of CPU for all actions, so with the words of a command line
 * only the verbs among them are made: all verbs of a noun if none is there.
 */
export function operatorCommands(
  dependencies: CommandDependencies,
  find?: Command,
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
    const verbs = verbsOf(noun, own, dependencies, find);
    const named = verbs.filter(({ verb }) => words?.includes(verb));
    for (const { make, isHidden } of named.length > 0 ? named : verbs) group.addCommand(make(), { hidden: isHidden });
    return group;
  });
}

const nounOf = (name: string): string => name.split(' ', 1)[0] as string;
const verbOf = (name: string): string => name.split(' ')[1] as string;

interface Verb {
  readonly verb: string;
  readonly isHidden: boolean;
  readonly make: () => Command;
}

function verbsOf(noun: string, own: readonly Action[], dependencies: CommandDependencies, find?: Command): Verb[] {
  const written = [
    ...(noun === 'account' ? [...accountCommands(dependencies), ...(find ? [find] : [])] : []),
    ...(noun === 'migrate' ? migrateCommands(dependencies) : []),
  ];
  const ofAction = (action: Action, name: string, isHidden: boolean): Verb => ({
    verb: verbOf(name),
    isHidden,
    make: () => actionCommand(action, dependencies, name),
  });
  const made = (commands: readonly Command[]): Verb[] =>
    commands.map((command) => ({ verb: command.name(), isHidden: false, make: () => command }));
  const ofActions = own
    .filter(({ name }) => !written.some((command) => command.name() === verbOf(name)))
    .map((action) => ofAction(action, action.name, false));
  const former = own.flatMap((action) => (action.formerly ? [ofAction(action, action.formerly.name, true)] : []));
  return noun === 'account' ? [...ofActions, ...made(written), ...former] : [...made(written), ...ofActions, ...former];
}

/** For actions that need no database. Using it would be a bug. */
const NO_DATABASE = { database: {} as Services['database'], engine: 'sqlite' as const, extensions: [] };

/** `words` are those of the command line; without them every command is whole. */
export function addOperatorCommands(program: Command, words?: readonly string[]): Command {
  const dependencies: CommandDependencies = {
    withServices: (command, options, work) =>
      options.needsNoDatabase
        ? work(servicesOf(NO_DATABASE, configOf(command).config, systemClock))
        : withSession(command, options, ({ services, config }) => {
            const connectorsOfFile = () => readConnectorFile(config.connectors).map(({ name }) => name);
            return work({ ...servicesOf(services, config, systemClock), connectorsOfFile });
          }),
    print,
    actor: commandActor(),
  };
  const find = findCommand(
    (command, work) =>
      withSession(command, { creates: false }, ({ services, config }) =>
        work((isWanted) => services.accounts.list(isWanted), config.logKey),
      ),
    print,
  );
  for (const command of operatorCommands(dependencies, find, words?.includes('completion') ? undefined : words)) {
    program.addCommand(inheriting(command, program));
    const isGroup = command.commands.length > 0;
    command.addOption(isGroup ? databaseOption().hideHelp() : databaseOption()); // the option may precede the subcommand
    for (const each of command.commands) inheriting(each, program).addOption(databaseOption());
  }
  find.addOption(settingOption('logKey'));
  program.addCommand(inheriting(completionCommand(program, print), program));
  return program;
}

const inheriting = (command: Command, program: Command): Command => command.copyInheritedSettings(program);
