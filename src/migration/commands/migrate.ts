import type { Command } from 'commander';
import type { CommandDependencies } from '../../commands/action-command.ts';
import { blacklistCommand } from './blacklist.ts';
import { checkCommand, scheduleCommand } from './check.ts';
import { filesCommand } from './files.ts';
import { importCommand, probeCommand } from './import.ts';
import { learnCommand } from './learn.ts';
import { proxyCommand } from './proxy.ts';
import { harCommand, recordingsCommand, replayCommand } from './recordings.ts';
import { reportCommand, verdictCommand } from './verdict.ts';

/**
 * The commands of `columba migrate` that are no actions of the operator, and `report`, which shows
 * more than its action. Each is declared in a file of its own and loads its code when it is run.
 */
export const migrateCommands = (dependencies: CommandDependencies): Command[] => [
  probeCommand(),
  importCommand(),
  checkCommand(),
  scheduleCommand(),
  blacklistCommand(),
  filesCommand(),
  proxyCommand(),
  harCommand(),
  recordingsCommand(),
  learnCommand(),
  replayCommand(),
  verdictCommand(),
  reportCommand(dependencies),
];
