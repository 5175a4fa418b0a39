import { Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { counted } from '../../base/counted.ts';
import { type CommandDependencies, performForPeople } from '../../commands/action-command.ts';
import { examples } from '../../commands/help-text.ts';
import { harmless, print } from '../../commands/output.ts';
import { type Session, withSession } from '../../commands/session.ts';
import { migrateReport } from '../actions/migration.ts';
import type { MigrationReport } from '../stages/report.ts';
import { VERDICT_DEFAULTS, type VerdictSettings } from '../stages/verdict.ts';
import { jsonOption, readCount, writeText } from './settings.ts';

/** `columba migrate verdict`: the exit code is 0 only if it is safe to leave the old server. */
interface VerdictOptions {
  readonly days: number;
  readonly calls: number;
  readonly html?: string;
  readonly force?: true;
  readonly json?: true;
}

const withOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--days <N>', 'judge by the calls of the last N days')
        .argParser(readCount(1, 90))
        .default(VERDICT_DEFAULTS.days),
    )
    .addOption(
      new Option('--calls <N>', 'the least number of calls of each operation and protocol in use')
        .argParser(readCount(1, 1_000_000))
        .default(VERDICT_DEFAULTS.callsMin),
    )
    .option('--html <FILE>', 'write the report as a page to print: the first page is for people who decide')
    .option('--force', 'replace the file if it exists')
    .addOption(jsonOption());

/** `columba migrate report`, for people who decide: as text, as a page to print, or as JSON. */
export const reportCommand = ({ withServices, actor }: CommandDependencies): Command =>
  withOptions(new Command('report'))
    .description('show the stage of each account, what blocks the move, what differs, and who accepted what and why')
    .addHelpText('after', examples('columba migrate report --html report.html'))
    .action(async (_options, command: Command) => {
      const { days, calls, html, force, json } = command.opts() as VerdictOptions;
      await withServices(command, { creates: false }, async (services) => {
        if (html !== undefined) {
          await writePage(services.database, { days, callsMin: calls }, html, force === true);
          if (!json) print(`Wrote ${html}. Print it from a browser.\n`);
        }
        if (json) {
          const raw = { params: {}, query: { days: String(days), calls: String(calls) }, body: undefined };
          const { output } = await performForPeople(
            services,
            migrateReport,
            { ...raw, upload: new Uint8Array() },
            actor,
          );
          return print(JSON.stringify(output, null, 2));
        }
        for (const line of await textOf(services.database, { days, callsMin: calls })) print(harmless(line));
      });
    });

async function textOf(database: Session['services']['database'], settings: VerdictSettings): Promise<string[]> {
  const { migrationReport } = await import('../stages/report.ts');
  const { migrationPlan } = await import('../stages/plan.ts');
  const { decisionLines } = await import('../stages/decision.ts');
  return decisionLines(
    await migrationPlan(database, systemClock.now),
    await migrationReport(database, systemClock.now, settings),
  );
}

export const verdictCommand = (): Command =>
  withOptions(new Command('verdict'))
    .addHelpText('after', examples('columba migrate verdict --days 7'))
    .description('tell whether it is safe to leave the old server; the exit code is 0 only if it is')
    .action(async (_options, command: Command) => {
      process.exitCode = await withSession(command, { creates: false }, (session) =>
        runVerdict(session, command.opts() as VerdictOptions),
      );
    });

async function runVerdict({ services }: Session, { days, calls, html, force, json }: VerdictOptions): Promise<number> {
  const { migrationReport } = await import('../stages/report.ts');
  const settings = { days, callsMin: calls };
  const report = await migrationReport(services.database, systemClock.now, settings);
  if (html !== undefined) await writePage(services.database, settings, html, force === true);
  if (json) print(JSON.stringify(report));
  else for (const line of linesOf(report)) print(line);
  return report.isSafe ? 0 : 1;
}

async function writePage(
  database: Session['services']['database'],
  settings: VerdictSettings,
  file: string,
  force: boolean,
): Promise<void> {
  const { migrationReport, reportDocument } = await import('../stages/report.ts');
  const { migrationPlan } = await import('../stages/plan.ts');
  const { decisionPart } = await import('../stages/decision.ts');
  const report = await migrationReport(database, systemClock.now, settings);
  const page = reportDocument(report, decisionPart(await migrationPlan(database, systemClock.now), report));
  await writeText(file, force, page);
}

function linesOf({ isSafe, rules, operations, unknown, examples, knownDifferences, days }: MigrationReport): string[] {
  const compared = operations.filter(({ calls, dropped }) => calls + dropped > 0);
  const others = operations.length - compared.length;
  return [
    `${isSafe ? 'Safe' : 'Not safe yet'}, by the last ${counted(days, 'day')}.`,
    ...rules.map(({ name, isMet, detail }) => `${isMet ? 'yes' : 'NO '}  ${name.padEnd(10)}${detail}`),
    '',
    ...compared.map(
      (each) =>
        `${each.operation} ${each.protocol}: ${counted(each.calls, 'call')}, ${each.different} different, ${each.failed} failed, ${each.lag} lag`,
    ),
    ...(others > 0
      ? [`${others} more ${others === 1 ? 'pair' : 'pairs'} of operation and protocol: recorded, and not compared yet.`]
      : []),
    ...unknown.map(
      ({ operation, calls, isAccepted }) =>
        `Columba lacks ${operation}: ${counted(calls, 'call')}${isAccepted ? ', accepted' : `. Accept it with: columba migrate accept ${operation}`}`,
    ),
    ...examples.map(({ operation, protocol, name, example }) => `${name}: ${operation} ${protocol}: ${example}`),
    ...knownDifferences.map(({ name, total }) => `known difference ${name}: ${total}`),
  ];
}
