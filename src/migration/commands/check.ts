import { Argument, Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { counted } from '../../base/counted.ts';
import { Problem } from '../../base/problem.ts';
import { examples } from '../../commands/help-text.ts';
import { harmless, print, remark } from '../../commands/output.ts';
import { type Session, withSession } from '../../commands/session.ts';
import type { AccountDifference, CheckedAccount } from '../copy/check.ts';
import type { TakeOverReport } from '../copy/take-over.ts';
import { laterInWords, told } from './import.ts';
import { copyDependencies, readUsers, type UsersOptions, withUsersOptions } from './options.ts';
import { jsonOption } from './settings.ts';

/** `columba migrate check` and `schedule`. */
interface CheckOptions extends UsersOptions {
  readonly json?: true;
}
type Users = Awaited<ReturnType<typeof readUsers>>;

export const checkCommand = (): Command =>
  withUsersOptions(new Command('check').description('compare counts and contents of both sides, account by account'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nIt changes nothing on either side. Exit codes: 0 equal, 1 different or not all checked, 4 try later.',
    )
    .addHelpText('after', examples('columba migrate check --old https://old.example/api --users users.txt'))
    .action(async (options: CheckOptions, command: Command) => {
      const users = await readUsers(options.users);
      process.exitCode = await withSession(command, { creates: false }, (session) => runCheck(session, users, options));
    });

async function runCheck(session: Session, users: Users, options: CheckOptions): Promise<number> {
  const { checkAccounts } = await import('../copy/check.ts');
  const { createMigrationCounts } = await import('../stages/counts.ts');
  const { archive, database } = session.services;
  const dependencies = { ...(await copyDependencies(session, options)), archive };
  const checked = await laterInWords(() => checkAccounts(dependencies, users));
  dependencies.old.close();
  if (typeof checked === 'string') return told(checked);
  const isEqual = checked.every((each) => each.isEqual);
  const unread = checked.filter(({ problem }) => problem !== null).length;
  const isWhole = checked.some(({ differences }) => differences.length > 0) || unread === 0;
  await createMigrationCounts(database, systemClock.now).setCheck(isEqual, isWhole); // for the verdict
  if (options.json) print(JSON.stringify({ isEqual, accounts: checked }, null, 2));
  else for (const line of checked.flatMap(checkLines)) print(harmless(line));
  if (unread > 0)
    remark(`columba: Could not be checked: ${unread} of ${counted(checked.length, 'account')}, see above.`);
  return isEqual ? 0 : 1;
}

function checkLines({ line, username, isEqual, differences, problem }: CheckedAccount): string[] {
  const name = username ?? `line ${line}`;
  if (problem !== null) return [`${name}: not checked. ${problem}`];
  if (isEqual) return [`${name}: equal`];
  // For templates, the order is compared too.
  const order = (each: AccountDifference) =>
    each.here === each.there && [each.onlyHere, each.onlyThere, each.different].every((ids) => ids.length === 0)
      ? '; only their order differs'
      : '';
  const shown = (what: string, ids: readonly string[]) => (ids.length > 0 ? `; ${what}: ${ids.join(', ')}` : '');
  return [
    `${name}: different`,
    ...differences.map(
      (each) =>
        `  ${each.what}: ${each.here} in Columba, ${each.there} at the old server${shown('only in Columba', each.onlyHere)}${shown('only at the old server', each.onlyThere)}${shown('different', each.different)}${order(each)}`,
    ),
  ];
}

interface ScheduleOptions extends UsersOptions {
  readonly dryRun?: true;
  readonly json?: true;
}

export const scheduleCommand = (): Command =>
  withUsersOptions(
    new Command('schedule')
      .description('take over scheduled messages: each is deleted at the old server, then activated in Columba')
      .addArgument(new Argument('<ACT>').choices(['take-over'])),
  )
    .option('--dry-run', 'show what would be taken over, and change nothing')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nMessages with an unknown outcome are held and listed: send each with columba message activate, or delete it.' +
        '\nExit codes: 0 all are activated, 1 not all, 4 try later.',
    )
    .addHelpText(
      'after',
      examples('columba migrate schedule take-over --old https://old.example/api --users users.txt'),
    )
    .action(async (_act: string, options: ScheduleOptions, command: Command) => {
      const users = await readUsers(options.users);
      process.exitCode = await withSession(command, { creates: false }, (session) =>
        runTakeOver(session, users, options),
      );
    });

async function runTakeOver(session: Session, users: Users, options: ScheduleOptions): Promise<number> {
  const { takeOverSchedule } = await import('../copy/take-over.ts');
  const { accounts } = session.services;
  const dependencies = {
    ...(await copyDependencies(session, options)),
    tryForMs: session.config.retryHours * 3_600_000,
    sendingOf: async (account: bigint) => {
      const { timeZone, quietHours } = await accounts.profile(account);
      return { region: await accounts.region(account), timeZone, quietHours };
    },
  };
  const reports: TakeOverReport[] = [];
  let isWhole = true;
  for (const { line, userId } of users) {
    try {
      const dryRun = options.dryRun === true;
      const report = await laterInWords(() => takeOverSchedule(dependencies, userId, { dryRun }));
      if (typeof report === 'string') return told(report);
      reports.push(report);
      if (!options.json) for (const each of takeOverLines(report)) print(harmless(each));
    } catch (thrown) {
      if (!(thrown instanceof Problem) || thrown.kind !== 'conflict') throw thrown;
      remark(`columba: line ${line}: ${harmless(thrown.message)}`);
      isWhole = false;
    }
  }
  dependencies.old.close();
  if (options.json) print(JSON.stringify(reports, (_, value) => (typeof value === 'bigint' ? `${value}` : value), 2));
  const isActive = reports.every(({ messages }) => messages.every(({ outcome }) => DONE.includes(outcome)));
  return isWhole && isActive ? 0 : 1;
}

const DONE: readonly string[] = ['activated', 'gone', 'would-activate'];

function takeOverLines({ username, messages }: TakeOverReport): string[] {
  const counts = new Map<string, number>();
  for (const { outcome } of messages) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const summary = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ') || 'nothing is scheduled';
  const open = messages.filter(({ outcome }) => !DONE.includes(outcome));
  const lines = open.map(({ id, outcome, dueAt }) => {
    const due = dueAt === null ? '' : `, due ${new Date(dueAt).toISOString()}`;
    return `  ${id}: ${outcome}${due}`;
  });
  return [`${username}: ${summary}`, ...lines];
}
