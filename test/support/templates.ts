import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createApp } from '../../src/serve/compose/contract.ts';
import { importFile } from '../../src/transfer/import.ts';
import { closeTemplate, distributeTables, runSql } from './databases.ts';

export { addressOf, databaseOf, runSql } from './databases.ts';

/**
 * Databases that the tests copy. test/run.ts makes them once for all files, which saves each file
 * 0.3 s on SQLite and 1 s on PostgreSQL; a file that is run alone makes them for itself.
 */
export type Template = 'empty' | 'sample';
export type Templates = Readonly<Record<Template, Promise<string> | string>>;

export const SAMPLE = fileURLToPath(new URL('../../examples/sample.json', import.meta.url));

/** Before the time that the clocks of the tests show: what a test makes is newer, whatever the day is. */
const LOADED_AT = Date.UTC(2026, 10, 1);

/** The templates as settings, each made when it is asked for; `make` makes a database without tables. */
export function createTemplates(make: () => Promise<string>): Templates {
  const made: Partial<Record<Template, Promise<string>>> = {};
  const once = (data: Template) => {
    made[data] ??= make().then((database) => fill(database, data));
    return made[data];
  };
  return {
    get empty() {
      return once('empty');
    },
    get sample() {
      return once('sample');
    },
  };
}

/** Tables, and the sample data if wanted: hashing its passwords takes longer than everything else. */
async function fill(database: string, data: Template): Promise<string> {
  const app = await createApp(readConfig({ COLUMBA_DATABASE: database }), {
    clock: { ...systemClock, now: () => LOADED_AT, sleep: async () => {} },
    log: pino({ level: 'silent' }),
  });
  if (data === 'sample') await importFile(SAMPLE, app.archive, () => LOADED_AT);
  await app.stop();
  if (database.startsWith('sqlite:')) return database;
  await distributeTables(database);
  if (data === 'sample') await runSql(database, KEEP_SAMPLE);
  await closeTemplate(database);
  return database;
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
  'retention',
];
/** The database fills these by itself when an account is made. */
const FILLED = ['movement', 'ledger'];
const KEEP_SAMPLE = `create schema kept; ${TABLES.map((table) => `create table kept.${table} as table ${table};`).join('')}`;
const EMPTIED =
  'account migration_client migration_client_rule migration_default_change migration_state migration_count migration_example migration_acceptance webhook operator sign_in_failure carrier_connector operator_token audit idempotency retention unrouted incoming_once held_incoming held_receipt carrier_query outbound_route outbound_count connector_hour'.split(
    ' ',
  );
const restored = (table: string) =>
  `${FILLED.includes(table) ? `delete from ${table};` : ''} insert into ${table} table kept.${table};`;
/** Filling a database of PostgreSQL again takes a thirtieth of making one. */
const RESTORE_SAMPLE = `${EMPTIED.map((table) => `delete from ${table};`).join('')} ${TABLES.map(restored).join('')}`;

export interface Restorer {
  restore(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Puts the sample data back into a database of PostgreSQL. The connection stays open, because a new one would have to read
 * the catalogue of all tables again: 14 ms of CPU instead of 61.
 */
export function createRestorer(database: string): Restorer {
  const client = new pg.Client({ connectionString: database, keepAlive: true });
  client.on('error', () => {}); // the next restore tells of it
  const connected = client.connect();
  return {
    async restore() {
      await connected;
      await client.query(RESTORE_SAMPLE);
    },
    close: () => client.end(),
  };
}
