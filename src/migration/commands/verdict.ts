import { writeFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { print, writeWhole } from '../../commands/output.ts';
import { type Session, withSession } from '../../commands/session.ts';
import type { MigrationReport } from '../stages/report.ts';
import { VERDICT_DEFAULTS } from '../stages/verdict.ts';
import { jsonOption, readCount } from './settings.ts';

/** `columba migrate verdict`: the exit code is 0 only where it is safe. */
interface VerdictOptions {
  readonly days: number;
  readonly calls: number;
  readonly html?: string;
  readonly force?: true;
  readonly json?: true;
}

export const verdictCommand = (): Command =>
  new Command('verdict')
    .description('tell whether it is safe to leave the old server; exit code 0 only where it is')
    .addOption(
      new Option('--days <N>', 'by the calls of the last days')
        .argParser(readCount(1, 90))
        .default(VERDICT_DEFAULTS.days),
    )
    .addOption(
      new Option('--calls <N>', 'the least calls of each operation and protocol in use')
        .argParser(readCount(1, 1_000_000))
        .default(VERDICT_DEFAULTS.callsMin),
    )
    .option(
      '--html <FILE>',
      'write the report as a page too: where each account is, what blocks, who accepted what, and the details',
    )
    .option('--force', 'replace the file if it exists')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => {
      process.exitCode = await withSession(command, { creates: false }, (session) =>
        runVerdict(session, command.opts() as VerdictOptions),
      );
    });

async function runVerdict({ services }: Session, { days, calls, html, force, json }: VerdictOptions): Promise<number> {
  const { migrationReport, reportDocument } = await import('../stages/report.ts');
  const report = await migrationReport(services.database, Date.now, { days, callsMin: calls });
  if (html !== undefined) {
    const { migrationPlan } = await import('../stages/plan.ts');
    const { decisionPart } = await import('../stages/decision.ts');
    const page = reportDocument(report, decisionPart(await migrationPlan(services.database, Date.now), report));
    await writeWhole(html, { force: force === true }, async (temporary) =>
      writeFileSync(temporary, page, { mode: 0o600, flag: 'wx' }),
    );
  }
  if (json) print(JSON.stringify(report));
  else for (const line of linesOf(report)) print(line);
  return report.isSafe ? 0 : 1;
}

function linesOf({ isSafe, rules, operations, unknown, examples, masks, days }: MigrationReport): string[] {
  const compared = operations.filter(({ calls, dropped }) => calls + dropped > 0);
  const others = operations.length - compared.length;
  return [
    `${isSafe ? 'Safe' : 'Not safe yet'}, by the last ${days} days.`,
    ...rules.map(({ name, isMet, detail }) => `${isMet ? 'yes' : 'NO '}  ${name.padEnd(10)}${detail}`),
    '',
    ...compared.map(
      (each) =>
        `${each.operation} ${each.protocol}: ${each.calls} calls, ${each.different} different, ${each.failed} failed, ${each.lag} lag`,
    ),
    ...(others > 0
      ? [`${others} more ${others === 1 ? 'pair' : 'pairs'} of operation and protocol: recorded, and not compared yet.`]
      : []),
    ...unknown.map(
      ({ operation, calls, isAccepted }) =>
        `Columba lacks ${operation}: ${calls} calls${isAccepted ? ', accepted' : `. Accept it with: columba migrate accept ${operation}`}`,
    ),
    ...examples.map(({ operation, protocol, name, example }) => `${name}: ${operation} ${protocol}: ${example}`),
    ...masks.map(({ name, total }) => `mask ${name}: ${total}`),
  ];
}
