import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Problem } from '../problem.ts';

/**
 * A secret never stands on the command line, where other users and the history of the shell see it.
 * `told` names it where it is missing: the option that asks for it, if there is one.
 */
export async function readSecret(name: string, told: string = name): Promise<string> {
  const line = process.stdin.isTTY ? await prompt(`${name}: `) : await firstLine();
  if (line === '') throw new Problem('bad-argument', `${told}: there was nothing on standard input`);
  return line;
}

// Longer than any secret that we take.
const LENGTH_MAX = 10_000;

async function firstLine(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.includes('\n') || text.length > LENGTH_MAX) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

/** What is typed is not shown. */
function prompt(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true });
  return new Promise((resolve) => {
    reader.once('line', (line) => {
      process.stderr.write('\n');
      reader.close();
      resolve(line);
    });
    reader.once('SIGINT', () => process.exit(130));
  });
}
