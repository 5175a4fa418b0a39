import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/free-port.ts';

/**
 * Every block of commands of the documents runs in a fresh folder: those of the README, the
 * quickstart and the guides one after the other, as a newcomer reads them, and those of the other
 * documents each in a folder of its own. What needs another machine or another program is listed
 * here with the reason, and nothing else is left out.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const GUIDES = ['QUICKSTART', 'CARRIERS', 'CONSOLE', 'CONTACTS', 'CREDITS', 'WEBHOOKS', 'PRIVACY', 'BACKUP'];
const READ_FIRST = ['README.md', ...GUIDES.map((name) => `docs/${name}.md`)];

/** Blocks that do not run here, by their beginning, with the reason or the test that runs them. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'npm ci --omit=dev\n': 'installs packages: proof/launcher/package.test.ts',
  'npm ci && npm run executable': 'proof/launcher/executable.test.ts',
  'npm ci && npm test': 'this is a part of it',
  'npm run': 'runs tests and proofs, of which this is one',
  'sudo apt install': 'changes the machine',
  useradd: 'changes the machine: proof/deploy/systemd.test.ts',
  'COLUMBA_DATABASE=': 'needs the PostgreSQL server of the example',
  './columba export --ndjson --output accounts.ndjson --database': 'needs the PostgreSQL server of the example',
  'COLUMBA_DIALECT=': 'needs a dialect that somebody has learned: test/migration/learn.test.ts',
  'columba migrate': 'needs an old server: proof/drill',
  'columba account change acme --carrier-fields':
    'needs a carrier that asks for fields: test/operator/carrier-fields.test.ts',
  'columba connector': 'needs accounts of providers: test/carriers/http/document.test.ts',
  'jq ': 'needs the file of the chapter: test/carriers/http/document.test.ts',
  openssl: 'needs a proxy with TLS: proof/deploy/proxies.test.ts',
  './columba export --ndjson --output since-upgrade': 'needs a PostgreSQL server: proof/upgrade/postgres.test.ts',
  pg_basebackup: 'needs a cluster of the example: proof/citus/restore.test.ts',
  'curl -s https://sms.example': 'needs a proxy with TLS: proof/deploy/proxies.test.ts',
};

const blocksOf = (file: string): string[] =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^( *)```sh\n([\s\S]*?)\n\1```$/gm)].map(
    ([, indent = '', text = '']) => `${text.replaceAll(`\n${indent}`, '\n').slice(indent.length)}\n`,
  );
/** A command may go on over several lines. */
const commandsOf = (block: string): string[] =>
  block
    .trim()
    .split(/(?<!\\)\n(?! )/)
    .filter((line) => !line.startsWith('#'));

const isElsewhere = (block: string): string | undefined =>
  Object.keys(ELSEWHERE).find((beginning) => block.startsWith(beginning));

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A fresh folder in which `./columba` is the command, as in a checkout. */
class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), 'columba-documents-'));
  /** What the commands have printed, to be put into later ones. */
  readonly learned = new Map<string, string>();
  readonly env: Record<string, string>;
  readonly ports: readonly [number, number];
  #service: ChildProcess | undefined;

  private constructor(ports: readonly [number, number]) {
    this.ports = ports;
    folders.push(this.folder);
    writeFileSync(join(this.folder, 'columba'), `#!/bin/sh\nexec '${join(ROOT, 'columba')}' "$@"\n`, { mode: 0o755 });
    symlinkSync(join(ROOT, 'examples'), join(this.folder, 'examples'));
    const [contract, web] = ports.map(String) as [string, string];
    const path = `${this.folder}:${process.env.PATH}`;
    this.env = { PATH: path, HOME: this.folder, LANG: 'C.UTF-8', COLUMBA_PORT: contract, COLUMBA_WEB_PORT: web };
  }

  static create = async (): Promise<Reader> => new Reader([await freePort(), await freePort()]);

  /** The command with what was learned, and with the ports of this reader. */
  filled(command: string): string {
    const [contract, web] = this.ports;
    let text = command
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${contract}`)
      .replaceAll('127.0.0.1:8081', `127.0.0.1:${web}`);
    for (const [name, value] of this.learned)
      text = text.replace(new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'g'), value);
    return text;
  }

  async run(command: string): Promise<string> {
    const text = this.filled(command);
    if (/(^| )\.\/columba serve/.test(text)) return this.serve(text);
    const { status, printed } = await this.#shell(text);
    assert.equal(status, 0, `${text}\n${printed}`);
    this.#learn(command, printed);
    return printed;
  }

  async #shell(text: string): Promise<{ status: number; printed: string }> {
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', text], { cwd: this.folder, env: this.env });
    child.stdin.end();
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (piece: string) => {
        printed += piece;
      });
    }
    const [status] = await once(child, 'close');
    return { status, printed };
  }

  /** Starts the service and waits until it is ready. */
  async serve(command: string): Promise<string> {
    await this.stop();
    const child = spawn('bash', ['-c', `exec ${command.replace(/^((?:\w+=\S+ )*)/, 'env $1')}`], {
      cwd: this.folder,
      env: this.env,
    });
    this.#service = child;
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (piece: string) => {
        printed += piece;
      });
    }
    for (let ready = false; !ready; ) {
      assert.equal(child.exitCode, null, `${command}\n${printed}`);
      await sleep(200);
      const health = `http://127.0.0.1:${this.ports[0]}/health/ready`;
      ready = (await fetch(health).catch(() => undefined))?.status === 200;
    }
    this.#learn(command, printed);
    return printed;
  }

  async stop(): Promise<void> {
    const child = this.#service;
    this.#service = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual((await ended)[0], 0);
  }

  #learn(command: string, printed: string): void {
    const last = (pattern: RegExp): string | undefined => [...printed.matchAll(pattern)].at(-1)?.[1];
    const found = {
      'USER-ID': last(/user_id +([0-9a-f-]{36})/g),
      TOKEN: last(/\b(col[oa]_[\w-]{20,})/g),
      'TOKEN-OF-THE-DEMO': last(/\b(colo_[\w-]{20,})/g),
      ...(command.includes('user-id list') && { HASH: last(/\b([0-9a-f]{8,64})\b/g) }),
      ...(command.includes('token list') && { ID: last(/^(\d{10,})\b/gm) }),
    };
    for (const [name, value] of Object.entries(found)) if (value !== undefined) this.learned.set(name, value);
  }
}

/** What a reader does between two blocks, because the text beside them says so. */
const BEFORE: Readonly<Record<string, (reader: Reader) => Promise<unknown>>> = {
  './columba setup': (reader) => reader.stop(), // the demo
  "curl 'http://127.0.0.1:8081/operator/v1/accounts/acme/messages?status=DELIVERED'": async (reader) => {
    for (let status = ''; status !== 'DELIVERED'; await sleep(500)) {
      [, status = ''] = /"status":"(\w+)"/.exec(await reader.run('./columba message list acme --json')) ?? [];
    }
  },
  './columba restore --dry-run': async (reader) => {
    await reader.stop();
    reader.env.COLUMBA_BACKUP = `file:${join(reader.folder, 'backup')}`;
    await reader.run('./columba backup now');
    await reader.run('mv data lost');
    mkdirSync(join(reader.folder, 'data'));
  },
};

async function runBlock(reader: Reader, block: string): Promise<void> {
  for (const command of commandsOf(block)) {
    const before = Object.keys(BEFORE).find((beginning) => command.startsWith(beginning));
    if (before) await BEFORE[before]?.(reader);
    const asWritten = command.replace('npm ci --omit=dev && npm start -- --demo', './columba serve --demo');
    const printed = await reader.run(asWritten);
    if (command.includes('status=DELIVERED')) assert.match(printed, /"status":"DELIVERED"/);
  }
}

describe('commands of the documents', () => {
  test('the README, the quickstart and the guides work in their order, in one fresh folder', {
    timeout: 1_200_000,
  }, async () => {
    const reader = await Reader.create();
    try {
      for (const file of READ_FIRST) {
        for (const block of blocksOf(file)) {
          if (!isElsewhere(block)) await runBlock(reader, block);
        }
      }
    } finally {
      await reader.stop();
    }
  });

  const others = [...globSync('*.md', { cwd: ROOT }), ...globSync('docs/*.md', { cwd: ROOT })]
    .filter((file) => !READ_FIRST.includes(file) && file !== 'CHANGELOG.md')
    .sort();
  for (const file of others) {
    const blocks = blocksOf(file).filter((block) => !isElsewhere(block));
    if (blocks.length === 0) continue;
    test(`the commands of ${file} work in a fresh folder with the account acme`, { timeout: 600_000 }, async () => {
      const reader = await Reader.create();
      try {
        if (file !== 'docs/IMPORT-FORMAT.md') await reader.run('./columba account add acme --region ZA --credits 100');
        if (blocks.some((block) => block.includes('curl '))) await reader.run('./columba serve');
        for (const block of blocks) await runBlock(reader, block);
      } finally {
        await reader.stop();
      }
    });
  }

  test('every block that is left out here still stands in a document', () => {
    const all = [...READ_FIRST, ...others].flatMap(blocksOf);
    const unused = Object.keys(ELSEWHERE).filter((beginning) => !all.some((block) => block.startsWith(beginning)));
    assert.deepEqual(unused, []);
  });
});
