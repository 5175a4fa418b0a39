import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Problem } from '../base/problem.ts';

/**
 * Reads a secret, which is never given on the command line, where other users and the history of
 * the shell would show it. `told` names the secret in the error if it is missing.
 */
export async function readSecret(name: string, told: string = name): Promise<string> {
  const line = process.stdin.isTTY ? await prompt(`${name}: `) : await firstLine();
  if (line === '') throw new Problem('bad-argument', `${told}: there was nothing on standard input`);
  return line;
}

/** Reads several secrets in this order, one per line. An empty line omits a secret. */
export async function readSecrets(names: readonly string[]): Promise<Record<string, string>> {
  const lines: string[] = [];
  if (process.stdin.isTTY) for (const name of names) lines.push(await prompt(`${name} (empty for none): `));
  else lines.push(...(await firstLines(names.length)));
  const pairs = names.map((name, index) => [name, lines[index] ?? ''] as const);
  return Object.fromEntries(pairs.filter(([, secret]) => secret !== ''));
}

// Longer than any secret that we accept.
const LENGTH_MAX = 10_000;

const firstLine = async (): Promise<string> => (await firstLines(1))[0] ?? '';

async function firstLines(count: number): Promise<string[]> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.split('\n').length > count || text.length > count * LENGTH_MAX) break;
  }
  return text.split(/\r?\n/, count);
}

/** Asks at a terminal and echoes. An empty answer is the default. */
export async function ask(question: string, fallback: string): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await new Promise((resolve, reject) => {
      reader.once('close', () => reject(new Problem('bad-argument', 'The questions were not answered to the end.')));
      reader.once('SIGINT', () => process.exit(130));
      reader.question(`${question}${fallback && ` [${fallback}]`}: `, (line) => resolve(line.trim() || fallback));
    });
  } finally {
    reader.removeAllListeners('close');
    reader.close();
  }
}

/** Asks for a secret at a terminal; an empty answer is allowed. */
export const askSecret = (name: string): Promise<string> => prompt(`${name}: `);

/** Does not echo what is typed. */
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
