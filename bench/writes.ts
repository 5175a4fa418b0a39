import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Columba, startColumba } from './columba.ts';
import { ACCOUNTS, MESSAGES } from './data.ts';
import { fillSqlite } from './fill.ts';
import { driveOperation } from './operations.ts';
import { endAll, temporaryFolder } from './processes.ts';
import { heading, print, printTable, say, whole } from './report.ts';
import { median, pick, rounds, withSpread } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/**
 * Writes that share a commit: one client that marks messages against 32. One disk is this
 * machine's, one takes 5 ms for every fsync. One alone waits for the disk each time; of many, all that wait share one wait.
 */
const REQUESTS = numberFrom('REQUESTS', 10_000);
const WRITERS = 32;
const TIMES_MIN = 10;
const SLOW_PER_SECOND_MAX = 200;
/** The disk decides about one alone, so a few writes tell as much. */
const ALONE = Math.ceil(REQUESTS / WRITERS);

const folder = temporaryFolder();
say(`filling databases with ${ACCOUNTS} accounts of ${MESSAGES} messages`);
const start = async (name: string, env: Record<string, string>): Promise<Columba> => {
  const filling = { accounts: ACCOUNTS, every: 1, messages: MESSAGES };
  const { database, close } = await fillSqlite(join(folder, `${name}.db`), filling);
  await close();
  return startColumba({ database, env });
};

const SLOW = 'fsync of 5 ms';
const library = compile();
const servers = new Map([['this disk', await start('own', {})]]);
if (library) servers.set(SLOW, await start('slow', { LD_PRELOAD: library }));
else say(`no C compiler (cc), so there is no slow disk: ${SLOW} is left out`);

const writers = (server: Columba, connections: number, requests: number) => () =>
  driveOperation({ server, protocol: 'SOAP 1.1', operation: 'MarkMessageAsRead', requests, connections });
const results = pick(
  await rounds(
    Object.fromEntries(
      [...servers].map(([name, server]) => [
        name,
        { alone: writers(server, 1, ALONE), together: writers(server, WRITERS, REQUESTS) },
      ]),
    ),
  ),
  ({ perSecond }) => perSecond,
);
await endAll();

heading(
  'Writes that share a commit',
  `MarkMessageAsRead, SOAP 1.1, ${ACCOUNTS} accounts with ${MESSAGES} messages each in SQLite, ${ROUNDS} rounds of ${ALONE} writes of one`,
  `client and ${REQUESTS} of ${WRITERS} together, each on a connection that it keeps. Writes per second.`,
);
const times = (name: string) => {
  const { alone = [], together = [] } = results[name] ?? {};
  return together.map((value, round) => value / (alone[round] as number));
};
printTable(
  ['', 'one client', `${WRITERS} clients`, 'times as many'],
  [...servers.keys()].map((name) => [
    name,
    ...['alone', 'together'].map((figure) => whole(median(results[name]?.[figure] ?? []))),
    withSpread(times(name), 1),
  ]),
);
if (library) {
  const alone = median(results[SLOW]?.alone ?? []);
  const inEffect = alone <= SLOW_PER_SECOND_MAX ? 'in effect' : 'NOT in effect, so this says nothing';
  print(`The slow disk was ${inEffect}: one client made ${whole(alone)} writes a second.`);
  const met = median(times(SLOW)) >= TIMES_MIN ? 'met' : 'not met';
  print(`At least ${TIMES_MIN} times as many with ${WRITERS} clients: ${met}.`);
}

/** Undefined where there is no compiler. */
function compile(): string | undefined {
  const source = fileURLToPath(new URL('slow-fsync.c', import.meta.url));
  const made = join(folder, 'slow-fsync.so');
  const { status, error } = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', made, source, '-ldl'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error) return undefined;
  if (status !== 0) throw new Error('cc could not compile bench/slow-fsync.c');
  return made;
}
