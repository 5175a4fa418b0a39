import { type Command, CommanderError } from 'commander';
import { isUnavailable, NO_DATABASE_EXIT_CODE, operatorSentence, Problem } from './base/problem.ts';
import { withoutPassword } from './base/url-password.ts';
import { version } from './base/version.ts';
import { endAtClosedPipe } from './commands/output.ts';
import { createProgram } from './commands/program.ts';
import { isNoun } from './operator/actions/of-noun.ts';

/**
 * Runs the command of argv. Exit codes: 0 done, 1 refused or failed, 2 not understood, 3 the
 * database does not answer.
 */
const program = createProgram(version);
const args = withHelpLast(process.argv.slice(2));
endAtClosedPipe();
/**
 * Resolves when the command has ended. It is not awaited at the top of the file, because the
 * executable that is one file has this as a CommonJS module.
 */
export const ended = run();

async function run(): Promise<void> {
  // The operator's commands take up to 0.5 s to load, which the others do without.
  if (!program.commands.some((command) => command.name() === args[0]) && !['-V', '--version'].includes(args[0] ?? '')) {
    const [noun = ''] = args;
    if (isNoun(noun)) await (await import('./commands/operator.ts')).addCommandsOf(program, noun, args);
    else (await import('./commands/all.ts')).addOperatorCommands(program, args);
  }

  try {
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof CommanderError) {
      if (thrown.exitCode !== 0) tell(usageMistake(thrown));
      process.exitCode = thrown.exitCode === 0 ? 0 : 2;
    } else {
      // A mistake of the caller's is one sentence; anything else is a bug, and its stack helps.
      const told = thrown instanceof Problem || (thrown as NodeJS.ErrnoException).code !== undefined;
      tell(told ? sentence(thrown as Error) : withoutPassword(String((thrown as Error).stack ?? thrown)));
      process.exitCode = isUnavailable(thrown) ? NO_DATABASE_EXIT_CODE : 1;
    }
  }
}

/** Commander helps about one word. `help account add` is `account add --help`. */
function withHelpLast([first, ...words]: string[]): string[] {
  if (first === 'help' && words.length > 1) return [...words, '--help'];
  return first === undefined ? [] : [first, ...words];
}

function tell(line: string): void {
  process.stderr.write(`columba: ${line.replace(/[^\P{Cc}\n\t]/gu, '\ufffd')}\n`);
}

/** One line, with the nearest right word where there is one, and where to read on. */
function usageMistake({ code, message }: CommanderError): string {
  const command = commandOf(program, args);
  const names = command.commands.map((each) => each.name()).join(', ');
  const mistake = code === 'commander.help' ? `expected one of ${names}` : message.replace(/^error: /, '');
  return `${mistake.replace(/\s*\n\s*/g, ' ').replace(/\.$/, '')}. Try: ${nameOf(command)} --help`;
}

/** The command that the first words name. */
function commandOf(parent: Command, [word, ...rest]: readonly string[]): Command {
  const found = parent.commands.find((each) => each.name() === word);
  return found ? commandOf(found, rest) : parent;
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

/** What others say may hold the address of the database, with its password. */
function sentence(thrown: Error): string {
  const told = operatorSentence(thrown);
  return thrown instanceof Problem && !thrown.cause ? told : withoutPassword(told);
}
