import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { userIdOf } from './data.ts';
import { fillSqlite } from './fill.ts';
import { openConnection } from './load.ts';
import { type ObservedColumba, startObserved } from './observed-columba.ts';
import { endAll, temporaryFolder } from './processes.ts';
import { heading, megabytes, milliseconds, print, printTable, say, whole } from './report.ts';
import { type Call, PROTOCOLS, type Protocol, requestBytes } from './requests.ts';
import { median, rounds } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';
import { printSlowReaders } from './slow-readers.ts';

/** The longest answers, one at a time and 50 at once: how soon they come. Others and the memory are watched. */
const MESSAGES = numberFrom('MESSAGES', 10_000);
const AT_ONCE = numberFrom('AT_ONCE', 50);

const callOf = (operation: string): Call => ({
  group: 'inbox',
  operation,
  args: { user_id: userIdOf(0), max_count: String(MESSAGES) },
});
const CASES = ['Unread', 'InboxDS'].flatMap((operation) => PROTOCOLS.map((protocol) => ({ operation, protocol })));
const nameOf = ({ operation, protocol }: (typeof CASES)[number]) => `${operation}, ${protocol}`;

say('filling a database');
const path = join(temporaryFolder(), 'bench.db');
const filled = await fillSqlite(path, { accounts: 2, every: 2, messages: 10 * MESSAGES, others: 1_000 });
await filled.close();
const start = (flags: readonly string[] = []) => startObserved({ database: filled.database, flags });

async function ask(columba: ObservedColumba, operation: string, protocol: Protocol, count: number) {
  const connections = await Promise.all(Array.from({ length: count }, () => openConnection(columba.port)));
  const request = requestBytes(protocol, callOf(operation));
  const { result, heldUpMs, grownBytes } = await columba.during(() =>
    Promise.all(connections.map((connection) => connection.ask(request))),
  );
  for (const connection of connections) connection.close();
  const longest = (of: (answer: (typeof result)[number]) => number) => Math.max(...result.map(of));
  return {
    bytes: result[0]?.bytes ?? 0,
    heldUpMs,
    grownBytes,
    firstMs: longest(({ firstMs }) => firstMs),
    totalMs: longest(({ totalMs }) => totalMs),
  };
}
type Asked = Awaited<ReturnType<typeof ask>>;

const timing = await rounds(await timings());

/** One process for all, so that it is warm. */
async function timings() {
  const columba = await start();
  return Object.fromEntries(
    CASES.map((each) => [nameOf(each), { one: () => ask(columba, each.operation, each.protocol, 1) }]),
  );
}

/** A fresh process each time: memory that has grown once does not shrink. Small calls before, since these let it grow too. */
const memory = await rounds(
  Object.fromEntries(
    CASES.map(({ operation, protocol }) => [
      nameOf({ operation, protocol }),
      {
        one: async () => {
          const columba = await start();
          await warmUp(columba);
          const one = await ask(columba, operation, protocol, 1);
          await sleep(200);
          const many = await ask(columba, operation, protocol, AT_ONCE);
          await columba.stop();
          return { one, many };
        },
      },
    ]),
  ),
);

async function warmUp({ port }: ObservedColumba): Promise<void> {
  const connection = await openConnection(port);
  const args = { user_id: userIdOf(1), max_count: '20' };
  for (let call = 0; call < 500; call++) {
    await connection.ask(requestBytes('SOAP 1.1', { group: 'inbox', operation: 'Unread', args }));
  }
  connection.close();
}

heading(
  'Large answers',
  `Lists of ${whole(MESSAGES)} messages, SQLite. Medians of ${ROUNDS} rounds; of what the event loop was held up, the longest time of all.`,
);
const middle = (values: readonly Asked[], of: (value: Asked) => number) => median(values.map(of));
const worst = (values: readonly Asked[]) => Math.max(...values.map(({ heldUpMs }) => heldUpMs));
print('', 'One at a time:');
printTable(
  ['', 'bytes', 'first byte', 'last byte', 'event loop held up', 'memory grew by'],
  CASES.map(nameOf).map((name) => {
    const values = timing[name]?.one ?? [];
    const alone = (memory[name]?.one ?? []).map(({ one }) => one);
    return [
      ...[name, whole(middle(values, ({ bytes }) => bytes))],
      ...[middle(values, ({ firstMs }) => firstMs), middle(values, ({ totalMs }) => totalMs)].map(milliseconds),
      ...[milliseconds(worst(values)), megabytes(middle(alone, ({ grownBytes }) => grownBytes))],
    ];
  }),
);
print(`${AT_ONCE} at once, each time in a fresh process; the times are those of the client that waited longest:`);
printTable(
  ['', 'first byte', 'last byte', 'event loop held up', 'memory grew by', 'which is for each'],
  CASES.map(nameOf).map((name) => {
    const values = (memory[name]?.one ?? []).map(({ many }) => many);
    const grown = middle(values, ({ grownBytes }) => grownBytes);
    return [
      name,
      ...[middle(values, ({ firstMs }) => firstMs), middle(values, ({ totalMs }) => totalMs)].map(milliseconds),
      ...[milliseconds(worst(values)), megabytes(grown), megabytes(grown / AT_ONCE)],
    ];
  }),
);
await printSlowReaders(start, 10 * MESSAGES);
await endAll();
