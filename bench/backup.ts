import { mkdirSync, readFileSync } from 'node:fs';
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
 * What calls lose while SQLite is backed up continuously: CPU for each call, of the thread that
 * answers it and of the whole process, of a service with a backup to a folder and of one without, in
 * turn. The promise: calls lose less than 5 %. The backup itself has a thread of its own.
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
/** Of the thread that answers calls, since the process started. */
const servingUs = ({ pid }: Columba): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1_000;
async function drive(server: Columba, operation: (typeof NAMES)[number]) {
  const before = servingUs(server);
  const driven = await driveOperation({ server, protocol: 'SOAP 1.1', operation, requests, connections: CONNECTIONS });
  return { ...driven, servingUs: (servingUs(server) - before) / requests };
}
const callsOf = (server: Columba) =>
  Object.fromEntries(NAMES.map((operation) => [operation, () => drive(server, operation)]));
const results = await rounds({ without: callsOf(servers.without), with: callsOf(servers.with) }, () => {}, ROUNDS, {
  count: SLICES,
  join: (parts) =>
    ({
      ...parts[0],
      cpuUs: mean(parts.map(({ cpuUs }) => cpuUs)),
      servingUs: mean(parts.map((part) => part.servingUs)),
    }) as (typeof parts)[number],
});
await endAll();

const serving = pick(results, (each) => each.servingUs);
const cpu = pick(results, ({ cpuUs }) => cpuUs);
heading(
  'Calls while a backup runs',
  `${CONNECTIONS} connections without a pause, SOAP 1.1, ${ACCOUNTS} accounts with ${MESSAGES} messages each in SQLite, response cache off,`,
  `${ROUNDS} rounds of ${REQUESTS} calls in ${SLICES} turns. CPU in µs for each call; the backup goes to a folder.`,
);
printTable(
  ['call', 'serving thread, without a backup', 'with', 'of the calls that are left', 'whole process, without', 'with'],
  NAMES.map((name) => {
    const [without, own] = [serving.without?.[name] ?? [], serving.with?.[name] ?? []];
    const whole = [cpu.without?.[name] ?? [], cpu.with?.[name] ?? []].map((each) => median(each).toFixed(1));
    return [name, median(without).toFixed(1), median(own).toFixed(1), withSpread(ratios(without, own), 3), ...whole];
  }),
);
