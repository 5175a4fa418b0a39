import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { campaign, type Summary } from './campaign.ts';
import { writeCase } from './cases.ts';
import { ENGINES } from './databases.ts';
import { createHangWatch } from './hang.ts';
import type { Target } from './target.ts';
import { targets } from './targets.ts';

/** `npm run proof fuzz`: inputs without end, or as many as are asked for, until a rule is broken. */
const USAGE = `npm run proof fuzz -- [options]
  --target NAME   one of ${Object.keys(targets).join(', ')}; all in turn unless it is given
  --seed N        repeats a run; another each time unless it is given
  --inputs N      of each target, and then an end
  --from N        the number of the first input
  --engine NAME   one of ${Object.keys(ENGINES).join(', ')}; the first unless it is given
  --save FOLDER   where a finding goes, as a case to replay; the folder for temporary files unless it is given
`;

const say = (text: string) => process.stdout.write(`${text}\n`);

function readArguments() {
  const text = { type: 'string' } as const;
  const options = { target: text, seed: text, inputs: text, from: text, engine: text, save: text };
  const { values } = parseArgs({ options });
  const whole = (name: 'seed' | 'inputs' | 'from', fallback: number) => {
    const value = values[name] === undefined ? fallback : Number(values[name]);
    if (!(value >= 0)) throw new Error(`--${name}: expected a whole number`);
    return value;
  };
  const named = values.target === undefined ? Object.values(targets) : [targets[values.target]];
  const engine = ENGINES[values.engine ?? 'sqlite'];
  if (named.includes(undefined)) throw new Error(`--target: there is no ${values.target}`);
  if (!engine) throw new Error(`--engine: there is no ${values.engine}`);
  return {
    chosen: named as Target[],
    engine,
    save: values.save,
    seed: whole('seed', Date.now() % 1_000_000_000),
    inputs: whole('inputs', Infinity),
    from: whole('from', 0),
  };
}

/** So many of a target, and then it is the next one's turn. */
const TURN = 5_000;

async function main({ chosen, engine: open, ...given }: ReturnType<typeof readArguments>): Promise<number> {
  const { seed, inputs, from, save } = given;
  const engine = await open();
  // Without end means until somebody ends it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void engine.remove().finally(() => process.exit(130)));
  }
  const folder = save ?? tmpdir();
  say(`seed ${seed}, ${engine.name}, ${chosen.map(({ name }) => name).join(', ')}`);
  const watch = await createHangWatch();
  try {
    const end = from + inputs;
    for (let start = from; start < end; start += TURN) {
      for (const target of chosen) {
        const startedAt = Date.now();
        const to = Math.min(end, start + TURN);
        const again = `--target ${target.name} --seed ${seed} --engine ${engine.name} --from ${start}`;
        const next = (number: number) => watch.next(`input ${number} of ${again}`);
        const { found, ...summary } = await campaign(target, { engine, seed, from: start, to, next });
        report(target, start, { found, ...summary }, Date.now() - startedAt);
        if (!found) continue;
        say(`\nFOUND in ${target.name}: ${found.rule}\n${found.what}\n`);
        for (const input of found.inputs) say(JSON.stringify(input));
        say(`\nsaved as ${writeCase(folder, target.name, found)}`);
        say(`again: npm run proof fuzz -- ${again}`);
        return 1;
      }
    }
    return 0;
  } finally {
    await watch.stop();
    await engine.remove();
  }
}

function report({ name }: Target, start: number, { inputs, answers, slowest, found }: Summary, ms: number): void {
  const rate = Math.round((inputs / Math.max(1, ms)) * 1_000);
  const slow = `slowest ${slowest.ms.toFixed(0)} ms (input ${slowest.number})`;
  const groups = new Map<string, number>();
  for (const [answer, count] of answers) {
    const group = answer.replace(/^200 \w+$/, '200');
    groups.set(group, (groups.get(group) ?? 0) + count);
  }
  const kinds = [...groups]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 8)
    .map(([kind, count]) => `${kind} ${count}`);
  say(`${name} ${start + inputs} inputs, ${rate}/s, ${slow}, findings ${found ? 1 : 0}; ${kinds.join(', ')}`);
}

let given: ReturnType<typeof readArguments> | undefined;
try {
  given = readArguments();
} catch (thrown) {
  process.stderr.write(`${(thrown as Error).message}\n\n${USAGE}`);
}
process.exitCode = given ? await main(given) : 2;
