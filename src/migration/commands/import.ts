import { existsSync } from 'node:fs';
import { Argument, Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { counted } from '../../base/counted.ts';
import { Problem } from '../../base/problem.ts';
import { examples } from '../../commands/help-text.ts';
import { harmless, print, progressLine, remark } from '../../commands/output.ts';
import { readSecret } from '../../commands/secret-input.ts';
import { configOf, type Session, withSession } from '../../commands/session.ts';
import { sqlitePath } from '../../config/database-name.ts';
import { webUrlOf } from '../../config/web-address.ts';
import type { AccountReport, ImportProgress, ImportReport } from '../copy/import.ts';
import {
  type CopySession,
  copyDependencies,
  type OldOptions,
  oldServerOptions,
  readInstant,
  readUsers,
  type UsersOptions,
  withOldOptions,
  withUsersOptions,
} from './options.ts';
import { jsonOption, readUrl, writeText } from './settings.ts';

/** `columba migrate probe` and `import`. They mark and delete nothing at the old server. */

/** The exit code if the old server asked for a pause or does not answer: repeat it later. */
export const LATER = 4;

export const probeCommand = (): Command =>
  withOldOptions(
    new Command('probe')
      .description('look at an old server with one account, and print its dialect')
      .addArgument(new Argument('<URL>', 'the old server').argParser(readUrl)),
  )
    .option('--no-mark-test', 'do not test with one message whether reading marks it')
    .option('--out <FILE>', 'write the dialect to a file, for COLUMBA_DIALECT')
    .option('--force', 'replace the file if it exists')
    .option('--strict', 'end with exit code 1 if something is uncertain')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nThe user_id comes from standard input, or is asked for. Exit codes: 0 done, 1 refused, 4 try later.',
    )
    .addHelpText('after', examples('columba migrate probe https://old.example/api --out dialect.json'))
    .action(async (url: string, options: ProbeOptions, command: Command) => {
      process.exitCode = await runProbe(url, options, command);
    });

interface ProbeOptions extends OldOptions {
  readonly markTest: boolean;
  readonly out?: string;
  readonly force?: true;
  readonly strict?: true;
  readonly json?: true;
}

async function runProbe(url: string, options: ProbeOptions, command: Command): Promise<number> {
  const { probe } = await import('../learn/probe.ts');
  const { parseDialect } = await import('../../asmx/dialect/dialect-file.ts');
  const { config } = configOf(command);
  const userId = await readSecret('user_id');
  const settings = {
    ...oldServerOptions(url, options, config),
    timeZone: config.timeZone,
    testsMarks: options.markTest,
  };
  const report = await laterInWords(() => probe({ ...settings, userId }));
  if (typeof report === 'string') return told(report);
  const { dialect } = report.learned;
  parseDialect(dialect); // throws here what `serve` would refuse later
  const { out } = options;
  if (out !== undefined) await writeText(out, options.force === true, `${JSON.stringify(dialect, null, 2)}\n`);
  if (options.json) print(JSON.stringify(report, null, 2));
  else {
    print(`Namespace: ${report.namespace ?? 'unknown'}`);
    print(`Protocols: ${report.protocols.join(', ')}`);
    for (const [name, effect] of Object.entries(report.effects)) print(`${name}: ${EFFECTS[effect]}`);
    const caps = Object.entries(dialect.caps ?? {}).map(([name, rows]) => `${name} returns at most ${rows}`);
    print(harmless(`Caps: ${caps.join(', ') || 'none was seen'}`));
    print(`Calls: ${report.calls}`);
    for (const { entry, text } of report.learned.findings) print(harmless(`  ${entry}: ${text}`));
    print(report.uncertain.length === 0 ? 'Nothing is uncertain.' : 'Uncertain:');
    for (const { entry, reason } of report.uncertain) print(harmless(`  ${entry}: ${reason}`));
    if (out === undefined) print(JSON.stringify(dialect, null, 2));
    else print(`Wrote ${out}. Serve with COLUMBA_DIALECT=${out}, and run import and check with it.`);
  }
  return options.strict && report.uncertain.length > 0 ? 1 : 0;
}

const EFFECTS = {
  leaves: 'leaves messages as they are',
  marks: 'marks what it returns',
  untested: 'not tested whether it marks',
} as const;

/** Returns a sentence if the old server asks for a pause or does not answer. */
export async function laterInWords<T>(work: () => Promise<T>): Promise<T | string> {
  const { OldServerBusy, OldServerUnreachable } = await import('../old-server/old-server.ts');
  try {
    return await work();
  } catch (thrown) {
    // Trying later does not help if a person has to decide whether to trust a certificate.
    if (thrown instanceof OldServerUnreachable && !thrown.isTemporary)
      throw new Problem('bad-argument', thrown.message);
    if (thrown instanceof OldServerBusy || thrown instanceof OldServerUnreachable) return thrown.message;
    throw thrown;
  }
}

export function told(sentence: string): number {
  remark(`columba: ${harmless(sentence)} Run the same command again later, and it continues.`);
  return LATER;
}

export const importCommand = (): Command =>
  withUsersOptions(
    new Command('import').description('copy accounts from the old server by its own operations; can be repeated'),
  )
    .option('--dry-run', 'read everything, check the counts, and write nothing')
    .addOption(
      new Option('--since <DATE>', 'for accounts that were copied before: only messages received since then').argParser(
        readInstant,
      ),
    )
    .option('--links <FILE>', 'for accounts without a password: write one-time links for the console to a file')
    .option('--force', 'replace the file if it exists')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nScheduled messages are held: see columba migrate schedule. Accounts whose writes wait for the old server are left out. For those that Columba answers alone, only late messages and receipts are copied.\nExit codes: 0 all copied, 1 not all, 4 try later.',
    )
    .addHelpText('after', examples('columba migrate import --old https://old.example/api --users users.txt --dry-run'))
    .action(async (options: ImportOptions, command: Command) => {
      const users = await readUsers(options.users);
      const { config } = configOf(command);
      const path = sqlitePath(config);
      // Before the first import there is no database, and a dry run does not create one.
      const isMissing = options.dryRun === true && path !== undefined && !existsSync(path);
      process.exitCode = isMissing
        ? await runImport({ config }, users, options)
        : await withSession(command, { creates: options.dryRun !== true }, (session) =>
            runImport(session, users, options),
          );
    });

interface ImportOptions extends UsersOptions {
  readonly dryRun?: true;
  readonly since?: number;
  readonly links?: string;
  readonly force?: true;
  readonly json?: true;
}

async function runImport(
  session: CopySession,
  users: Awaited<ReturnType<typeof readUsers>>,
  options: ImportOptions,
): Promise<number> {
  const { importAccounts, CALLS_OF_AN_ACCOUNT } = await import('../copy/import.ts');
  remark(`columba: ${estimateOf(users.length, CALLS_OF_AN_ACCOUNT, options.rate)}`);
  const dependencies = await copyDependencies(session, options);
  const report = await importAccounts(dependencies, users, {
    dryRun: options.dryRun === true,
    since: options.since ?? null,
    progress: showProgress(),
  });
  dependencies.old.close();
  const links = isSession(session) && !options.dryRun ? await linksFor(session, report.accounts, options) : [];
  if (options.json) print(JSON.stringify(report, null, 2));
  else for (const line of importLines(report, links.length, options)) print(harmless(line));
  if (report.isRetryable) return told(report.stopped ?? '');
  if (report.stopped !== null) remark(`columba: ${harmless(report.stopped)}`);
  const isWhole = report.accounts.every(({ outcome }) => outcome !== 'failed' && outcome !== 'left');
  return report.stopped === null && isWhole ? 0 : 1;
}

const isSession = (session: CopySession): session is Session => session.services !== undefined;

const DRY_LINKS = 'a dry run makes no links.';
const NO_LINKS =
  'every account that was copied has a password. A link for another one: columba account sign-in-link USERNAME';

function importLines(report: ImportReport, links: number, { links: file, dryRun }: ImportOptions): string[] {
  const lines = report.accounts.flatMap((each) => {
    const name = each.username ?? `line ${each.line}`;
    if (each.problem !== null) return [`${name}: failed. ${each.problem}`, ...each.remarks.map((one) => `  ${one}`)];
    if (each.outcome === 'late' || each.outcome === 'left')
      return [`${name}: ${each.outcome}. ${each.remarks.join(' ')}`];
    const messages = `${each.read} read, ${each.unread} unread, ${each.sent} sent, ${each.scheduled} scheduled (held)`;
    const rows = `${counted(each.contacts, 'contact')} in ${counted(each.groups, 'group')}, ${counted(each.templates, 'template')}`;
    return [`${name}: ${each.outcome}. ${messages}; ${rows}`, ...each.remarks.map((one) => `  ${one}`)];
  });
  const without = report.accounts.filter(({ hasPassword, outcome }) => !hasPassword && outcome === 'copied').length;
  if (file !== undefined && links > 0)
    lines.push(`Wrote ${counted(links, 'one-time link')} to ${file}, valid for 24 hours.`);
  else if (without > 0)
    lines.push(
      `${counted(without, 'account shows', 'accounts show')} no password: use --links FILE, or columba account sign-in-link.`,
    );
  if (file !== undefined && links === 0) lines.push(`${file} was not written: ${dryRun ? DRY_LINKS : NO_LINKS}`);
  lines.push(`Calls to the old server: ${report.calls}.${dryRun ? ' A dry run: nothing is written.' : ''}`);
  lines.push('It cannot be proven that all sent messages were copied, because no operation counts them.');
  return lines;
}

/** Writes one-time links to a file that only its owner can read. */
async function linksFor(
  { services, config }: Session,
  accounts: readonly AccountReport[],
  { links, force }: ImportOptions,
): Promise<string[]> {
  if (links === undefined) return [];
  const { ownerNamed } = await import('../../domain/access/owners.ts');
  const { issueLink } = await import('../../domain/access/sign-in.ts');
  const lines: string[] = [];
  for (const { username, hasPassword, outcome } of accounts) {
    if (hasPassword || username === null || outcome !== 'copied') continue;
    const owner = await ownerNamed(services.database, 'account', username);
    if (!owner || owner.passwordHash !== null) continue;
    const { token } = await issueLink(services.database, owner, systemClock.now());
    lines.push(`${username}\t${webUrlOf(config) ?? 'http://localhost'}/console/sign-in/${token}`);
  }
  if (lines.length > 0) await writeText(links, force === true, `${lines.join('\n')}\n`);
  return lines;
}

/** An estimate for small accounts: more messages and groups take more calls. */
export function estimateOf(accounts: number, callsOfOne: number, rate: number): string {
  const calls = accounts * callsOfOne;
  const time = rate > 0 ? `, ${duration(calls / rate)} at --rate ${rate}` : '';
  return `${counted(accounts, 'account')}: at least ${counted(calls, 'call')} to the old server${time}. Large inboxes take more.`;
}

const duration = (seconds: number): string =>
  seconds < 120
    ? `${Math.ceil(seconds)} s`
    : seconds < 7_200
      ? `${Math.ceil(seconds / 60)} min`
      : `${(seconds / 3_600).toFixed(1)} h`;

function showProgress(): (progress: ImportProgress) => void {
  const show = progressLine();
  const startedAt = systemClock.now();
  return ({ done, total, username, received, calls }) =>
    show(() => {
      const name = username === null ? '' : ` ${harmless(username)}: ${counted(received, 'new message')}.`;
      const seconds = done === 0 ? 0 : (((systemClock.now() - startedAt) / done) * (total - done)) / 1_000;
      const left = done === 0 ? '' : ` About ${duration(seconds)} left.`;
      return `${done} of ${counted(total, 'account')}, ${counted(calls, 'call')}.${name}${left}`;
    });
}
