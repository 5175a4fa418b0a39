import type { Command } from 'commander';
import type { CommandDependencies } from './action-command.ts';
import { blacklistCommand } from './migrate-blacklist.ts';
import { checkCommand, scheduleCommand } from './migrate-check.ts';
import { importCommand, probeCommand } from './migrate-import.ts';
import { learnCommand } from './migrate-learn.ts';
import { proxyCommand } from './migrate-proxy.ts';
import { harCommand, recordingsCommand, replayCommand } from './migrate-recordings.ts';
import { reportCommand, verdictCommand } from './migrate-verdict.ts';

/**
 * Commands of `columba migrate` that are no actions of the operator, and `report`, which shows more
 * than its action. Each is declared in a file of its own and loads what it does when it is run.
 */
export const migrateCommands = (dependencies: CommandDependencies): Command[] => [
  probeCommand(),
  importCommand(),
  checkCommand(),
  scheduleCommand(),
  blacklistCommand(),
  proxyCommand(),
  harCommand(),
  recordingsCommand(),
  learnCommand(),
  replayCommand(),
  verdictCommand(),
  reportCommand(dependencies),
];
