import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type PlantedFault, plantedFaults } from './faults.ts';

/** Runs the program with each planted fault in a process of its own, until the checker finds it. */
const RUN = fileURLToPath(new URL('run.ts', import.meta.url));
const SEEDS = '100';
const HOURS = '16';
const print = (line: string) => void process.stdout.write(`${line}\n`);

export async function runPlanted(name: string | undefined): Promise<void> {
  const waiting = plantedFaults.filter((each) => name === undefined || each.name === name);
  if (waiting.length === 0) throw new Error(`there is no planted fault ${name}`);
  let found = 0;
  const total = waiting.length;
  const next = async (): Promise<void> => {
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) if (await look(fault)) found += 1;
  };
  await Promise.all(Array.from({ length: Math.max(1, availableParallelism() - 1) }, next));
  print(`${found} of ${total} planted faults were found`);
  if (name !== undefined && found === 0) process.exitCode = 1;
}

function look({ name, ordinaryTest }: PlantedFault): Promise<boolean> {
  const options = ['--seed', '1', '--seeds', SEEDS, '--hours', HOURS, '--until-fault', '--mutation', name];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', RUN, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
  return new Promise((resolve) =>
    child.once('exit', (code) => {
      const seeds = [...output.matchAll(/^seed \d+:/gm)].length;
      const [, rule] = /^ {2}(\w+): /m.exec(output) ?? [];
      // A fault may also keep a world from beginning or end it.
      const isFound = code !== 0;
      const how =
        rule ??
        output
          .trim()
          .split('\n')
          .find((line) => /Error/.test(line)) ??
        `exit code ${code}`;
      const test = ordinaryTest === undefined ? '' : ` (it has a test: ${ordinaryTest})`;
      print(isFound ? `found in ${Math.max(1, seeds)} seeds: ${name}: ${how}` : `NOT FOUND: ${name}${test}`);
      resolve(isFound);
    }),
  );
}
