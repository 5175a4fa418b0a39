import { commands, help } from './commands.ts';
import { operatorSentence, Problem } from './problem.ts';

/** argv → one command. */
const [name = '--help', ...args] = process.argv.slice(2);

try {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) {
    process.exitCode = await command(args);
  } else if (['help', '--help', '-h'].includes(name)) {
    process.stdout.write(help());
  } else {
    throw new Problem('bad-argument', `There is no command ${name}. Try: columba --help`);
  }
} catch (thrown) {
  // A mistake of the caller's is one sentence; anything else is a bug, and its stack helps.
  const told = thrown instanceof Problem || (thrown as NodeJS.ErrnoException).code !== undefined;
  process.stderr.write(`columba: ${told ? operatorSentence(thrown as Error) : ((thrown as Error).stack ?? thrown)}\n`);
  process.exitCode = 1;
}
