import { spawn } from 'node:child_process';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plantedFaults } from './faults.ts';
import { NOT_PLANTED } from './hooks.ts';
import type { PlantedFault } from './planted-fault.ts';

/**
 * Runs the program with each planted fault in a process of its own, until the checker finds it. Short
 * worlds are enough: much happens in their few hours, and the time at the end has everything settled.
 * A fault that no simulation can find has an ordinary test, and is looked for only by its name.
 */
const RUN = fileURLToPath(new URL('run.ts', import.meta.url));
const SEEDS = Number(process.env.SEEDS ?? 100);
const HOURS = '4';
const CACHE = join(tmpdir(), 'columba-simulator-cache');
/** A world takes some seconds, and on a busy machine a minute. */
const HANGS_AFTER_MS = 900_000;
const ENDED: Readonly<Record<string, string>> = { null: 'it works without end' };
const print = (line: string) => void process.stdout.write(`${line}\n`);

interface Found {
  readonly isFound: boolean;
  readonly seeds: number;
  /** The rule that found it, or the error that ended the run. */
  readonly how: string;
}

/** All of the list or the one with the name; `from` is the number of the first, where a run was interrupted. */
interface Choice {
  readonly name: string | undefined;
  readonly from: number;
}

export async function runPlanted({ name, from }: Choice): Promise<void> {
  const numbered = plantedFaults.map((planted, index) => ({ planted, number: index + 1 }));
  const chosen = numbered.filter(({ planted, number }) => number >= from && (name ?? planted.name) === planted.name);
  if (chosen.length === 0) throw new Error(`there is no planted fault ${name ?? from}`);
  const waiting = chosen.filter(({ planted }) => name !== undefined || planted.ordinaryTest === undefined);
  const missed: string[] = [];
  print('| number | planted fault | seeds | found by |\n|---|---|---|---|');
  for (const { planted, number } of chosen) {
    if (planted.ordinaryTest) print(`| ${number} | ${planted.name} | – | ${planted.ordinaryTest} |`);
  }
  const total = waiting.length;
  const next = async (): Promise<void> => {
    for (let each = waiting.shift(); each; each = waiting.shift()) {
      const { planted, number } = each;
      const { isFound, seeds, how } = await look(planted);
      if (!isFound) missed.push(planted.name);
      print(`| ${number} | ${planted.name} | ${seeds} | ${isFound ? how : 'NOT FOUND'} |`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, availableParallelism() - 1) }, next));
  print(`${total - missed.length} of ${total} planted faults were found within ${SEEDS} seeds of ${HOURS} hours each`);
  if (missed.length > 0) process.exitCode = 1;
}

function look({ name }: PlantedFault): Promise<Found> {
  const options = ['--seed', '1', '--seeds', String(SEEDS), '--hours', HOURS, '--until-fault', '--mutation', name];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', RUN, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: CACHE }, // half of the time of a run of one seed
  });
  let output = '';
  let hanging = setTimeout(() => child.kill(), HANGS_AFTER_MS);
  const onOutput = (piece: unknown): void => {
    output += piece;
    clearTimeout(hanging);
    hanging = setTimeout(() => child.kill(), HANGS_AFTER_MS);
  };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', onOutput);
  return new Promise((resolve) =>
    child.once('exit', (code) => {
      clearTimeout(hanging);
      const seeds = [...output.matchAll(/^seed \d+:/gm)].length;
      const rule = /^ {2}(\w+): /m.exec(output)?.[1];
      // A fault may also keep a world from beginning, or end it.
      const error = output.split('\n').find((line) => /Error/.test(line));
      // A fault whose line is gone was not planted.
      const isFound = code !== 0 && !output.includes(NOT_PLANTED);
      resolve({
        isFound,
        seeds: isFound ? Math.max(1, seeds) : seeds,
        how: rule ?? error ?? ENDED[String(code)] ?? `exit code ${code}`,
      });
    }),
  );
}
