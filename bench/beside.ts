import { setTimeout as sleep } from 'node:timers/promises';
import { startColumba } from './columba.ts';
import { acceptAll, addAccounts, deliveredIn, type Store, startStores } from './dispatch-data.ts';
import { type Driven, drive } from './load.ts';
import { CONNECTIONS } from './operations.ts';
import { childrenOf } from './proc.ts';
import { endAll } from './processes.ts';
import { heading, printTable, say } from './report.ts';
import { requestBytes } from './requests.ts';
import { median, withSpread } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/**
 * What calls lose while messages are sent. Connections call without a pause, with messages to send and without, by turns. So both
 * want the whole process.
 */
const REQUESTS = numberFrom('REQUESTS', 40_000);
const MESSAGES = numberFrom('MESSAGES', 30_000);
const WARM_CALLS = 30_000;

interface Turn {
  readonly calls: Driven;
  readonly sentPerSecond: number;
}

async function measure(store: Store, workers: number): Promise<string[]> {
  const setting = await store.create();
  const database = await store.open(setting);
  const { accounts, userIds, caller } = await addAccounts(database);
  const columba = await startColumba({ database: setting, flags: workers > 1 ? ['--workers', String(workers)] : [] });
  const server = { ...columba, pids: () => [columba.pid, ...childrenOf(columba.pid)] };
  // Every second call is of an account that sends.
  const bytes = [caller, ...userIds].map((user_id) =>
    requestBytes('SOAP 1.1', { group: 'inbox', operation: 'CountUnread', args: { user_id } }),
  );
  const request = (number: number) => bytes[number % 2 === 0 ? 0 : 1 + ((number >> 1) % userIds.length)] as Buffer;
  const call = (requests: number) => drive({ server, connections: CONNECTIONS, requests, request });

  let accepted = 0;
  const untilSent = async () => {
    while ((await deliveredIn(database)) < accepted) await sleep(100);
  };
  async function turn(sends: boolean): Promise<Turn> {
    await untilSent();
    if (sends) {
      await acceptAll(database, accounts, MESSAGES);
      accepted += MESSAGES;
      await sleep(1_000); // sending has begun
    }
    const before = await deliveredIn(database);
    const startedAt = performance.now();
    const calls = await call(REQUESTS);
    const after = await deliveredIn(database);
    if (sends && after >= accepted) throw new Error('all messages were sent before the last call: raise MESSAGES');
    const sent = after - before;
    return { calls, sentPerSecond: (sent / (performance.now() - startedAt)) * 1_000 };
  }

  await call(WARM_CALLS);
  const turns: { without: Turn; beside: Turn }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const each = { without: await turn(false), beside: await turn(true) };
    if (round > 0) turns.push(each);
    say(`${store.name}, ${workers} processes for calls: round ${round} of ${ROUNDS}`);
  }
  await columba.stop();
  await database.close();
  const of = (pick: (turn: Turn) => number) =>
    turns.map(({ without, beside }) => [pick(without), pick(beside)] as const);
  const shown = (pairs: readonly (readonly [number, number])[], digits: number) =>
    `${median(pairs.map(([without]) => without)).toFixed(digits)}, ${median(pairs.map(([, beside]) => beside)).toFixed(digits)}`;
  const rates = of(({ calls }) => calls.perSecond);
  return [
    store.name,
    String(workers),
    shown(rates, 0),
    withSpread(rates.map(([without, beside]) => beside / without)),
    shown(
      of(({ calls }) => median(calls.latencies)),
      1,
    ),
    withSpread(
      turns.map(({ beside }) => beside.sentPerSecond),
      0,
    ),
  ];
}

const { stores, stop } = await startStores();
const rows: string[][] = [];
for (const store of stores) for (const workers of [1, 2]) rows.push(await measure(store, workers));
await endAll();
await stop();
heading(
  'Calls beside sending',
  `CountUnread by ${CONNECTIONS} connections without a pause, ${ROUNDS} rounds of ${REQUESTS} calls. Each is measured without messages to`,
  `send and with ${MESSAGES} that are due. Pairs are in this order. With two processes for calls, a third one sends.`,
);
printTable(['database', 'processes for calls', 'calls/s', 'ratio', 'median ms of a call', 'sent/s beside'], rows);
