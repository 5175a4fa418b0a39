import { readFileSync } from 'node:fs';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import type { Database } from '../../src/store/database.ts';
import { openPostgres } from '../../src/store/postgres/database.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { type Statement, type StatementOptions, statement, type Value } from '../../src/store/statement.ts';

/** On a busy machine a test waits for PostgreSQL. A test about time-outs gives its own. */
export const PATIENT_MS = 60_000;

/** A database by its setting, as the program opens it; the clock stands still. */
export const openStore = (setting: string, now = 0): Promise<Database> =>
  setting.startsWith('sqlite:')
    ? openSqlite(pathOf(setting), { ...systemClock, now: () => now })
    : openPostgres({ url: setting, connectionsMax: 10, timeoutMs: PATIENT_MS }, { ...systemClock, now: () => now });

export const pathOf = (setting: string): string => setting.replace(/^sqlite:/, '');

/** The tables in an order in which they can be dropped. */
export const TABLES =
  'search_entry search_change search_backfill conversation batch message_draft installation migration_client migration_client_rule migration_stage_change migration_default_change taken_message migrated_account migrated_server migration_write migration_acceptance migration_example migration_count migration_state migration_stage user_id_use webhook_attempt webhook_delivery webhook sign_in_failure recovery_code second_factor session sign_in_link operator route unrouted incoming_once held_incoming held_receipt receipt_watch carrier_query sender_choice spend_count spend_guard account_hour connector_hour outbound_count outbound_route carrier_connector attempt dispatch dispatch_account retention idempotency audit operator_token history gateway_message movement ledger id_counter unread_message tally scheduled sent received blocked_number template contact contact_group credential account'.split(
    ' ',
  );

/** All that is stored, to be compared. */
export async function contentOf(setting: string): Promise<string> {
  if (setting.startsWith('sqlite:')) return readFileSync(pathOf(setting), 'latin1');
  const client = new pg.Client({ connectionString: setting });
  await client.connect();
  try {
    const content: string[][] = [];
    for (const table of [...TABLES, 'schema_version']) {
      const { rows } = await client.query(`select * from ${table}`);
      content.push(rows.map((row) => JSON.stringify(row)).sort());
    }
    return JSON.stringify(content);
  } finally {
    await client.end();
  }
}

let count = 0;

/** SQL of a test. Each statement has a name of its own, because statements are prepared by name. */
export const sql = <P extends Record<keyof P, Value> = Record<string, never>, R = never>(
  text: string,
  options: StatementOptions<P> = /:account\b/.test(text) ? {} : { affects: 'all' },
): Statement<P, R> => statement<P, R>(`test.${++count}`, text, options);
