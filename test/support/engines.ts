import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { pino } from 'pino';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/settings.ts';
import { importFile } from '../../src/transfer/import.ts';

/** The databases that every suite of store, domain and wire runs on. */
export interface Engine {
  readonly name: string;
  /** A database of its own, empty or with the sample data, as a setting. */
  fresh(data: 'empty' | 'sample'): Promise<string>;
  /** It is not used any more, and may be given to the next one. */
  release(database: string): void;
}

export const SAMPLE = fileURLToPath(new URL('../../examples/sample.json', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'columba-test-'));
let count = 0;
const nextPath = () => join(folder, `${++count}.db`);

/** Before the time that the clocks of the tests show: what a test makes is newer, whatever the day is. */
const LOADED_AT = Date.UTC(2026, 10, 1);

/** The sample is imported once an engine and copied after that: hashing its passwords takes longer than everything else. */
async function importSample(database: string): Promise<void> {
  const app = await createApp(readConfig({ COLUMBA_DATABASE: database }), {
    now: () => LOADED_AT,
    sleep: async () => {},
    log: pino({ level: 'silent' }),
  });
  await importFile(SAMPLE, app.archive, () => LOADED_AT);
  await app.stop();
}

function sqlite(): Engine {
  let sample: Promise<string> | undefined;
  const makeSample = async () => {
    const path = nextPath();
    await importSample(`sqlite:${path}`);
    return path;
  };
  return {
    name: 'sqlite',
    async fresh(data) {
      const path = nextPath();
      if (data === 'sample') {
        sample ??= makeSample();
        copyFileSync(await sample, path);
      }
      return `sqlite:${path}`;
    },
    release: () => {},
  };
}

const TABLES = [
  'account',
  'credential',
  'contact_group',
  'contact',
  'template',
  'blocked_number',
  'received',
  'unread_message',
  'sent',
  'scheduled',
  'ledger',
  'movement',
  'id_counter',
];
/** The database fills these by itself when an account is made. */
const FILLED = ['movement', 'ledger'];
const KEEP_SAMPLE = `create schema kept; ${TABLES.map((table) => `create table kept.${table} as table ${table};`).join('')}`;
const EMPTIED =
  'account migration_state migration_count migration_example migration_acceptance webhook operator sign_in_failure carrier_connector operator_token audit idempotency retention unrouted incoming_once held_incoming held_receipt'.split(
    ' ',
  );
const restored = (table: string) =>
  `${FILLED.includes(table) ? `delete from ${table};` : ''} insert into ${table} table kept.${table};`;
const RESTORE_SAMPLE = `${EMPTIED.map((table) => `delete from ${table};`).join('')} ${TABLES.map(restored).join('')}`;

/** `server` is the address of a server on which databases can be made; test/run.ts starts one, or TEST_POSTGRES names one. */
function postgres(server: string): Engine {
  const made: string[] = [];
  const address = (name: string) => server.replace(/\/[^/?]*($|\?)/, `/${name}$1`);
  const admin = async (sql: string, at = server) => {
    const client = new pg.Client({ connectionString: at });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  const make = async (template?: string) => {
    const name = `test_${process.pid}_${++count}`;
    await admin(`create database ${name}${template ? ` template ${template}` : ''}`);
    made.push(name);
    return name;
  };
  let sample: Promise<string> | undefined;
  const makeSample = async () => {
    const name = await make();
    await importSample(address(name));
    await admin(KEEP_SAMPLE, address(name));
    return name;
  };
  /** Making a database takes 30 times as long as filling one again. */
  const released: string[] = [];
  after(async () => {
    for (const name of made) await admin(`drop database ${name} with (force)`);
  });
  return {
    name: 'postgres',
    async fresh(data) {
      if (data === 'empty') return address(await make());
      sample ??= makeSample();
      const template = await sample;
      const used = released.pop();
      if (used) await admin(RESTORE_SAMPLE, used);
      return used ?? address(await make(template));
    },
    release: (database) => void released.push(database),
  };
}

export const engines: readonly Engine[] = [
  sqlite(),
  ...(process.env.TEST_POSTGRES ? [postgres(process.env.TEST_POSTGRES)] : []),
];

/** The same suite on every engine. */
export function onEveryEngine(name: string, suite: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${name} (${engine.name})`, () => suite(engine));
  if (!process.env.TEST_POSTGRES)
    test(`${name} (postgres)`, { skip: 'skipped: no PostgreSQL, see test/run.ts' }, () => {});
}

after(() => rmSync(folder, { recursive: true, force: true }));
