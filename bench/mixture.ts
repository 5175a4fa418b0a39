import { join } from 'node:path';
import { startColumba } from './columba.ts';
import { ACCOUNTS, MESSAGES, messageIdOf, userIdOf } from './data.ts';
import { type DatabaseServer, startDatabaseServer } from './database-server.ts';
import { fillPostgres, fillSqlite } from './fill.ts';
import { drive } from './load.ts';
import { CONNECTIONS } from './operations.ts';
import { childrenOf } from './proc.ts';
import { endAll, type Running, temporaryFolder } from './processes.ts';
import { heading, print, printTable, say } from './report.ts';
import { requestBytes } from './requests.ts';
import { median, pick, rounds, withSpread } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/**
 * Clients that poll while some write: Unread 20 of every account in turn. PERCENTS of
 * the calls are MarkMessageAsRead. One process and two workers, on SQLite and on PostgreSQL; two nodes of two workers on one PostgreSQL.
 * ENGINES=sqlite leaves PostgreSQL out.
 */
const REQUESTS = numberFrom('REQUESTS', 10_000);
const PERCENTS = [0, 1, 10] as const;
const WARM_CALLS = 40_000;

const filling = { accounts: ACCOUNTS, every: 1, messages: MESSAGES };
const folder = temporaryFolder();
say(`filling databases with ${ACCOUNTS} accounts of ${MESSAGES} messages`);
const server = process.env.ENGINES === 'sqlite' ? undefined : await startDatabaseServer();

interface Candidate extends Running {
  readonly behind: () => number[];
}

const WORKERS = ['--workers', '2'];

async function onSqlite(name: string, flags: readonly string[]): Promise<Candidate> {
  const { database, close } = await fillSqlite(join(folder, `${name}.db`), filling);
  await close();
  return start(database, flags, () => []);
}

async function onPostgres({ create, pids }: DatabaseServer, flags: readonly string[], nodes = 1): Promise<Candidate> {
  const { database, close } = await fillPostgres(await create(), filling);
  await close();
  const each = () => start(database, ['--database-connections', '16', ...flags], pids);
  return balanced(await Promise.all(Array.from({ length: nodes }, each)));
}

/** Connections go to the nodes by turns. */
function balanced(nodes: readonly Candidate[]): Candidate {
  let connections = 0;
  return {
    get port() {
      return (nodes[connections++ % nodes.length] as Candidate).port;
    },
    pids: () => nodes.flatMap((node) => node.pids()),
    behind: () => nodes[0]?.behind() ?? [],
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

/** With workers: all processes, and not the first one alone. */
async function start(database: string, flags: readonly string[], behind: () => number[]): Promise<Candidate> {
  const columba = await startColumba({ database, flags });
  return { ...columba, behind, pids: () => [columba.pid, ...childrenOf(columba.pid)] };
}

const candidates: Record<string, Candidate> = {
  'SQLite, one process': await onSqlite('one', []),
  'SQLite, two workers': await onSqlite('two', WORKERS),
  ...(server && {
    'PostgreSQL, one process': await onPostgres(server, []),
    'PostgreSQL, two workers': await onPostgres(server, WORKERS),
    'PostgreSQL, two nodes of two workers': await onPostgres(server, WORKERS, 2),
  }),
};

/** So many calls a server has had, and so many marks of each account: it marks its oldest message. */
const calls = new Map<Candidate, number>();
const marks = new Map<Candidate, Map<number, number>>();

/**
 * Spread evenly, and the same for every server. By the remainder of the number, some accounts would
 * only mark: then no mark would make a cached answer old.
 */
const isMark = (number: number, percent: number): boolean =>
  (Math.imul(number, 2_654_435_761) >>> 0) / 2 ** 32 < percent / 100;

/** Every connection calls for every account, as clients do that connect anew for each call. */
function requestOf(candidate: Candidate, percent: number): (number: number) => Buffer {
  const first = calls.get(candidate) ?? 0;
  calls.set(candidate, first + REQUESTS);
  const marked = marks.get(candidate) ?? new Map<number, number>();
  marks.set(candidate, marked);
  return (offset) => {
    const number = first + offset;
    const account = (number * 7_919) % ACCOUNTS;
    const user_id = userIdOf(account);
    if (!isMark(number, percent)) {
      return requestBytes('SOAP 1.1', { group: 'inbox', operation: 'Unread', args: { user_id, max_count: '20' } });
    }
    const count = marked.get(account) ?? 0;
    marked.set(account, count + 1);
    const message_id = String(messageIdOf(count % MESSAGES));
    return requestBytes('SOAP 1.1', { group: 'inbox', operation: 'MarkMessageAsRead', args: { user_id, message_id } });
  };
}

const measure = (candidate: Candidate, percent: number) => () => driveMixed(candidate, percent);

const driveMixed = (candidate: Candidate, percent: number) =>
  drive({
    server: candidate,
    behind: candidate.behind,
    connections: CONNECTIONS,
    requests: REQUESTS,
    request: requestOf(candidate, percent),
  });
// V8 compiles for the first 20,000 calls of each process. Two workers have half of the calls each.
for (const candidate of Object.values(candidates)) {
  for (let warmed = 0; warmed < WARM_CALLS; warmed += REQUESTS) await driveMixed(candidate, 10);
}
say('the processes are warm');
const results = await rounds(
  Object.fromEntries(
    Object.entries(candidates).map(([name, candidate]) => [
      name,
      Object.fromEntries(PERCENTS.map((percent) => [`${percent} %`, measure(candidate, percent)])),
    ]),
  ),
);
await endAll();
await server?.stop();

heading(
  'Polling while others write',
  `Unread 20 of ${ACCOUNTS} accounts in turn with so many % MarkMessageAsRead, SOAP 1.1, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${REQUESTS} calls.`,
  `${server ? `PostgreSQL ${server.version}, ` : ''}µs CPU per call; in brackets between which values the rounds lay.`,
);
const head = ['', ...PERCENTS.map((percent) => `${percent} %`)];
const table = (title: string, figures: typeof own) => {
  print('', title);
  printTable(
    head,
    Object.entries(figures).map(([name, each]) => [
      name,
      ...PERCENTS.map((percent) => withSpread(each[`${percent} %`] ?? [], 0)),
    ]),
  );
};
const own = pick(results, ({ cpuUs }) => cpuUs);
table('Columba, all of its processes:', own);
if (server)
  table(
    'PostgreSQL:',
    pick(results, ({ behindUs }) => behindUs),
  );
table(
  'Calls per second:',
  pick(results, ({ perSecond }) => perSecond),
);
const ratio = (name: string, base: string, percent: string) =>
  median((own[name]?.[percent] ?? []).map((value, round) => value / (own[base]?.[percent]?.[round] as number))).toFixed(
    2,
  );
print(`Two workers to one process on SQLite, 10 %: ${ratio('SQLite, two workers', 'SQLite, one process', '10 %')}.`);
if (server) {
  print(`PostgreSQL to SQLite, one process, 10 %: ${ratio('PostgreSQL, one process', 'SQLite, one process', '10 %')}.`);
}
