import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { Problem } from '../../base/problem.ts';
import { examples } from '../../commands/help-text.ts';
import { requireFile } from '../../commands/input-file.ts';
import { harmless, print, refuseExisting } from '../../commands/output.ts';
import { configOf } from '../../commands/session.ts';
import type { LearnedDialect } from '../learn/learn.ts';
import type { Doubt } from '../learn/learned.ts';
import { jsonOption, writeText } from './settings.ts';

/** `columba migrate learn FILE…` */
export const learnCommand = (): Command =>
  new Command('learn')
    .description('build a dialect from recordings: names, columns, words, dates, orders, caps')
    .argument('<FILE...>', 'recordings of the proxy, compressed or not')
    .option('--out <FILE>', 'write the dialect to a file, for COLUMBA_DIALECT')
    .option('--force', 'replace the file if it exists')
    .addOption(
      new Option('--update <FILE>', 'add what was learned to a dialect file, whose entries stay').conflicts('out'),
    )
    .addOption(jsonOption())
    .option('--strict', 'end with exit code 1 if something is uncertain')
    .addHelpText('after', examples('columba migrate learn recordings/*.ndjson --out dialect.json'))
    .action(async (files: string[], options: LearnOptions, command: Command) => {
      process.exitCode = await runLearn(files, options, configOf(command).config.timeZone);
    });

interface LearnOptions {
  readonly out?: string;
  readonly update?: string;
  readonly force?: true;
  readonly json?: true;
  readonly strict?: true;
}

async function runLearn(files: readonly string[], options: LearnOptions, timeZone: string): Promise<number> {
  const { out, update } = options;
  if (update !== undefined) requireFile(update);
  if (out !== undefined) refuseExisting(out, options.force === true); // before reading, which takes minutes
  const { learnDialect } = await import('../learn/learn.ts');
  const { openDoubts } = await import('../learn/learned.ts');
  const { readRecording } = await import('../compare/recording.ts');
  const { completed, parseDialect } = await import('../../asmx/dialect/dialect-file.ts');
  async function* recordings() {
    for (const file of files) yield* readRecording(file);
  }
  for (const file of files) requireFile(file);
  const seen = await learnDialect(recordings, timeZone);
  const written = update === undefined ? {} : parseDialect(JSON.parse(readFileSync(update, 'utf8')));
  const { dialect, disputed } = completed(written, seen.dialect);
  const isKnown = new Set(written.answered);
  const uncertain = [
    ...openDoubts(seen.uncertain, written, seen.dialect),
    ...disputed.filter((entry) => !isKnown.has(entry)).map(dispute),
  ];
  const learned = { ...seen, dialect, uncertain };
  if (learned.answers === 0) {
    throw new Problem('bad-argument', 'No answer of the old server is in these recordings. Record some calls first.');
  }
  parseDialect(learned.dialect); // throws here what `serve` would refuse later
  if (out !== undefined) {
    await writeText(out, options.force === true, `${JSON.stringify(learned.dialect, null, 2)}\n`);
  }
  if (update !== undefined) await writeText(update, true, `${JSON.stringify(dialect, null, 2)}\n`);
  if (options.json) print(JSON.stringify(learned, null, 2));
  else for (const line of report(learned, out ?? update)) print(harmless(line));
  return options.strict && learned.uncertain.length > 0 ? 1 : 0;
}

const dispute = (entry: string): Doubt => ({
  entry,
  reason: 'the recordings contradict the file, which stays as it is',
});

function report(learned: LearnedDialect, out: string | undefined): string[] {
  const { exchanges, answers, faults, unreadable, findings, uncertain, dialect } = learned;
  const number = (value: number) => value.toLocaleString('en');
  return [
    `Exchanges: ${number(exchanges)}. Answers: ${number(answers)}, of them faults: ${number(faults)}, not readable: ${number(unreadable.count)}.`,
    ...unreadable.reasons.map((reason) => `  ${reason}`),
    '',
    'Seen (how often, entry, what):',
    ...findings.map(({ entry, count, text }) => `  ${number(count).padStart(9)}  ${entry}: ${text}`),
    '',
    uncertain.length === 0 ? 'Nothing is uncertain.' : 'Uncertain:',
    ...uncertain.map(({ entry, reason }) => `  ${entry}: ${reason}`),
    ...(uncertain.length === 0 || out === undefined
      ? []
      : [`Correct these in ${out}. If one is right as it is, name its entry in the list "answered" of the file.`]),
    '',
    ...(out === undefined
      ? JSON.stringify(dialect, null, 2).split('\n')
      : [
          `Wrote ${out}. Start Columba and the proxy again with COLUMBA_DIALECT=${out}, and run import and check with it.`,
        ]),
  ];
}
