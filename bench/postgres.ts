import { countRoundTrips } from '../test/store/postgres/round-trips.ts';
import { startColumba } from './columba.ts';
import { ACCOUNTS, MESSAGES } from './data.ts';
import { startDatabaseServer, startDebianServer } from './database-server.ts';
import { fillPostgres } from './fill.ts';
import { openConnection } from './load.ts';
import { CONNECTIONS, callOf, driveOperation, NAMES, type Name, take } from './operations.ts';
import { createPointReader } from './point-reads.ts';
import { endAll, type Running } from './processes.ts';
import { heading, print, printTable, say, whole } from './report.ts';
import { requestBytes } from './requests.ts';
import { median, rounds, withSpread } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/**
 * The four operations on PostgreSQL, over 32 connections, against the floor: reading a row by its key. Marks over 1 and 128 too. One Columba, and the
 * PostgreSQL from npm, or with SERVER=debian Debian's, with durability on. And how often a call has to wait for
 * PostgreSQL's answer.
 */
const REQUESTS = numberFrom('REQUESTS', 10_000);
const COUNTED = 20;

const server = await (process.env.SERVER === 'debian' ? startDebianServer() : startDatabaseServer());
if (!server) process.exit(1);
say(`filling a database with ${ACCOUNTS} accounts of ${MESSAGES} messages`);
const url = await server.create();
await (await fillPostgres(url, { accounts: ACCOUNTS, every: 1, messages: MESSAGES })).close();
const flags = ['--database-connections', String(CONNECTIONS)];
const columba = await startColumba({ database: url, flags });
const floor = await createPointReader({
  server,
  url,
  accounts: ACCOUNTS,
  connections: CONNECTIONS,
  requests: REQUESTS,
});

interface Figures {
  readonly perSecond: number;
  readonly columbaUs: number;
  readonly postgresUs: number;
}

const measured =
  (operation: Name, connections = CONNECTIONS) =>
  async (): Promise<Figures> => {
    const requests = connections === 1 ? Math.ceil(REQUESTS / 5) : REQUESTS;
    const load = {
      server: columba,
      behind: server.pids,
      protocol: 'SOAP 1.1',
      operation,
      requests,
      connections,
    } as const;
    const { perSecond, cpuUs, behindUs } = await driveOperation(load);
    return { perSecond, columbaUs: cpuUs, postgresUs: behindUs };
  };
const measures = NAMES.map((operation) => ({ [operation]: measured(operation) }));
/** Marks that come in one turn share a transaction: what that gains depends on how many come. */
const marks = [1, 128].map((connections) => ({
  [`MarkMessageAsRead, ${connections} connections`]: measured('MarkMessageAsRead', connections),
}));
const POINT = 'one row by its key';
const results = await rounds<Figures>({
  calls: {
    [POINT]: async () => {
      const { perSecond, cpuUs } = await floor.read();
      return { perSecond, columbaUs: 0, postgresUs: cpuUs };
    },
    ...Object.assign({}, ...measures, ...marks),
  },
});
const turns = await countTurns();
await floor.close();
await endAll();
await server.stop();

heading(
  'On PostgreSQL',
  `${server.name}, ${ACCOUNTS} accounts with ${MESSAGES} messages each, ${ROUNDS} rounds of ${REQUESTS} calls over ${CONNECTIONS} connections;`,
  `the row by its key: ${floor.name}. In brackets between which values the rounds lay.`,
);
const point = results.calls?.[POINT] ?? [];
const rows = Object.entries(results.calls ?? {}).map(([name, values]) => {
  const share = values.map(({ perSecond }, round) => perSecond / (point[round] as Figures).perSecond);
  const total = values.map(({ columbaUs, postgresUs }) => columbaUs + postgresUs);
  return [
    name,
    whole(median(values.map(({ perSecond }) => perSecond))),
    withSpread(share),
    ...[values.map(({ columbaUs }) => columbaUs), values.map(({ postgresUs }) => postgresUs), total].map((each) =>
      median(each) === 0 ? '–' : withSpread(each, 0),
    ),
    turns.get(name) ?? '1',
  ];
});
printTable(
  [
    '',
    'calls per second',
    'of the point reads',
    'µs CPU of Columba',
    'of PostgreSQL',
    'together',
    'waits for an answer',
  ],
  rows,
);
print('The clients took CPU on the same machine.');

/** Over a network that counts, one call after the other; the first ones open connections and prepare statements. */
async function countTurns(): Promise<Map<string, string>> {
  const network = await countRoundTrips('127.0.0.1', server?.port as number);
  const database = url.replace(/:\d+\//, `:${network.port}/`);
  const near: Running = await startColumba({ database, flags: ['--database-connections', '1'] });
  const connection = await openConnection(near.port);
  const counted = new Map<string, string>();
  for (const operation of NAMES) {
    const found: number[] = [];
    for (let call = 0; call < COUNTED; call++) {
      // Those of the server that was measured: they have not been marked yet.
      const request = requestBytes('SOAP 1.1', callOf(operation, take(columba, operation, 1)));
      found.push(await network.of(() => connection.ask(request)));
    }
    const [fewest, most] = [Math.min(...found.slice(2)), Math.max(...found.slice(2))];
    counted.set(operation, fewest === most ? String(fewest) : `${fewest}–${most}`);
  }
  connection.close();
  await near.stop();
  await network.close();
  return counted;
}
