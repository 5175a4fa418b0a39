import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { counted } from '../../base/counted.ts';
import { Problem } from '../../base/problem.ts';
import { examples } from '../../commands/help-text.ts';
import { readEncoding, requireFile } from '../../commands/input-file.ts';
import { harmless, print, progressLine, remark, remarkOnTerminal } from '../../commands/output.ts';
import { configOf, type Session, settingOption, withSession } from '../../commands/session.ts';
import { DELIVERY_STATUSES } from '../../domain/messages/statuses.ts';
import { DELIMITERS } from '../../transfer/csv.ts';
import type { CsvFile } from '../../transfer/csv-file.ts';
import { FILE_KINDS, type FileKind, type FileReport, fileColumns } from '../copy/files.ts';
import { dialectOf, jsonOption } from './settings.ts';

/** `columba migrate files`: imports from CSV files what no operation of the old server returns. */
export interface FileFlags {
  readonly username?: string;
  readonly column?: ReadonlyMap<string, string>;
  readonly delimiter?: string;
  readonly encoding?: string;
  readonly dryRun?: true;
  readonly json?: true;
}
interface FilesFlags extends FileFlags {
  readonly dates?: string;
  readonly status?: ReadonlyMap<string, string>;
}

export const withFileOptions = (command: Command): Command =>
  command
    .option('--username <NAME>', 'the account of all rows; without it, the column username names the account')
    .addOption(
      new Option(
        '--column <NAME=HEADER>',
        'the header of a column in the file; empty leaves it out; may be repeated',
      ).argParser(readPair),
    )
    .addOption(
      new Option(
        '--delimiter <MARK>',
        'what separates cells: a comma, a semicolon, a vertical bar or tab; without it, the mark is detected',
      ).argParser(readDelimiter),
    )
    .option(
      '--encoding <NAME>',
      'the encoding of the file, such as windows-1250; without it, the encoding is detected',
      readEncoding,
    )
    .option('--dry-run', 'check the file, and add nothing')
    .addOption(jsonOption());

export const filesCommand = (): Command =>
  withFileOptions(
    new Command('files')
      .description('add contacts, older sent messages or a blacklist from a CSV file; can be repeated')
      .addArgument(new Argument('<KIND>', 'what is in the file').choices(FILE_KINDS))
      .addArgument(new Argument('<FILE>', 'CSV, whose first row names the columns')),
  )
    .option('--dates <FORMAT>', 'how times are written, such as "dd/MM/yyyy HH:mm:ss"')
    .addOption(
      new Option('--status <WORD=STATUS>', 'what a status word of the file means; may be repeated').argParser(
        readStatus,
      ),
    )
    .addOption(settingOption('timeZone'))
    .addOption(settingOption('dialect'))
    .addHelpText('after', `\nColumns, * is needed:\n${columnLines()}\n\n${RULES}`)
    .addHelpText('after', examples('columba migrate files contacts contacts.csv --username acme --dry-run'))
    .action(async (kind: FileKind, file: string, flags: FilesFlags, command: Command) => {
      process.exitCode = await runFile(kind, file, flags, command);
    });

const columnLines = (): string =>
  FILE_KINDS.map((kind) => {
    const names = fileColumns(kind, true).map(({ name, required }) => `${name}${required ? '*' : ''}`);
    return `  ${kind.padEnd(10)} ${names.join(', ')}`;
  }).join('\n');

const RULES = `A contact gets the fields that it lacks; what it has stays. A sent message with an id is found by it, else by number, time and text. The same file again adds nothing. No credits move.
Exit codes: 0 all rows, 1 some were refused, 2 the columns or options are wrong.`;

function readPair(text: string, before: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === '') throw new InvalidArgumentError('Expected a pair such as number="Mobile no".');
  return new Map([...before, [name.trim(), value.trim()]]);
}

function readStatus(text: string, before: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const pairs = readPair(text, before);
  const unknown = [...pairs.values()].some((status) => !(DELIVERY_STATUSES as readonly string[]).includes(status));
  if (unknown) throw new InvalidArgumentError(`Expected WORD=STATUS with one of ${DELIVERY_STATUSES.join(', ')}.`);
  return pairs;
}

function readDelimiter(text: string): string {
  const mark = text === 'tab' || text === '\\t' ? '\t' : text;
  if (!(DELIMITERS as readonly string[]).includes(mark)) throw new InvalidArgumentError('Expected , or ; or | or tab.');
  return mark;
}

/** Resolves with the exit code. */
export async function runFile(kind: FileKind, file: string, flags: FilesFlags, command: Command): Promise<number> {
  const { timeReader } = await import('../copy/file-dates.ts');
  const { config } = configOf(command);
  requireFile(file);
  const csv = await usage(command, () => opened(kind, file, flags));
  const readTime = await usage(command, async () => timeReader(flags.dates ?? null, config.timeZone));
  const options = {
    username: flags.username ?? null,
    dryRun: flags.dryRun === true,
    readTime,
    dialect: await dialectOf(config),
    statuses: flags.status ?? new Map<string, string>(),
  };
  return withSession(command, { creates: false }, async ({ services }) => {
    const { loadFile } = await import('../copy/files.ts');
    await checkAccount(services, options.username);
    const { database, blacklist, accounts } = services;
    const regionOf = (account: bigint) => accounts.region(account);
    const show = progressLine();
    const report = await loadFile({ database, blacklist, regionOf, now: systemClock.now }, kind, csv.rows, {
      ...options,
      progress: ({ rows, added, refused }) =>
        show(() => `${counted(rows, 'row')}, ${added} added, ${refused} refused.`),
    });
    if (flags.json) print(JSON.stringify(forPrograms(report, csv, options.dryRun)));
    else tell(kind, report, csv, { zone: config.timeZone, dryRun: options.dryRun });
    return report.refused === 0 && report.stopped === null ? 0 : 1;
  });
}

async function opened(kind: FileKind, file: string, flags: FilesFlags): Promise<CsvFile> {
  const { openCsvFile } = await import('../../transfer/csv-file.ts');
  const columns = fileColumns(kind, flags.username !== undefined);
  const named = flags.column ?? new Map<string, string>();
  const names = columns.map(({ name }) => name);
  const unknown = [...named.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new Problem('bad-argument', `--column ${unknown}: expected one of ${names.join(', ')}`);
  }
  return openCsvFile(file, columns, {
    named: new Map([...named].map(([name, header]) => [name, header.toLowerCase()])),
    way: (name) =>
      `--column ${name}="Header"${name === 'username' ? ', or name the account of all rows with --username' : ''}`,
    ...(flags.delimiter === undefined ? {} : { delimiter: flags.delimiter }),
    ...(flags.encoding === undefined ? {} : { encoding: flags.encoding }),
  });
}

/** Wrong columns or a wrong format are mistakes in the command line, with the exit code 2. */
async function usage<T>(command: Command, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof Problem)) throw thrown;
    return command.error(harmless(thrown.message), { exitCode: 2 });
  }
}

async function checkAccount({ database }: Session['services'], username: string | null): Promise<void> {
  const { accountIdNamed } = await import('../stages/migrated-accounts.ts');
  if (username !== null && (await accountIdNamed(database, username)) === null)
    throw new Problem('bad-argument', `There is no account ${username}.`);
}

/** `row` is the former name of `line`. */
const forPrograms = ({ refused, refusals, ...counts }: FileReport, { encoding }: CsvFile, isDryRun: boolean) => ({
  ...counts,
  refusedRows: refused,
  refused: refusals.map(({ line, problem }) => ({ row: line, line, problem })),
  encoding,
  isDryRun,
});

interface Told {
  readonly zone: string;
  readonly dryRun: boolean;
}

function tell(kind: FileKind, report: FileReport, { encoding, delimiter }: CsvFile, { zone, dryRun }: Told): void {
  const { rows, added, known, filled, differing, deleted, cancelled, refused, refusals, stopped } = report;
  for (const { line, problem } of refusals) remark(`columba: line ${line}: ${harmless(problem)}`);
  if (refused > refusals.length) remark(`… and ${refused - refusals.length} more`);
  if (stopped !== null)
    remark(`columba: ${harmless(stopped)} The rows after it were not read. Correct it, and run the command again.`);
  const mark = delimiter === '\t' ? 'tabs' : delimiter;
  const times = kind === 'sent' ? `, times without a zone as ${zone}` : '';
  remarkOnTerminal(`${counted(rows, 'row')}, read as ${encoding}, separated by ${mark}${times}.`);
  if (kind === 'blacklist' && dryRun) {
    print(`A dry run: ${rows - refused} of ${counted(rows, 'row')} can be added.`);
    return;
  }
  const counts = [`Added ${added}`, ...(kind === 'contacts' ? [`filled ${filled}`] : []), `known before ${known}`];
  const more = [
    ...(refused > 0 ? [`Refused ${refused}.`] : []),
    ...(deleted > 0 ? [`Left out ${deleted} that clients have deleted in Columba.`] : []),
    ...(differing > 0
      ? [`${counted(differing, 'row differs', 'rows differ')} from the contact, which stays as it is.`]
      : []),
    ...(kind === 'blacklist' ? [`Cancelled scheduled messages: ${cancelled}.`] : []),
    ...(dryRun ? ['A dry run: nothing is written.'] : []),
  ];
  print([`${counts.join(', ')}.`, ...more].join(' '));
}
