import { CACHE_OFF, type Columba, startColumba } from './columba.ts';
import { printEmptying } from './emptying.ts';
import { type Engine, sqliteEngine, startPostgresEngine } from './engines.ts';
import type { Filled } from './fill.ts';
import { growthCalls, type Population, restore } from './growth-calls.ts';
import { type Driven, drive } from './load.ts';
import { CONNECTIONS } from './operations.ts';
import { endAll } from './processes.ts';
import { heading, print, printTable, say } from './report.ts';
import { requestBytes } from './requests.ts';
import { mean, median, pick, type Results, ratios, rounds, withSpread } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/**
 * What a call costs in an inbox of 10, ten thousand and a million messages. The same for as many
 * accounts. Then an inbox of a million is emptied. The response cache is off: the work of each call is measured.
 * ENGINES=sqlite and ENGINES=postgres leave the other one out.
 */
const REQUESTS = numberFrom('REQUESTS', 5_000);
const WRITES = Math.ceil(REQUESTS / 2);
const SLICES = 5;
const TIMES_MAX = 1.5;

const sizesUpTo = (largest: number) => [...[10, 10_000].filter((size) => size < largest), largest];

/** Ten messages can be deleted ten times: of small inboxes there are as many as a round needs. */
const inboxOf = (messages: number): Population => {
  const users = Math.ceil((2 * WRITES) / messages);
  return { filling: { accounts: users, every: 1, messages, sent: true }, users, writes: WRITES };
};
/** Of a large installation 10,000 accounts are called, spread over all. The others have one message each. */
const installationOf = (accounts: number): Population => {
  const every = Math.ceil(accounts / 10_000);
  const users = Math.ceil(accounts / every);
  const messages = Math.max(10, Math.ceil((2 * WRITES) / users));
  return { filling: { accounts, every, messages, others: 1, sent: true }, users, writes: WRITES };
};

interface Candidate {
  readonly population: Population;
  readonly filled: Filled;
  readonly columba: Columba;
  /** How many calls of each operation it has had in this round. Each call that changes something has its own message. */
  readonly called: Map<string, number>;
}

async function grow(engine: Engine, title: string, unit: string, sizes: number[], of: (size: number) => Population) {
  const candidates: Record<string, Candidate> = {};
  for (const size of sizes) {
    const name = `${size.toLocaleString('en')} ${unit}`;
    say(`${engine.name}: filling a database with ${name}`);
    const population = of(size);
    const filled = await engine.create(population.filling);
    const flags = [...CACHE_OFF, '--database-connections', String(CONNECTIONS)];
    const columba = await startColumba({ database: filled.database, flags });
    candidates[name] = { population, filled, columba, called: new Map() };
  }
  const results = await rounds(
    Object.fromEntries(Object.entries(candidates).map(([name, each]) => [name, measures(engine, each)])),
    async () => {
      for (const candidate of Object.values(candidates)) await prepare(engine, candidate);
    },
    ROUNDS,
    { count: SLICES, join: joined },
  );
  for (const candidate of Object.values(candidates)) {
    await candidate.columba.stop();
    await check(engine, candidate);
    await candidate.filled.close();
  }
  report(engine, title, results);
}

const isWrite = (operation: string) => /^(Mark|Delete)/.test(operation);

function measures(engine: Engine, candidate: Candidate): Record<string, () => Promise<Driven>> {
  const entries = Object.keys(growthCalls(candidate.population)).map((operation) => [
    operation,
    () => measure(engine, candidate, operation, sliceOf(engine, isWrite(operation) ? WRITES : REQUESTS)),
  ]);
  return Object.fromEntries(entries);
}

function measure(engine: Engine, { population, columba, called }: Candidate, operation: string, requests: number) {
  const call = growthCalls(population)[operation] as ReturnType<typeof growthCalls>[string];
  const first = called.get(operation) ?? 0;
  called.set(operation, first + requests);
  const request = (number: number) => requestBytes('SOAP 1.1', call(first + number));
  const load = { server: columba, requests, request };
  return engine.isRemote
    ? drive({ ...load, behind: engine.pids, connections: 1 })
    : drive({ ...load, connections: CONNECTIONS });
}

const joined = (parts: readonly Driven[]): Driven => ({
  cpuUs: mean(parts.map(({ cpuUs }) => cpuUs)),
  behindUs: mean(parts.map(({ behindUs }) => behindUs)),
  perSecond: mean(parts.map(({ perSecond }) => perSecond)),
  latencies: Float64Array.from(parts.flatMap(({ latencies }) => [...latencies])),
});

/** With PostgreSQL it is how long one client waits that counts, and fewer calls tell as much. */
const sliceOf = (engine: Engine, calls: number): number => Math.ceil(calls / (engine.isRemote ? 5 : 1) / SLICES);
/** Of a round. */
const countOf = (engine: Engine, calls: number): number => SLICES * sliceOf(engine, calls);

/** Every call of the last round has changed what it named: else something else was measured. */
async function check(engine: Engine, { population, filled }: Candidate): Promise<void> {
  const { accounts, messages, others = 0 } = population.filling;
  const [found] = await filled.query('select sum(read) as marked, sum(unread) + sum(read) as total from tally');
  const changed = countOf(engine, WRITES);
  const total = population.users * messages + (accounts - population.users) * others - changed;
  if (Number(found?.marked) !== changed || Number(found?.total) !== total) {
    throw new Error(`${found?.marked} are marked of ${found?.total} messages, instead of ${changed} of ${total}`);
  }
}

/** Writes from the outside have emptied the cache of SQLite's connections. So each caller calls again before anything counts. */
async function prepare(engine: Engine, candidate: Candidate): Promise<void> {
  await restore(candidate.filled, candidate.population);
  for (const operation of ['Profile', 'Unread', 'CountUnread']) {
    await measure(engine, candidate, operation, countOf(engine, REQUESTS));
  }
  candidate.called.clear();
}

function report(engine: Engine, title: string, results: Results<Driven>): void {
  const [calls, writes] = [REQUESTS, WRITES].map((count) => countOf(engine, count));
  heading(
    `${title}, ${engine.name}`,
    `SOAP 1.1, cache off, ${ROUNDS} rounds of ${calls} calls in ${SLICES} slices, ${writes} of those that change something.`,
  );
  print('', `CPU of Columba${engine.isRemote ? ' and PostgreSQL' : ''} per call, in µs:`);
  printGrowth(pick(results, ({ cpuUs, behindUs }) => cpuUs + behindUs));
  if (!engine.isRemote) return;
  print('How long one client waits, the median of each round, in µs:');
  printGrowth(pick(results, ({ latencies }) => median(latencies) * 1_000));
}

function printGrowth(results: Results<number>): void {
  const sizes = Object.keys(results);
  const [smallest = {}, largest = {}] = [results[sizes[0] as string], results[sizes.at(-1) as string]];
  printTable(
    ['', ...sizes, `largest / smallest, at most ${TIMES_MAX}`, ''],
    Object.keys(smallest).map((operation) => {
      const times = ratios(largest[operation], smallest[operation]);
      const met = median(times) <= TIMES_MAX ? 'met' : 'not met';
      const cells = sizes.map((size) => median(results[size]?.[operation] ?? []).toFixed(1));
      return [operation, ...cells, withSpread(times), met];
    }),
  );
}

const messagesMax = numberFrom('MESSAGES', 1_000_000);
const accountsMax = numberFrom('ACCOUNTS', 1_000_000);
const wanted = (process.env.ENGINES || 'sqlite,postgres').split(',');
for (const [name, start] of Object.entries({ sqlite: sqliteEngine, postgres: startPostgresEngine })) {
  const engine = wanted.includes(name) ? await start() : undefined;
  if (!engine) continue;
  await grow(engine, 'The inbox grows', 'messages', sizesUpTo(messagesMax), inboxOf);
  await grow(engine, 'The installation grows', 'accounts', sizesUpTo(accountsMax), installationOf);
  await printEmptying(engine, messagesMax);
  await engine.stop();
}
await endAll();
