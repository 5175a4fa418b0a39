import { join, resolve } from 'node:path';
import * as here from './columba.ts';
import { ACCOUNTS, MESSAGES } from './data.ts';
import { startDatabaseServer } from './database-server.ts';
import { type Candidate, comparePairs, PAIRS_MEASURED, tableOf } from './pairs.ts';
import { temporaryFolder } from './processes.ts';
import { heading, printTable, say } from './report.ts';

/**
 * What a call costs in this checkout and in another, whose folder is the argument: a change of the
 * house must not make calls dearer. With ENGINE=postgres on PostgreSQL.
 */
const [other] = process.argv.slice(2);
if (!other) throw new Error('name the folder of the other checkout, where npm ci has run');
/** Each is started by its own program of this name, since settings may have other names there. */
const checkouts: Readonly<Record<'other' | 'here', Pick<typeof here, 'startColumba' | 'CACHE_OFF' | 'MAIN'>>> = {
  other: {
    ...(await import(join(resolve(other), 'bench', 'columba.ts'))),
    MAIN: join(resolve(other), 'src', 'main.ts'),
  },
  here,
};

const isPostgres = process.env.ENGINE === 'postgres';
const server = isPostgres ? await startDatabaseServer() : undefined;
if (isPostgres && !server) process.exit(1);

async function candidate(name: keyof typeof checkouts): Promise<Candidate> {
  const { startColumba, CACHE_OFF, MAIN } = checkouts[name];
  const flags = [...CACHE_OFF, ...(server ? ['--database-connections', '32'] : [])];
  const database = server ? await server.create() : `sqlite:${join(temporaryFolder(), `${name}.db`)}`;
  say(`${name}: importing ${ACCOUNTS} accounts of ${MESSAGES} messages`);
  await here.importData(database, MAIN);
  return { start: () => startColumba({ database, flags }), ...(server && { behind: server.pids }) };
}
const costs = await comparePairs(await candidate('other'), await candidate('here'));
await server?.stop();
heading(
  `Calls against another checkout, ${server?.name ?? 'SQLite'}`,
  `32 connections without a pause, SOAP 1.1, ${ACCOUNTS} accounts with ${MESSAGES} messages each, response cache off.`,
  PAIRS_MEASURED,
);
const { head, rows } = tableOf(costs, 'other', 'here');
printTable(head, rows);
