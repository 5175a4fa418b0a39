import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_OFF, type Columba, startColumba } from './columba.ts';
import { ACCOUNTS, MESSAGES } from './data.ts';
import { fillSqlite } from './fill.ts';
import { CONNECTIONS, driveOperation, NAMES } from './operations.ts';
import { endAll, temporaryFolder } from './processes.ts';
import { heading, printTable, say } from './report.ts';
import { mean, median, pick, ratios, rounds, withSpread } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/**
 * What calls lose while SQLite is backed up continuously: CPU of the whole process for each call,
 * of a service with a backup to a folder and of one without, in turn. The promise: less than 5 %.
 */
const REQUESTS = numberFrom('REQUESTS', 20_000);
const SLICES = 4;

const folder = temporaryFolder();
say(`filling databases with ${ACCOUNTS} accounts of ${MESSAGES} messages`);
async function start(name: string, flags: readonly string[]): Promise<Columba> {
  const filling = { accounts: ACCOUNTS, every: 1, messages: MESSAGES };
  const { database, close } = await fillSqlite(join(folder, `${name}.db`), filling);
  await close();
  return startColumba({ database, flags: [...CACHE_OFF, ...flags] });
}
const target = join(folder, 'target');
mkdirSync(target);
const servers = { without: await start('without', []), with: await start('with', ['--backup', `file:${target}`]) };

const requests = Math.ceil(REQUESTS / SLICES);
const callsOf = (server: Columba) =>
  Object.fromEntries(
    NAMES.map((operation) => [
      operation,
      () => driveOperation({ server, protocol: 'SOAP 1.1', operation, requests, connections: CONNECTIONS }),
    ]),
  );
const results = await rounds({ without: callsOf(servers.without), with: callsOf(servers.with) }, () => {}, ROUNDS, {
  count: SLICES,
  join: (parts) => ({ ...parts[0], cpuUs: mean(parts.map(({ cpuUs }) => cpuUs)) }) as (typeof parts)[number],
});
await endAll();

const cpu = pick(results, ({ cpuUs }) => cpuUs);
heading(
  'Calls while a backup runs',
  `${CONNECTIONS} connections without a pause, SOAP 1.1, ${ACCOUNTS} accounts with ${MESSAGES} messages each in SQLite, response cache off,`,
  `${ROUNDS} rounds of ${REQUESTS} calls in ${SLICES} turns. CPU of the whole process in µs for each call; the backup goes to a folder.`,
);
printTable(
  ['call', 'without a backup', 'with', 'of the calls that are left'],
  NAMES.map((name) => {
    const [without, own] = [cpu.without?.[name] ?? [], cpu.with?.[name] ?? []];
    return [name, median(without).toFixed(1), median(own).toFixed(1), withSpread(ratios(without, own), 3)];
  }),
);
