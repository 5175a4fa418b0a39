import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { apiReference, CONTRACT, parts } from '../docs/api.ts';
import { withPart } from '../docs/markdown.ts';
import { addOperatorCommands } from '../src/commands/all.ts';
import { createProgram } from '../src/commands/program.ts';
import { limits } from '../src/config/limits.ts';
import { settings } from '../src/config/settings.ts';
import { ACCOUNT_FILE_NAMES, readAccount } from '../src/transfer/account-json.ts';
import { onEveryEngine } from './support/engines.ts';
import { startService } from './support/service.ts';

/** What the documents say is so. */

type Json = Record<string, unknown>;

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const pages = [...globSync('*.md', { cwd: ROOT }), ...globSync('docs/*.md', { cwd: ROOT })].sort();
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const exists = (file: string): boolean => existsSync(join(ROOT, file));

/** Cells of the tables, by the heading above them; without the heads. */
function tablesOf(file: string): Map<string, string[][]> {
  const parts = read(file).split(/^#+ (?=.*$)/m);
  return new Map(
    parts.map((part) => {
      const lines = part.split('\n').filter((line) => line.startsWith('|'));
      const rows = lines.filter(
        (line, index) => !/^\|[-| ]+$/.test(line) && !/^\|[-| ]+$/.test(lines[index + 1] ?? ''),
      );
      return [part.split('\n', 1)[0] as string, rows.map(cellsOf)];
    }),
  );
}

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** As Markdown readers make it of a heading. */
const anchorsOf = (file: string): string[] =>
  [...read(file).matchAll(/^#+ (.*)$/gm)].map((match) =>
    (match[1] as string)
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

describe('generated documents', () => {
  test('docs/CONTRACT.md is up to date with docs/api.ts', () => {
    assert.equal(readFileSync(CONTRACT, 'utf8'), apiReference());
  });

  test('settings, routes, commands and metrics in the documents are those of the program: npm run docs writes them', async () => {
    for (const [file, what, part] of await parts()) {
      const text = readFileSync(file, 'utf8');
      assert.equal(text, withPart(text, what, part), what);
    }
  });
});

/** Of npm itself. */
const NPM_COMMANDS = ['ci', 'install', 'pack'];

const GUIDES = ['QUICKSTART', 'CARRIERS', 'CONSOLE', 'CONTACTS', 'CREDITS', 'WEBHOOKS', 'PRIVACY', 'BACKUP'];

test('the quickstart and the guides of an operator have at most 6,000 words together', () => {
  const words = GUIDES.flatMap((name) => read(`docs/${name}.md`).split(/\s+/));
  assert.ok(words.length <= 6_000, `${words.length}`);
});

describe('links and names', () => {
  test('every relative link leads to a file, and to a heading in it', () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)]
        .map((match) => match[1] as string)
        .filter((link) => {
          const [path = '', anchor] = link.split('#');
          const target = path === '' ? page : normalize(join(dirname(page), path));
          return !exists(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
        })
        .map((link) => `${page}: ${link}`),
    );
    assert.deepEqual(broken, []);
  });

  test('every file of the project that a document names exists', () => {
    const missing = pages.flatMap((page) =>
      [...read(page).matchAll(/`((?:src|test|proof|docs|examples|\.ci)(?:\/[\w.-]+)+)\/?`/g)]
        .map((match) => match[1] as string)
        .filter((file) => !exists(file))
        .map((file) => `${page} names ${file}`),
    );
    assert.deepEqual([...new Set(missing)], []);
  });

  test('every decision in docs/COMPATIBILITY.md names the test that shows it', () => {
    const tables = tablesOf('docs/COMPATIBILITY.md');
    for (const heading of ['Identity and access', 'Results', 'Meaning of the operations', 'DataSets', 'Values']) {
      const rows = tables.get(heading) ?? [];
      assert.ok(rows.length > 0, heading);
      for (const row of rows)
        assert.match(
          row.at(-1) ?? '',
          /^`(?:test|proof)\/[\w/-]+\.test\.ts`(, `(?:test|proof)\/[\w/-]+\.test\.ts`)*$/,
          row[0],
        );
    }
  });

  /** `columba backup FILE` is a command, and `columba backup list` another one. */
  const hasOwn = ({ commands, registeredArguments }: Command) =>
    commands.length === 0 || registeredArguments.length > 0;

  test('every command that a document names exists', () => {
    const scripts = Object.keys(JSON.parse(read('package.json')).scripts);
    const program = addOperatorCommands(createProgram('0'));
    for (const page of pages) {
      const text = read(page);
      for (const [, script = ''] of text.matchAll(/(?:`|^|&& )npm (?:run )?([a-z]+)/gm)) {
        if (!NPM_COMMANDS.includes(script)) assert.ok(scripts.includes(script), `${page}: npm ${script}`);
      }
      for (const [, line = ''] of text.matchAll(/\.\/columba ([^`\n]*)/g)) {
        const command = line.split(' ').reduce((found, word) => {
          return found.commands.find((each) => each.name() === word) ?? found;
        }, program);
        const isHelp = /^(?:--help|--version|help\b)/.test(line);
        assert.ok(isHelp || (command !== program && hasOwn(command)), `${page}: columba ${line}`);
        const flags = ['--help', '--version', ...command.options.map(({ long }) => long)];
        for (const [flag] of line.matchAll(/--[a-z-]+/g)) assert.ok(flags.includes(flag), `${page}: columba ${line}`);
      }
    }
  });
});

describe('the README', () => {
  const text = read('README.md');
  const block = (language: string, holding: string): string =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\`$`, 'gm'))]
      .map((match) => match[1] as string)
      .find((content) => content.includes(holding)) ?? assert.fail(`no ${language} with ${holding}`);

  test('the curl of the README is the one that the demo shows, and its answer is the one that the demo gives', async () => {
    const [, flags = ''] = /npm start -- (.*)$/.exec(block('sh', 'npm start')) ?? [];
    const demo = spawn(join(ROOT, 'columba'), ['serve', ...flags.split(' '), '--port', '0'], {
      cwd: ROOT,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(demo, 'exit');
    try {
      let shown = '';
      for await (const chunk of demo.stdout.iterator({ destroyOnReturn: false })) {
        shown += chunk;
        if (shown.includes('Ctrl-C')) break;
      }
      const [address = ''] = /http:\/\/[\d.]+:\d+/.exec(shown) ?? [];
      const curl = block('sh', 'curl').replace('http://127.0.0.1:8080', address);
      assert.ok(shown.includes(curl), shown);
      const reply = await fetch(/'(.*)'/.exec(curl)?.[1] ?? '');
      assert.equal(Buffer.from(await reply.arrayBuffer()).toString('utf8'), block('xml', 'ArrayOf'));
    } finally {
      demo.kill('SIGTERM');
    }
    assert.deepEqual(await ended, [0, null]);
  });

  test('the test command of the documents is the one of .ci/run', () => {
    assert.ok(read('.ci/run').includes(block('sh', 'npm test')));
  });
});

describe('numbers', () => {
  test('the bounds in docs/LIMITS.md are those of the source', () => {
    const rows = tablesOf('docs/LIMITS.md').get('Bounds') ?? [];
    assert.ok(rows.length > 10);
    for (const [what, most = '', place = ''] of rows) {
      assert.equal(Number(most.replaceAll(',', '')), boundAt(place.replaceAll('`', '')), what);
    }
  });

  test('docs/LIMITS.md names every setting that is a limit, with the test that reaches it', () => {
    const rows = tablesOf('docs/LIMITS.md').get('Bounds') ?? [];
    for (const { variable } of Object.values(limits)) {
      const [, , , tests = ''] = rows.find(([, , place]) => place === `setting \`${variable}\``) ?? [];
      assert.match(tests, /^`(?:test|proof)\/[\w/-]+\.test\.ts`/, variable);
    }
  });

  function boundAt(place: string): number {
    const [, variable] = /^setting (\w+)$/.exec(place) ?? [];
    const setting = Object.values(settings).find((known) => known.variable === variable);
    if (setting) return Number(setting.fallback);
    const [, constant, file = ''] = /^(\w+) in (\S+)$/.exec(place) ?? assert.fail(place);
    const [, product = ''] = new RegExp(`const ${constant} = ([\\d_ *]+);`).exec(read(file)) ?? assert.fail(place);
    return product.split('*').reduce((number, factor) => number * Number(factor.replaceAll('_', '')), 1);
  }

  test('the versions of Node in docs/ARCHITECTURE.md are those of package.json', () => {
    const rows = tablesOf('docs/ARCHITECTURE.md').get('Why Node is pinned through platform packages') ?? [];
    const { optionalDependencies } = JSON.parse(read('package.json'));
    assert.deepEqual(Object.fromEntries(rows.map(([, name, version]) => [name, version])), optionalDependencies);
  });
});

describe('docs/IMPORT-FORMAT.md', () => {
  const tables = tablesOf('docs/IMPORT-FORMAT.md');
  const LISTS = ['userIDHashes', 'groups', 'contacts', 'blacklist', 'inbox', 'sent', 'scheduled'];
  const VALUES: Record<string, unknown> = {
    text: '+27825550100',
    int: 1,
    long: '1',
    instant: '2026-10-02T10:45:30Z',
    flag: true,
    list: [],
    region: 'ZA',
    delivery_status: 'DELIVERED',
    sha256: 'a'.repeat(64),
    allowedNetworks: '10.0.0.0/8',
    wordLanguages: 'en,de',
    timeZone: 'Africa/Johannesburg',
    quietHours: '22:00-06:00',
    unknownOutcomePolicy: 'never-twice',
    carrierFields: '{"entityId":"1101"}',
    passwordHash: `$argon2id$v=19$m=8,t=1,p=1$${'a'.repeat(22)}$${'a'.repeat(43)}`,
  };
  const objectOf = (heading: string, leaveOut: string): Json =>
    Object.fromEntries(
      (tables.get(heading) ?? [])
        .filter(([name]) => name !== leaveOut)
        .map(([name = '', type = '']) => [name, VALUES[name] ?? VALUES[type]]),
    );
  /** An account with one of everything; of `heading` without a field. */
  function accountWithout(heading: string, field: string): Json {
    const lists = LISTS.map((name) => [name, [objectOf(name, name === heading ? field : '')]]);
    const account: Json = { ...objectOf('Account', ''), ...Object.fromEntries(lists) };
    delete account.password; // it cannot be together with its hash
    if (heading === 'Account') delete account[field];
    if (field === 'groups') delete account.contacts; // which would be in a group that is not there
    return account;
  }

  for (const heading of ['Account', ...LISTS]) {
    test(`${heading}: an import is refused without a required field, and accepted without any other`, async () => {
      const rows = tables.get(heading) ?? [];
      assert.ok(rows.length > 0);
      await readAccount(accountWithout(heading, ''), 0);
      for (const [field = '', , required] of rows) {
        const reading = readAccount(accountWithout(heading, field), 0);
        if (required === 'yes') await assert.rejects(reading, new RegExp(`\\b${field}: missing`), field);
        else await reading;
      }
    });
  }

  test('the tables of the import format have all fields that an import reads, and no others', () => {
    const names = [
      ...read('src/transfer/account-json.ts').matchAll(/\b(?:fields\.\w+|each\.\w+|list)\('(\w+)'[,)]/g),
    ].map(([, name = '']) => name);
    names.push(...ACCOUNT_FILE_NAMES);
    const documented = ['Account', ...LISTS].flatMap((heading) => (tables.get(heading) ?? []).map(([name]) => name));
    assert.deepEqual([...new Set(documented)].sort(), [...new Set(names)].filter((name) => name !== 'template').sort());
  });
});

onEveryEngine('decisions in docs/COMPATIBILITY.md that no other test shows', (engine) => {
  const LOCAL = '020 7946 0018';
  const INTERNATIONAL = '+442079460018';
  // Told apart by region: with no country, or another one, LOCAL is not the number in international form.
  const cases: [string, Json, { region?: string }, boolean][] = [
    ['its own region', { region: 'GB', mobile: '+27825550100' }, { region: 'ZA' }, true],
    ['the country of its mobile', { mobile: '+442079460000', tel: '+27115550100' }, { region: 'ZA' }, true],
    ['the country of its tel', { mobile: '0825550100', tel: '+442079460000' }, { region: 'ZA' }, true],
    ['the setting', { mobile: '0825550100' }, { region: 'GB' }, true],
    ['another country', { region: 'ZA', mobile: '+442079460000' }, { region: 'GB' }, false],
    ['none', {}, {}, false],
  ];
  for (const [country, fields, config, found] of cases) {
    test(`a local number is ${found ? '' : 'not '}read as one of GB where the account's country is ${country}`, async () => {
      const service = await startService(engine, 'empty', config);
      try {
        const account = { username: 'b', userID: 'b', credits: 0, usedCredits: 0, datetimeCreated: '2026-01-01' };
        const contacts = [{ id: 1, mobile: INTERNATIONAL }];
        await service.app.archive.load(await readAccount({ ...account, contacts, ...fields }, 0));
        const { text } = await service.call('get', 'account', 'LookupContact', { user_id: 'b', mobile: LOCAL });
        assert.equal(text.includes(`<mobile>${INTERNATIONAL}</mobile>`), found, text);
      } finally {
        await service.stop();
      }
    });
  }
});
