import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import { curlLine, snippets } from '../../src/asmx/pages/snippets.ts';
import { type Engine, onEveryEngine } from '../../test/support/engines.ts';
import { curl, node, type Peer, php, python, testWith } from '../../test/support/peers.ts';
import { ACME, startService } from '../../test/support/service.ts';

/** The examples are the programs that the page of inbox.Unread shows, and the programs of all pages work. */

const ADDRESS = 'http://127.0.0.1:8080';
const MESSAGES = ['二箱のりんごをください', 'no sender on this one', 'id beyond 2^53', '9007199254740993'];
const FILES = {
  curl: 'unread.sh',
  'C# with the WSDL': 'unread-wsdl.cs',
  'C# with HttpClient': 'unread.cs',
  PHP: 'unread.php',
  Python: 'unread.py',
  Node: 'unread.mjs',
} as const;
type Language = keyof typeof FILES;

const exampleFile = (language: Language): string =>
  readFileSync(new URL(`../../examples/${FILES[language]}`, import.meta.url), 'utf8');

function programOf(language: Language, group: string, name: string, operation: Operation, server: string): string {
  const address = `${server}/api/${group}.asmx`;
  if (language === 'curl') return curlLine(address, name, operation, ACME);
  const target = { address, userId: ACME, hasLists: group === 'account' };
  const found = snippets(target, name, operation).find((each) => each.language === language);
  return found?.program ?? assert.fail(language);
}

const folder = mkdtempSync(join(tmpdir(), 'columba-examples-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** With these, and nothing of the machine's settings: a proxy, say, would be asked for our address. */
const SURROUNDINGS = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8' };

/** What the program prints. */
async function run(program: string, command: string, args: string[], file: string, more = {}): Promise<string> {
  const path = join(mkdtempSync(join(folder, 'run-')), file);
  writeFileSync(path, program);
  const { stdout } = await promisify(execFile)(command, [...args, path], { env: { ...SURROUNDINGS, ...more } });
  return stdout;
}

async function atService<T>(engine: Engine, work: (address: string) => Promise<T>): Promise<T> {
  const service = await startService(engine);
  try {
    return await work(await service.app.start());
  } finally {
    await service.stop();
  }
}

describe('examples', () => {
  for (const language of Object.keys(FILES) as Language[]) {
    test(`examples/${FILES[language]} is the program in ${language} that the page shows`, () => {
      const program = programOf(language, 'inbox', 'Unread', contract.inbox.Unread, ADDRESS);
      assert.equal(exampleFile(language), `${program}\n`);
    });
  }
});

const PEERS = { curl: curl(), php: php(), python: python() };
const NO_CACHE = ['-d', 'soap.wsdl_cache_enabled=0']; // it would outlive the service
const RUNS: [Language, Peer, string[]][] = [
  ['curl', PEERS.curl, []],
  ['PHP', PEERS.php, NO_CACHE],
  ['Python', PEERS.python, []],
  ['Node', node, []],
];
/** A shell runs the program of curl. */
const starter = (language: Language, command: string) => (language === 'curl' ? 'sh' : command);

onEveryEngine('examples that run', (engine) => {
  for (const [language, peer, args] of RUNS) {
    const file = FILES[language];
    testWith(peer, `examples/${file} prints the unread messages`, (command) =>
      atService(engine, async (address) => {
        const program = exampleFile(language).replace(ADDRESS, address);
        const printed = await run(program, starter(language, command), args, file);
        for (const message of MESSAGES) assert.ok(printed.includes(message), `${message} in ${printed}`);
      }),
    );
  }
});

const OPERATIONS = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries<Operation>(operations).map(([name, operation]) => ({ group, name, operation })),
);

onEveryEngine('programs of all 32 pages', (engine) => {
  const programs = (language: Language, address: string) =>
    OPERATIONS.map(({ group, name, operation }) => programOf(language, group, name, operation, address));
  const ALL_WELL = OPERATIONS.map(() => '200');

  testWith(PEERS.curl, 'curl gets an answer of status 200 from every operation', () =>
    atService(engine, async (address) => {
      // What curl reads before its arguments, so that the programs can stay as they are.
      writeFileSync(join(folder, '.curlrc'), 'silent\noutput = /dev/null\nwrite-out = "%{http_code}\\n"\n');
      const printed = await run(programs('curl', address).join('\n'), 'sh', ['-e'], 'all.sh');
      assert.deepEqual(printed.trim().split('\n'), ALL_WELL);
    }).finally(() => rmSync(join(folder, '.curlrc'))),
  );

  testWith(node, 'Node gets an answer of status 200 from every operation', (command) =>
    atService(engine, async (address) => {
      const blocks = programs('Node', address).map(
        (program) => `{\n${program}\nprocess.stdout.write(\`status \${answer.status}\\n\`);\n}`,
      );
      const printed = await run(blocks.join('\n'), command, [], 'all.mjs');
      assert.deepEqual(printed.match(/(?<=^status )\d+$/gm), ALL_WELL);
    }),
  );

  // A fault would be thrown, and end the program with another status than 0.
  testWith(PEERS.php, 'PHP gets an answer from every operation, and no fault', (command) =>
    atService(engine, async (address) => {
      const whole = programs('PHP', address).map((program) => `${program}\necho "answered\\n";\n?>\n`);
      const printed = await run(whole.join(''), command, NO_CACHE, 'all.php');
      assert.equal(printed.match(/^answered$/gm)?.length, OPERATIONS.length);
    }),
  );

  testWith(
    PEERS.python,
    'Python gets an answer from every operation, and connects to nothing but the service',
    async (command) => {
      const asked: string[] = [];
      const outside = createServer(({ url = '' }, response) => {
        asked.push(url);
        response.writeHead(404).end();
      }).listen(0, '127.0.0.1');
      await once(outside, 'listening');
      const { port } = outside.address() as AddressInfo;
      try {
        await atService(engine, async (address) => {
          const whole = programs('Python', address).map((program) => `${program}\nprint('answered')\n`);
          const proxy = { http_proxy: `http://127.0.0.1:${port}`, no_proxy: '127.0.0.1' };
          const printed = await run(whole.join(''), command, [], 'all.py', proxy);
          assert.equal(printed.match(/^answered$/gm)?.length, OPERATIONS.length);
          assert.deepEqual(asked, []);
        });
      } finally {
        outside.close();
        outside.closeAllConnections();
      }
    },
  );
});
