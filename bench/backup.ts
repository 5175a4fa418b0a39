import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_OFF, startColumba } from './columba.ts';
import { ACCOUNTS, MESSAGES } from './data.ts';
import { fillSqlite } from './fill.ts';
import { type Candidate, comparePairs, PAIRS_MEASURED, tableOf } from './pairs.ts';
import { temporaryFolder } from './processes.ts';
import { heading, printTable, say } from './report.ts';

/**
 * What calls lose while SQLite is backed up continuously to a folder. The promise: less than 5 %. The
 * backup has a thread of its own.
 */
const folder = temporaryFolder();
say(`filling databases with ${ACCOUNTS} accounts of ${MESSAGES} messages`);
async function candidate(name: string, flags: readonly string[]): Promise<Candidate> {
  const filling = { accounts: ACCOUNTS, every: 1, messages: MESSAGES };
  const { database, close } = await fillSqlite(join(folder, `${name}.db`), filling);
  await close();
  return { start: () => startColumba({ database, flags: [...CACHE_OFF, ...flags] }) };
}
const target = join(folder, 'target');
mkdirSync(target);
const without = await candidate('without', []);
const backedUp = await candidate('with', ['--backup', `file:${target}`]);

const costs = await comparePairs(without, backedUp);
const written = readdirSync(target, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
if (written.length === 0) throw new Error('nothing was backed up');
heading(
  'Calls while a backup runs',
  `32 connections without a pause, SOAP 1.1, ${ACCOUNTS} accounts with ${MESSAGES} messages each in SQLite, response cache off.`,
  PAIRS_MEASURED,
  `The backup wrote ${written.length} files.`,
);
const { head, rows } = tableOf(costs, 'without a backup', 'with');
printTable(head, rows);
