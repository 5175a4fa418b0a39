import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launchColumba } from './columba.ts';
import {
  ACCOUNTS_TEXT,
  acceptAll,
  addAccounts,
  deliveredIn,
  type Store,
  scheduleAll,
  startStores,
} from './dispatch-data.ts';
import { measureFloor } from './dispatch-floor.ts';
import { openConnection } from './load.ts';
import { cpuByPid, cpuSince, cpuUs } from './proc.ts';
import { endAll, temporaryFolder } from './processes.ts';
import { heading, printTable, say, whole } from './report.ts';
import { requestBytes } from './requests.ts';
import { median } from './rounds.ts';
import { numberFrom } from './settings.ts';

/**
 * Messages per second through the loopback, from the claim to the receipt on disk. One and four
 * processes serve. The contract's calls run beside it, and their delay is measured. SQLite runs
 * with synchronous=full, as always. SCHEDULED messages wait for tomorrow meanwhile. Afterwards, when nothing is left to
 * send, what the idle service costs. PostgreSQL is that of npm, and Debian's where it is installed.
 */
const MESSAGES = numberFrom('MESSAGES', 20_000);
const SCHEDULED = Number(process.env.SCHEDULED ?? 0);
const IDLE_MS = numberFrom('IDLE_MS', 20_000);
const PROCESSES = (process.env.PROCESSES ?? '1,4').split(',').map(Number);
/** The rate is taken between these shares of all messages: a start and a last receipt do not count. */
const [FROM, TO] = [0.1, 0.95];

/** How long a call takes, over and over, until it is told to stop. */
function keepCalling(port: number, userId: string) {
  const latencies: number[] = [];
  let stopped = false;
  const request = requestBytes('SOAP 1.1', { group: 'inbox', operation: 'CountUnread', args: { user_id: userId } });
  const running = (async () => {
    const connection = await openConnection(port);
    while (!stopped) {
      latencies.push((await connection.ask(request)).totalMs);
      await sleep(5);
    }
    connection.close();
  })();
  return {
    latencies,
    async stop(): Promise<void> {
      stopped = true;
      await running;
    },
  };
}

async function measure(store: Store, processes: number): Promise<string[]> {
  const setting = await store.create();
  const database = await store.open(setting);
  say(`${store.name}: accepting ${MESSAGES} messages, ${SCHEDULED} for tomorrow`);
  const { accounts, caller: userId } = await addAccounts(database);
  await scheduleAll(database, accounts, SCHEDULED);
  const acceptingSince = performance.now();
  await acceptAll(database, accounts, MESSAGES);
  const acceptedPerSecond = (MESSAGES / (performance.now() - acceptingSince)) * 1_000;
  say(`${store.name}: ${processes} processes send`);
  const columbas = await Promise.all(Array.from({ length: processes }, () => launchColumba({ database: setting })));
  const pids = () => columbas.flatMap((each) => each.pids());
  const count = () => deliveredIn(database);
  while ((await count()) < MESSAGES * FROM) await sleep(50);
  const caller = keepCalling(columbas[0]?.port as number, userId);
  const [own, behind] = [cpuByPid(pids()), cpuByPid(store.pids())];
  const [first, startedAt] = [await count(), performance.now()];
  let last = first;
  while (last < MESSAGES * TO) {
    await sleep(200); // each count reads all messages
    last = await count();
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const sent = last - first;
  const cpu = [cpuSince(own, pids()) / sent, cpuSince(behind, store.pids()) / sent];
  const during = [...caller.latencies];
  caller.latencies.length = 0;
  await sleep(3_000); // the rest is sent, and then it is quiet
  const before = caller.latencies.slice(-200);
  await caller.stop();
  const idle = await measureIdle(store, pids);
  for (const each of columbas) await each.stop();
  await database.close();
  return [
    store.name,
    String(processes),
    whole(SCHEDULED),
    whole(acceptedPerSecond),
    whole(sent / seconds),
    ...cpu.map(whole),
    ...idle,
    `${median(during).toFixed(1)} ms, ${median(before).toFixed(1)} ms`,
  ];
}

/** CPU in ms for each second, of Columba and of PostgreSQL. */
async function measureIdle(store: Store, pids: () => number[]): Promise<string[]> {
  const taken = () => [cpuUs(pids()), store.cpuUs()] as const;
  const [before, startedAt] = [taken(), performance.now()];
  await sleep(IDLE_MS);
  const seconds = (performance.now() - startedAt) / 1_000;
  return taken().map((each, index) => ((each - (before[index] as number)) / 1_000 / seconds).toFixed(1));
}

const { stores, stop } = await startStores();
const rows: string[][] = [];
for (const store of stores) {
  for (const processes of PROCESSES) rows.push(await measure(store, processes));
}
const floor = measureFloor(join(temporaryFolder(), 'floor.db'), MESSAGES);
await endAll();
await stop();
heading(
  'Sending',
  `${whole(MESSAGES)} messages of ${ACCOUNTS_TEXT} through the loopback, each with its receipt. CPU in µs for each message. Idle:`,
  'CPU in ms for each second while nothing is sent and nobody calls, of Columba and of PostgreSQL. The last column: the',
  'median of CountUnread of another account meanwhile, and after it.',
);
printTable(
  [
    'database',
    'processes',
    'scheduled besides',
    'accepted/s',
    'sent/s',
    'CPU of Columba',
    'CPU of PostgreSQL',
    'idle Columba',
    'idle PostgreSQL',
    'calls',
  ],
  rows,
);
printTable(['floor: the same rows by a bare loop on SQLite', 'sent/s'], [['one process', whole(floor)]]);
