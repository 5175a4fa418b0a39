import type { Command } from 'commander';
import { blacklistCommand } from './migrate-blacklist.ts';
import { checkCommand, scheduleCommand } from './migrate-check.ts';
import { importCommand, probeCommand } from './migrate-import.ts';
import { learnCommand } from './migrate-learn.ts';
import { proxyCommand } from './migrate-proxy.ts';
import { harCommand, recordingsCommand, replayCommand } from './migrate-recordings.ts';
import { verdictCommand } from './migrate-verdict.ts';

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
