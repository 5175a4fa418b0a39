import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { Problem } from '../../base/problem.ts';
import { examples } from '../../commands/help-text.ts';
import { requireFile } from '../../commands/input-file.ts';
import { print, refuseExisting, remark } from '../../commands/output.ts';
import { type Session, withSession } from '../../commands/session.ts';
import { listValue } from '../../operator/command-line.ts';
import { type FileFlags, runFile, withFileOptions } from './files.ts';
import { readUsers } from './options.ts';
import { folderOption, migrationSettings, writeText } from './settings.ts';

/** `columba migrate blacklist`, because no operation lists the blacklist of the old server. */
interface BlacklistOptions extends FileFlags {
  readonly users?: string;
  readonly words: string;
  readonly out?: string;
  readonly add?: string;
  readonly force?: true;
}

const WORDS = 'STOP,STOPALL,UNSUBSCRIBE,OPTOUT,CANCEL,END,QUIT';

export const blacklistCommand = (): Command =>
  withFileOptions(
    new Command('blacklist').description('propose a blacklist from recordings and STOP texts, or add one from a file'),
  )
    .argument('[FILE...]', 'recordings: calls of BlackListNumber are proposed')
    .option('--users <FILE>', 'the user_ids, one per line, whose received messages are searched for STOP texts')
    .option('--words <LIST>', 'a message with nothing but one of these words is a STOP text', listValue(WORDS), WORDS)
    .option('--out <FILE>', 'write the proposals as CSV, for --add')
    .option('--force', 'replace the file if it exists')
    .option('--add <FILE>', 'add the numbers of a CSV file: the same as columba migrate files blacklist FILE')
    .addOption(folderOption())
    .addHelpText('after', '\nRead the proposals before you add them. Exit codes: 0 done, 1 not all could be added.')
    .addHelpText(
      'after',
      examples(
        'columba migrate blacklist recordings/*.ndjson --users users.txt --out proposals.csv',
        'columba migrate blacklist --add proposals.csv',
      ),
    )
    .action(async (files: string[], options: BlacklistOptions, command: Command) => {
      if ((options.add === undefined) === (options.users === undefined)) {
        throw new Problem('bad-argument', 'Name --users FILE to propose, or --add FILE to add.');
      }
      if (options.add !== undefined && files.length > 0) {
        throw new Problem('bad-argument', '--add reads no recordings. Propose first, and then add.');
      }
      process.exitCode =
        options.add === undefined
          ? await withSession(command, { creates: false }, (session) => propose(session, files, options, command))
          : await runFile('blacklist', options.add, options, command);
    });

async function propose(
  { services, config }: Session,
  files: readonly string[],
  { users = '', words, out, force, json }: BlacklistOptions,
  command: Command,
): Promise<number> {
  const { checkStopWords } = await import('../../domain/receiving/stop-words.ts');
  const { createMigrationStages } = await import('../stages/stages.ts');
  const { hashUserId } = await import('../../domain/accounts/credentials.ts');
  const { Proposals, proposalsCsv, proposeFromCall, proposeFromTexts } = await import('../copy/blacklist-proposals.ts');
  const { readRecording } = await import('../compare/recording.ts');
  checkStopWords(words);
  if (out !== undefined) refuseExisting(out, force === true);
  const { compare, accountName } = await migrationSettings(config, command);
  const stages = createMigrationStages(services.database, systemClock.now);
  const proposals = new Proposals();
  const usernames = new Map<string, string>();
  const accounts: { account: bigint; username: string }[] = [];
  for (const { userId } of await readUsers(users)) {
    const account = (await stages.ofUserId(hashUserId(userId)))?.account;
    if (account === undefined) proposals.leave('user_id without an account in Columba');
    else {
      const { username } = await services.accounts.profile(account);
      usernames.set(accountName(userId), username);
      accounts.push({ account, username });
    }
  }
  for (const file of files) {
    requireFile(file);
    for await (const exchange of readRecording(file)) proposeFromCall(exchange, usernames, compare, proposals);
  }
  for (const each of accounts) await proposeFromTexts(services.database, { ...each, words }, proposals);
  const text = proposalsCsv(proposals.all);
  if (out !== undefined) await writeText(out, force === true, text);
  if (json) print(JSON.stringify({ proposals: proposals.all, leftOut: Object.fromEntries(proposals.left) }, null, 2));
  else if (out === undefined) process.stdout.write(text);
  else
    print(`Proposals in ${out}: ${proposals.all.length}. Read the file, then: columba migrate blacklist --add ${out}`);
  for (const [reason, count] of proposals.left) remark(`columba: left out ${count}: ${reason}`);
  return 0;
}
