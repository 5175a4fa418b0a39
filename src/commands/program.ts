import { Command, Option } from 'commander';
import { Problem } from '../base/problem.ts';
import { shippedProviders } from '../carriers/http/shipped.ts';
import type { Setting } from '../config/setting.ts';
import { flaggedSettings, flagOf, settings } from '../config/settings.ts';
import { offering } from './completion.ts';
import { examples, helpColumns, wrapped } from './help-text.ts';
import { readEncoding, requireFile } from './input-file.ts';
import { print } from './output.ts';
import { configOf, databaseOption, settingOption, withSession } from './session.ts';

/**
 * The commands, their arguments and their options. The code of a command is loaded when it runs;
 * --help and --version read no setting and open nothing.
 */
export function createProgram(version: string, write = (text: string) => void process.stdout.write(text)): Command {
  const program = new Command('columba')
    .description('Self-hosted SMS account service that speaks the ASMX messaging API.')
    .usage('COMMAND')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [COMMAND]', 'show help for a command')
    .configureOutput({
      writeOut: (text) => write(wrapped(text)),
      getOutHelpWidth: helpColumns,
      writeErr: () => {}, // main.ts tells mistakes, in one line
      outputError: () => {},
    })
    .configureHelp({ subcommandTerm: termOf, minWidthToWrap: 20 })
    .exitOverride()
    .addHelpText('after', '\nEvery command has its own --help. columba settings lists the settings.');
  const add = (usage: string, description: string) =>
    program.command(usage).description(description).copyInheritedSettings(program);

  const serve = add('serve', 'start the service')
    .option('--demo', 'serve sample data from a temporary database, which is deleted afterwards')
    .option('--trace <FILE>', 'append complete requests and responses to a file, with every user_id masked')
    .addHelpText('after', SOURCES)
    .addHelpText('after', examples('columba serve --demo', 'columba serve --port 8080 --workers 4'))
    .action(async (_options, command) => {
      process.exitCode = await (await import('./serve-command.ts')).runServe(command);
    });
  for (const option of flaggedSettings().map(settingOption)) serve.addOption(option.helpGroup('Settings:'));

  withJson(
    withDatabase(add('setup', 'set up the database, an operator, an account and a carrier, and send a test message')),
  )
    .option('--operator <NAME>', 'the first operator, who signs in to the console')
    .option('--account <USERNAME>', 'the first account')
    .option('--region <COUNTRY>', 'the country of its local phone numbers, such as ZA')
    .option('--credits <N>', 'the credits that it begins with; 100 if it is not given')
    .addOption(
      offering(new Option('--carrier <NAME>', 'loopback, smpp, kannel, or a provider of the list below'), CARRIERS),
    )
    .option('--carrier-config <JSON|@FILE|->', 'the configuration of the carrier, with its secrets')
    .option('--replace-carrier', 'replace the configuration of a carrier that is there')
    .option('--send-to <NUMBER>', 'send a test message to this number')
    .option('--text <TEXT>', 'the text of the test message')
    .option('--no-ask', 'ask nothing, also at a terminal')
    .addHelpText('after', SETUP)
    .action(async (_options, command) => (await import('./setup.ts')).runSetup(command));
  withJson(withDatabase(add('import <FILE>', 'add the accounts in a JSON or NDJSON file, or in standard input (-)')))
    .option('--encoding <NAME>', 'encoding of the file, such as windows-1252; UTF-8 if it is not given', readEncoding)
    .option('--update', 'also change accounts that exist: add or change rows by id, and remove none')
    .addHelpText('after', examples('columba import accounts.json'))
    .action(async (file, { encoding, update, json }, command) => {
      if (file !== '-') requireFile(file); // otherwise a database would be created for nothing
      const { runImport } = await import('./data.ts');
      process.exitCode = await withSession(command, { creates: true }, ({ services }) =>
        runImport(services, file, { encoding, update: update === true, asJson: json === true }),
      );
    });
  withDatabase(add('export', 'write a snapshot of the accounts as JSON'))
    .option('--ndjson', 'one account a line')
    .option('--account <USERNAME>', 'only this one')
    .option('--output <FILE>', 'write to a file instead of standard output')
    .option('--force', 'replace the file if it exists')
    .addHelpText('after', examples('columba export --ndjson --output accounts.ndjson'))
    .action(async (options, command) => {
      const { runExport } = await import('./data.ts');
      await withSession(command, { creates: false }, (session) => runExport(session, options));
    });
  addBackupCommands(add);
  withJson(
    withDatabase(add('check', 'check the settings, the database and the connectors without starting the service')),
  )
    .option('--ledger', 'also add up the movements of credits of every account; exit with 1 if a sum is wrong')
    .option('--settings', 'also print every setting with its value')
    .addHelpText('after', SOURCES)
    .addHelpText('after', examples('columba check --ledger'))
    .action(async (options, command) => {
      const { runCheck } = await import('./data.ts');
      process.exitCode = await withSession(command, { creates: false }, (session) => runCheck(session, options));
    });
  withJson(add('health', 'ask the running service on this machine whether it is ready; exit with 1 if not'))
    .addOption(settingOption('port'))
    .addOption(settingOption('healthPort'))
    .addHelpText('after', examples('columba health --port 8080'))
    .action(async ({ json }, command) => {
      process.exitCode = await (await import('./health.ts')).runHealth(configOf(command).config, json === true);
    });
  addCitusCommands(add);
  withJson(add('settings', 'list every setting'))
    .addHelpText('after', examples('columba settings'))
    .addHelpText('after', () => `\n${settingsTable()}`)
    .action(({ json }) => print(json ? JSON.stringify(settingsList(), null, 2) : wrapped(settingsTable())));
  withJson(add('version', 'print the version'))
    .addHelpText('after', examples('columba version'))
    .action(({ json }) => print(json ? JSON.stringify({ version }) : version));
  return program;
}

type Add = (usage: string, description: string) => Command;

/** Backups, restore and the standby. */
function addBackupCommands(add: Add): void {
  const backup = withJson(
    withDatabase(add('backup [FILE]', 'copy the SQLite database to a file while the service runs')),
  )
    .usage('FILE | COMMAND')
    .helpCommand(false)
    .option('--force', 'replace the file if it exists')
    .addHelpText('after', examples('columba backup columba-copy.db', 'columba backup list'))
    .action(async (file, options, command) => {
      if (file === undefined) throw new Problem('bad-argument', 'Name a file, or one of list, verify and now.');
      const { runBackup } = await import('./data.ts');
      await withSession(command, { creates: false }, (session) => runBackup(session, file, options));
    });
  const sub = (name: string, description: string) =>
    withJson(withTarget(withDatabase(backup.command(name).description(description).copyInheritedSettings(backup))));
  sub('list', 'list the moments that can be restored from the target of the backup')
    .addHelpText('after', examples('columba backup list --from file:/var/backups/columba'))
    .action(async (_options, command) => {
      await (await import('./backup.ts')).runBackupList(configOf(command).config, command.optsWithGlobals());
    });
  sub('verify', 'restore the backup into a temporary file and check it')
    .option('--at <TIME>', 'the moment to restore, such as 2026-11-18T12:00:00Z; the newest one if it is not given')
    .addHelpText('after', examples('columba backup verify'))
    .action(async (_options, command) => {
      const options = command.optsWithGlobals(); // --json is also an option of columba backup FILE
      const { readInstant, runBackupVerify } = await import('./backup.ts');
      const at = options.at === undefined ? null : readInstant(options.at);
      process.exitCode = await runBackupVerify(configOf(command).config, options, at);
    });
  sub('now', 'write a snapshot to the target of the backup')
    .addHelpText('after', examples('columba backup now'))
    .action(async (_options, command) => {
      await (await import('./backup.ts')).runBackupNow(configOf(command).config, command.optsWithGlobals());
    });
  withJson(
    withTarget(withDatabase(add('restore', 'restore the database from its backup, without sending anything twice'))),
  )
    .option('--at <TIME>', 'the moment to restore, such as 2026-11-18T12:00:00Z; the newest one if it is not given')
    .option('--force', 'replace the database if it exists; it is kept under another name')
    .option('--adopt', 'the database was restored by other tools: hold what may have been sent since, and skip ids')
    .option('--before-upgrade', 'give the database the tables of the version before the last upgrade, with its data')
    .option('--nothing-lost', 'with --adopt: the database was moved while the service was stopped, so hold nothing')
    .option(
      '--hold-scheduled',
      'hold messages that are due later when they are due: some may have been brought forward',
    )
    .option('--dry-run', 'only tell what would be done')
    .addHelpText('after', examples('columba restore --dry-run', 'columba restore --at 2026-11-18T12:00:00Z --force'))
    .action(async (options, command) => {
      const { refuseServed, runAdopt, runRestore } = await import('./restore.ts');
      if (options.beforeUpgrade === true) {
        return (await import('./upgrade.ts')).runWayBack(configOf(command).config, options);
      }
      if (options.adopt !== true) return runRestore(configOf(command).config, options);
      if (options.dryRun !== true) await refuseServed(configOf(command).config);
      await withSession(command, { creates: false }, (session) => runAdopt(session, options));
    });
  withJson(withDatabase(add('upgrade', 'tell what this version will change in the database, and how long it takes')))
    .requiredOption('--check', 'only tell; the upgrade itself is made by the first start of this version')
    .addHelpText('after', examples('columba upgrade --check'))
    .action(async ({ json }, command) => {
      await (await import('./upgrade.ts')).runUpgradeCheck(configOf(command).config, json === true);
    });
  withJson(
    withTarget(
      withDatabase(add('follow', 'keep a copy of the database of another machine, from the target of its backup')),
    ),
  )
    .option('--once', 'end when the copy is up to date')
    .addHelpText('after', examples('columba follow --from file:/var/backups/columba --database sqlite:standby.db'))
    .action(async (options, command) => {
      await (await import('./backup.ts')).runFollow(configOf(command).config, options);
    });
}

/** A PostgreSQL database on several machines. */
function addCitusCommands(add: Add): void {
  const citus = add('citus', 'spread accounts over the nodes of Citus').helpCommand(false);
  const distribute = citus
    .command('distribute')
    .description('distribute every table that is not distributed yet, while the service is stopped')
    .copyInheritedSettings(citus);
  withJson(withDatabase(distribute))
    .option('--dry-run', 'only print the SQL')
    .addHelpText('after', examples('columba citus distribute --dry-run'))
    .action(async ({ dryRun, json }, command) => {
      await (await import('./citus.ts')).runDistribute(configOf(command).config, dryRun === true, json === true);
    });
}

const withTarget = (command: Command): Command =>
  command
    .option('--from <TARGET>', 'the target of the backup, instead of COLUMBA_BACKUP')
    .addOption(settingOption('backupKeyFile'));

const CARRIERS = ['loopback', 'smpp', 'kannel', ...shippedProviders];

const SETUP = `
At a terminal the command asks for what is not given. It can be run again: what is there already stays as it is.
Providers: ${shippedProviders.join(', ')}.
${examples('columba setup --operator ann --account acme --region ZA --carrier loopback')}`;

const SOURCES = `
Flags win over environment variables, these over the file columba.conf of the current folder (or the one that COLUMBA_CONFIG names), and this over the defaults.`;

const withDatabase = (command: Command): Command => command.addOption(databaseOption());
const withJson = (command: Command): Command => command.option('--json', 'print the result as JSON, for programs');

/** Omits "[options]", which every command has. */
const termOf = (command: Command): string =>
  [
    command.name(),
    ...(command.usage().endsWith('COMMAND') ? ['COMMAND'] : []),
    ...command.registeredArguments.map((each) => each.name()),
  ].join(' ');

const settingsList = () =>
  Object.entries<Setting<unknown>>(settings).map(([name, { variable, fallback, meaning, hasFlag }]) => ({
    variable,
    flag: hasFlag === false ? null : `--${flagOf(name)}`,
    default: fallback,
    meaning,
  }));

function settingsTable(): string {
  const rows = Object.entries<Setting<unknown>>(settings).map(
    ([name, { variable, fallback, meaning, hasFlag }]) =>
      `${variable}${hasFlag === false ? '' : `, --${flagOf(name)}`}${fallback && ` (${fallback})`}\n    ${meaning}`,
  );
  return `${SOURCES.trim()} The names are the same in the environment and in the file; flags are those of serve, and --database of every command.

${rows.join('\n')}`;
}
