import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { addOperatorCommands } from '../../src/commands/all.ts';
import { createProgram } from '../../src/commands/program.ts';
import type { Setting } from '../../src/config/setting.ts';
import { flagOf, settings } from '../../src/config/settings.ts';
import { migrations } from '../../src/store/schema/migrations.ts';
import { columba, folder, freshDatabase, freshPath } from '../support/command.ts';
import { onOneEngine, SAMPLE } from '../support/engines.ts';
import { account, document, essence, lines } from '../support/import-files.ts';

const PACKAGE = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const withSubcommands = (command: Command): Command[] => [command, ...command.commands.flatMap(withSubcommands)];
const accountsOf = (text: string): { username: string }[] => JSON.parse(text).accounts;

describe('columba import and export', () => {
  test('columba export writes what was imported, to standard output and to a file alike', async () => {
    const database = freshDatabase();
    const imported = await columba(['import', SAMPLE, '--database', database]);
    assert.deepEqual(imported, { code: 0, stdout: 'Imported 2 accounts with 15 messages.\n', stderr: '' });

    const { code, stdout, stderr } = await columba(['export', `--database=${database}`]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(accountsOf(stdout).map(essence), accountsOf(readFileSync(SAMPLE, 'utf8')).map(essence));

    const output = freshPath('json');
    assert.deepEqual(await columba(['export', '--output', output, '--database', database]), {
      code: 0,
      stdout: '',
      stderr: '',
    });
    assert.equal(readFileSync(output, 'utf8'), stdout);

    const one = await columba(['export', '--ndjson', '--account', 'globex', '--database', database]);
    assert.deepEqual(JSON.parse(one.stdout), accountsOf(stdout)[1]);
    const nobody = await columba(['export', '--account', 'nobody', '--database', database]);
    assert.equal(nobody.code, 1);
    assert.equal(nobody.stderr, 'columba: There is no account with the username nobody.\n');
  });

  test('mistakes of a file are reported one per line, and the exit code says that there were some', async () => {
    const file = freshPath('ndjson');
    writeFileSync(file, lines(account('good'), account('bad', { credits: 'many' }), { username: 'worse' }));
    const { code, stdout, stderr } = await columba(['import', file, '--database', freshDatabase()]);
    assert.deepEqual([code, stdout], [1, 'Imported 1 account with 0 messages. Refused: 2.\n']);
    assert.equal(
      stderr,
      [
        'line 2 (bad): credits: expected a whole number of 64 bits',
        'line 3 (worse): userID: missing (or userIDHashes)',
        'line 3 (worse): credits: missing',
        'line 3 (worse): usedCredits: missing',
        'line 3 (worse): datetimeCreated: missing\n',
      ].join('\n'),
    );
  });

  test('a database and a file may be named relative to the folder in which the command runs', async () => {
    const cwd = join(folder, 'elsewhere');
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'accounts.json'), document(account('here')));
    const { code, stderr } = await columba(['import', 'accounts.json', '--database', 'sqlite:data/here.db'], { cwd });
    assert.deepEqual([code, stderr], [0, '']);
    const { stdout } = await columba(['account', 'list'], { cwd, env: { COLUMBA_DATABASE: 'sqlite:data/here.db' } });
    assert.equal(stdout, 'here\t\t0 credits\n');
    assert.ok(readFileSync(join(cwd, 'data', 'here.db')).length > 0);
  });

  test('an option wins over the environment, even if the variable is wrong', async () => {
    const { code, stderr } = await columba(['import', SAMPLE, '--database', freshDatabase()], {
      env: { COLUMBA_DATABASE: 'nothing' },
    });
    assert.deepEqual([code, stderr], [0, '']);
  });

  test('a file that cannot be read is reported in one sentence', async () => {
    const database = freshDatabase();
    const missing = join(folder, 'missing.json');
    for (const [path, reason] of [
      [missing, 'there is no such file'],
      [folder, 'expected a file, but this is a folder'],
    ] as const) {
      const { code, stdout, stderr } = await columba(['import', path, '--database', database]);
      assert.deepEqual([code, stdout, stderr], [1, '', `columba: ${path}: ${reason}\n`]);
      assert.ok(!existsSync(database.replace('sqlite:', '')), 'a database for a file that cannot be read');
    }
  });
});

onOneEngine('columba export', (engine) => {
  test('columba export reports in one sentence that its file cannot be written', async () => {
    const output = join(folder, 'missing', 'file.json');
    const { code, stdout, stderr } = await columba([
      ...['export', '--output', output, '--database', await engine.fresh('sample')],
    ]);
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.equal(stderr, `columba: ${output}: its folder does not exist. Make it first.\n`);
  });
});

describe('columba check, help and version', () => {
  test('columba check says first that the database can be used, and shows the settings on request', async () => {
    const database = freshDatabase();
    await columba(['import', SAMPLE, '--database', database]);
    const env = { COLUMBA_DATABASE: database, COLUMBA_PORT: '8099', COLUMBA_REGION: 'ZA' };
    assert.doesNotMatch((await columba(['check'], { env })).stdout, /COLUMBA_/);
    const { code, stdout, stderr } = await columba(['check', '--settings'], { env });
    assert.deepEqual([code, stderr], [0, '']);
    const told = stdout.split('\n');
    for (const line of [
      `COLUMBA_DATABASE=${database}`,
      'COLUMBA_PORT=8099',
      'COLUMBA_REGION=ZA',
      'COLUMBA_LIST_LIMIT=10000',
    ]) {
      assert.ok(told.includes(line), line);
    }
    assert.equal(told[0], 'The settings are valid and the database can be used.');
  });

  test('columba status says first whether something is wrong, in sentences, and --json has the fields', async () => {
    const database = freshDatabase();
    await columba(['import', SAMPLE, '--database', database]);
    const { code, stdout } = await columba(['status', '--database', database]);
    assert.equal(code, 0);
    assert.match(stdout, /^Nothing is wrong\.\nColumba \S+ on sqlite: \d+ accounts?, [\d.]+ MB\n/);
    assert.match(stdout, /^Waiting to be sent: 0 messages$/m);
    assert.doesNotMatch(stdout, /[{}]|undefined|null/);
    const { stdout: json } = await columba(['status', '--json', '--database', database]);
    assert.equal(JSON.parse(json).sending.waiting, 0);
  });

  test('the list of commands has the right plural of every noun', () => {
    const groups = addOperatorCommands(createProgram('1')).commands.filter(({ commands }) => commands.length > 0);
    const meanings = groups.map((command) => command.description());
    assert.ok(meanings.includes('credits of an account and their movements'), meanings.join('\n'));
    assert.deepEqual(
      meanings.filter((meaning) =>
        /creditss|inboxs|unrouteds|retentions|persons|(connector|queue)s of an/.test(meaning),
      ),
      [],
    );
  });

  test('check reports a dead connector and messages that wait for it', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', '--credits', '5', ...database]);
    const config = JSON.stringify({ host: '127.0.0.1', port: 9 });
    const put = await columba(['connector', 'put', 'dead', '--kind', 'kannel-box', '--config', config, ...database]);
    assert.equal(put.stderr, '');
    await columba(['message', 'send', 'acme', '+27825550201', '--text', 'Hi', ...database]);
    const { code, stdout, stderr } = await columba(['check', ...database]);
    assert.equal(code, 1);
    assert.ok(!stdout.includes('The settings are valid'), stdout);
    const sentences = [
      'The database can be used. The connector dead cannot be used as it is configured.',
      '1 message waits, and no connector is the default. Make one the default.',
    ];
    assert.equal(stderr.split('\n')[0], `columba: ${sentences.join(' ')}`);
    assert.match(stderr, /^columba: After a correction, try: columba connector test dead$/m);
  });

  test('the help lists every command, and separately every setting with its variable and its default', async () => {
    const { stdout: help } = await columba([]);
    assert.deepEqual(await columba(['--help']), { code: 0, stdout: help, stderr: '' });
    for (const command of ['serve', 'import FILE', 'export', 'account COMMAND', 'check', 'version']) {
      assert.ok(help.includes(`\n  ${command} `), command);
    }
    assert.ok(help.split('\n').length < 70, 'the settings are not in it');
    const { stdout: table } = await columba(['settings']);
    assert.ok((await columba(['help', 'settings'])).stdout.endsWith(`\n${table}`));
    const flags = (await columba(['serve', '--help'])).stdout;
    for (const [name, { variable, fallback, hasFlag }] of Object.entries<Setting<unknown>>(settings)) {
      if (hasFlag === false) {
        assert.ok(table.includes(`${variable}\n`) && !flags.includes(`--${flagOf(name)} `), variable);
        continue;
      }
      assert.ok(table.includes(`${variable}, --${flagOf(name)}${fallback && ` (${fallback})`}\n`), variable);
      assert.ok(flags.includes(`\n  --${flagOf(name)} `) && flags.includes(variable), variable);
    }
  });

  test('COMMAND --help ends with 0 before a setting is checked or a database opened', async () => {
    const env = { COLUMBA_DATABASE: 'nothing', COLUMBA_PROT: '1', COLUMBA_CONFIG: 'missing.conf' };
    for (const args of [
      ['--version'],
      ['version'],
      ['serve', '--help'],
      ['help', 'account'],
      ['account', 'add', '-h'],
    ]) {
      const { code, stdout, stderr } = await columba(args, { env });
      assert.deepEqual([code, stderr], [0, ''], args.join(' '));
      assert.match(stdout, /^(?:Usage: columba |\d+\.)/);
    }
  });

  test('the help of every command has no line beyond 80 columns, and an example with options that the command has', () => {
    let written = '';
    const program = addOperatorCommands(
      createProgram('0', (text) => {
        written += text;
      }),
    );
    const visible = (command: Command): Command[] =>
      command
        .createHelp()
        .visibleCommands(command)
        .filter((each) => each.name() !== 'help');
    const all = (command: Command): Command[] => [command, ...visible(command).flatMap(all)];
    const leaves = all(program).filter(
      ({ commands, registeredArguments }) => commands.length === 0 || registeredArguments.length > 0,
    );
    assert.ok(leaves.length > 150, `${leaves.length}`);
    for (const command of [program, ...leaves]) {
      written = '';
      command.outputHelp();
      const wide = written.split('\n').filter((line) => line.length > 80);
      assert.deepEqual(wide, [], command.name());
      if (command === program) continue;
      const [, shown = ''] = /\nExamples?:\n([\s\S]*?)(?:\n\n|\n$)/.exec(written) ?? [];
      const own = `columba ${command.parent === program ? '' : `${command.parent?.name()} `}${command.name()}`;
      const lines = shown.replace(/ \\\n\s+/g, ' ').split(/\n {2}(?=\S)/);
      assert.ok(
        lines.some((line) => line.includes(own)),
        `${own} has no example: ${shown}`,
      );
      const known = command.options.flatMap(({ long }) => long ?? []);
      for (const [flag] of shown.replace(/'[^']*'/g, '').matchAll(/--[a-z-]+/g))
        assert.ok(known.includes(flag), own + flag);
    }
  });

  test('every command answers as JSON, but for those whose output is a log, a file or a script', () => {
    const leaves = withSubcommands(addOperatorCommands(createProgram('0'))).filter(
      ({ commands, registeredArguments }) => commands.length === 0 || registeredArguments.length > 0,
    );
    const without = leaves.filter(({ options }) => !options.some(({ long }) => long === '--json'));
    assert.deepEqual([...new Set(without.map((each) => each.name()))].sort(), ['completion', 'export', 'serve']);
  });

  test('check, version, settings, export and backup print one JSON document with --json', async () => {
    const database = freshDatabase();
    assert.equal((await columba(['account', 'add', 'acme', '--database', database])).code, 0);
    const target = ['--from', `file:${freshPath('backup')}`];
    const read = async (...args: string[]) => {
      const { code, stdout, stderr } = await columba(args);
      assert.deepEqual([code, stderr], [0, ''], args.join(' '));
      return JSON.parse(stdout);
    };
    const own = ['--database', database, '--json'];
    const checked = await read('check', '--ledger', '--settings', ...own);
    assert.deepEqual([checked.isUsable, checked.faults, checked.accounts], [true, [], 1]);
    assert.match(checked.settings.join('\n'), /COLUMBA_PORT/);
    assert.deepEqual(Object.keys(await read('version', '--json')), ['version']);
    assert.equal((await read('settings', '--json')).length, Object.keys(settings).length);
    const file = freshPath('db');
    assert.deepEqual(await read('backup', file, ...own), { file });
    assert.deepEqual((await read('backup', 'list', ...target, ...own)).backups, []);
    assert.deepEqual((await read('upgrade', '--check', ...own)).changes, []);
  });

  test('every command and every subcommand has a help of its own, which opens nothing', async () => {
    const program = addOperatorCommands(createProgram('0'));
    assert.ok(program.commands.length > 20);
    let written = '';
    const writeOut = (text: string) => {
      written += text;
    };
    for (const each of withSubcommands(program)) each.configureOutput({ writeOut });
    for (const command of program.commands) {
      for (const words of [[command.name()], ...command.commands.map((each) => [command.name(), each.name()])]) {
        written = '';
        const helped = { exitCode: 0, code: 'commander.helpDisplayed' };
        await assert.rejects(program.parseAsync([...words, '--help'], { from: 'user' }), helped, words.join(' '));
        assert.ok(written.startsWith(`Usage: columba ${words.join(' ')}`), written);
      }
    }
  });

  test('columba --version is the version of the package, also through a symbolic link from elsewhere', async () => {
    assert.deepEqual(await columba(['version']), { code: 0, stdout: `${PACKAGE.version}\n`, stderr: '' });
    const link = join(folder, 'linked');
    symlinkSync(new URL('../../columba', import.meta.url).pathname, link);
    assert.equal((await columba(['--version'], { command: link })).stdout, `${PACKAGE.version}\n`);
  });
});

describe('columba refuses', () => {
  test('columba refuses unknown words in one line with the nearest right word, and exit code 2', async () => {
    const database = freshDatabase();
    const refusals: [args: string[], stderr: string][] = [
      [['frobnicate'], "unknown command 'frobnicate'. Try: columba --help"],
      [['exprot'], "unknown command 'exprot' (Did you mean export?). Try: columba --help"],
      [['import', '--database', database], "missing required argument 'FILE'. Try: columba import --help"],
      [['export', '--colour', '--database', database], "unknown option '--colour'. Try: columba export --help"],
      [['check', '--database'], "option '--database <VALUE>' argument missing. Try: columba check --help"],
      [['serve', '--prot', '1'], "unknown option '--prot' (Did you mean --port?). Try: columba serve --help"],
      [['account', 'lst'], "unknown command 'lst' (Did you mean list?). Try: columba account --help"],
      [['constructor'], "unknown command 'constructor'. Try: columba --help"],
    ];
    for (const [args, expected] of refusals) {
      assert.deepEqual(await columba(args), { code: 2, stdout: '', stderr: `columba: ${expected}\n` }, args.join(' '));
    }
    const { code, stderr } = await columba(['account']);
    assert.equal(code, 2);
    assert.match(stderr, /^columba: expected one of list, add, [^\n]*\. Try: columba account --help\n$/);
  });

  test('columba refuses wrong settings, all of them at once, each with what would be right', async () => {
    const { code, stdout, stderr } = await columba(['serve', '--port', '70000', '--list-limit=0'], {
      env: {
        COLUMBA_DATABASE: 'mysql://root:SECRET@host/db',
        COLUMBA_REGION: 'za',
        COLUMBA_TIME_ZONE: 'Mars/Phobos',
        COLUMBA_BASE_URL: 'sms.example',
        COLUMBA_NAMESPACE: 'not a uri',
        COLUMBA_LOG_LEVEL: 'loud',
        COLUMBA_PROT: '1',
        COLUMBA_PORT: '8080',
      },
    });
    assert.deepEqual([code, stdout], [1, '']);
    assert.doesNotMatch(stderr, /\n\s+at |SECRET/);
    assert.deepEqual(
      stderr
        .replace(/^columba: /, '')
        .trimEnd()
        .split('\n')
        .map((line) => line.split(':')[0])
        .sort(),
      [
        ...['--list-limit', '--port', 'COLUMBA_BASE_URL', 'COLUMBA_DATABASE', 'COLUMBA_LOG_LEVEL'],
        'COLUMBA_NAMESPACE',
        'COLUMBA_PROT',
        'COLUMBA_REGION',
        'COLUMBA_TIME_ZONE',
      ],
    );
    assert.match(stderr, /--port: expected a whole number from 0 to 65535, not "70000"\n/);
    assert.match(stderr, /COLUMBA_PROT: there is no such setting\n/);
    assert.match(
      stderr,
      /COLUMBA_DATABASE: [^\n]* postgres:\/\/USER:PASSWORD@HOST\/DATABASE, not "mysql:\/\/…@host\/db"\n/,
    );
  });

  test('columba refuses a variable COLUMBA_… that is no setting', async () => {
    const env = { COLUMBA_DATBASE: 'sqlite:x.db' };
    assert.deepEqual(await columba(['check', '--database', freshDatabase()], { env }), {
      code: 1,
      stdout: '',
      stderr: 'columba: COLUMBA_DATBASE: there is no such setting\n',
    });
  });

  test('columba check refuses trusted proxies that are no addresses', async () => {
    const env = { COLUMBA_TRUSTED_PROXIES: '10.0.0.0/8, proxy.example' };
    const { code, stderr } = await columba(['check', '--database', freshDatabase()], { env });
    assert.equal(code, 1);
    assert.match(stderr, /^columba: COLUMBA_TRUSTED_PROXIES: expected [^\n]*\n$/);
  });

  test('columba refuses a database of a newer version, in a sentence and without a stack', async () => {
    const database = freshDatabase();
    await columba(['import', SAMPLE, '--database', database]);
    const file = new DatabaseSync(database.replace(/^sqlite:/, ''));
    file.exec("insert into schema_version (version, name, applied_at) values (99, 'from the future', 0)");
    file.close();
    assert.deepEqual(await columba(['check', '--database', database]), {
      code: 1,
      stdout: '',
      stderr: `columba: The database has schema version 99, but this program knows versions only up to ${migrations.length}. Run the newer version of Columba that wrote it.\n`,
    });
  });

  test('columba refuses a file that is no database, and a path where none can be, in a sentence and without a stack', async () => {
    for (const path of [SAMPLE, folder, '/dev/null/columba.db']) {
      const { code, stdout, stderr } = await columba(['account', 'add', 'a', '--database', `sqlite:${path}`]);
      assert.deepEqual([code, stdout], [3, ''], path);
      assert.match(stderr, /^columba: [^\n]+\n$/);
    }
  });
});
