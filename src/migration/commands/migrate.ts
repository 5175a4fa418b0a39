import type { Command } from 'commander';
import { blacklistCommand } from './blacklist.ts';
import { checkCommand, scheduleCommand } from './check.ts';
import { importCommand, probeCommand } from './import.ts';
import { learnCommand } from './learn.ts';
import { proxyCommand } from './proxy.ts';
import { harCommand, recordingsCommand, replayCommand } from './recordings.ts';
import { verdictCommand } from './verdict.ts';

/**
 * Commands of `columba migrate` that are no actions of the operator. Each is declared in a file of
 * its own and loads what it does when it is run.
 */
export const migrateCommands = (): Command[] => [
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
];
