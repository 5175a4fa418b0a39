import type { Command } from 'commander';
import { migrateCommands } from '../migration/commands/migrate.ts';
import { actions } from '../operator/actions/all.ts';
import { accountCommands } from './account.ts';
import { addCommands, type Declared } from './operator.ts';

/** Every command, for help, for completion, and for a word that no command has. */
export const everything: Declared = {
  actions,
  written: { account: accountCommands, migrate: migrateCommands },
};

/** `words` are those of the command line; without them every command is whole. */
export const addOperatorCommands = (program: Command, words?: readonly string[]): Command =>
  addCommands(program, everything, words?.includes('completion') ? undefined : words);
