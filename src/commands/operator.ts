import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { readConnectorFile } from '../carriers/connector-file.ts';
import { migrateCommands } from '../migration/commands/migrate.ts';
import type { Action, Services } from '../operator/action.ts';
import { actions } from '../operator/actions/all.ts';
import type { Actor } from '../operator/actor.ts';
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

const MEANINGS: Readonly<Record<string, string>> = {
  account: 'create, show and change accounts',
  'account-token': 'bearer tokens of an account',
  audit: 'the record of who changed what',
  batch: 'messages of an account that were accepted together',
  blacklist: 'numbers to which an account must not send',
  connector: 'connectors to carriers',
  contact: 'contacts of an account',
  credits: 'credits of an account and their movements',
  event: 'what happened, as webhooks were told',
  group: 'groups of contacts',
  guard: 'what an account may spend, and where it may send',
  inbox: 'received messages of an account',
  message: 'sent and scheduled messages of an account',
  migrate: 'move from an old server, step by step and reversibly',
  operator: 'people who sign in to the console',
  'outbound-route': 'which connectors carry a message, in which order and for which price',
  person: 'export or erase what is known about a phone number',
  queue: 'messages of all accounts that wait to be sent',
  retention: 'for how many days data is kept',
  route: 'which account gets the messages to a number',
  template: 'templates of an account',
  token: 'bearer tokens of the JSON API',
  unrouted: 'received messages that have no route',
  'user-id': 'user_ids of an account',
  webhook: 'URLs to which events are delivered',
};

export const commandActor = (): Actor => ({
  kind: 'command',
  name: userName(),
  tokenId: null,
  address: null,
  scopes: [],
  account: null,
});

const meaningOf = (noun: string): string => {
  const meaning = MEANINGS[noun];
  if (meaning === undefined) throw new Error(`the noun ${noun} needs its meaning`);
  return meaning;
};

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
