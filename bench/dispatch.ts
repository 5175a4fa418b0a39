import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAccepting } from '../src/domain/accepting.ts';
import { accountId, addRecord } from '../src/domain/account-records.ts';
import type { Database } from '../src/store/database.ts';
import { openPostgres } from '../src/store/postgres/database.ts';
import { openSqlite } from '../src/store/sqlite/database.ts';
import { statement } from '../src/store/statement.ts';
import { launchColumba } from './columba.ts';
import { startDatabaseServer } from './database-server.ts';
import { measureFloor } from './dispatch-floor.ts';
import { openConnection } from './load.ts';
import { cpuByPid, cpuSince } from './proc.ts';
import { endAll, temporaryFolder } from './processes.ts';
import { heading, printTable, say, whole } from './report.ts';
import { requestBytes } from './requests.ts';
import { median } from './rounds.ts';
import { numberFrom } from './settings.ts';

/**
 * Messages per second through the loopback, from the claim to the receipt on disk. One and four
 * processes serve. The contract's calls run beside it, and their delay is measured. SQLite runs
 * with synchronous=full, as always. SCHEDULED messages wait for tomorrow meanwhile.
 */
const MESSAGES = numberFrom('MESSAGES', 20_000);
const ACCOUNTS = numberFrom('ACCOUNTS', 10);
const SCHEDULED = Number(process.env.SCHEDULED ?? 0);
const PROCESSES = (process.env.PROCESSES ?? '1,4').split(',').map(Number);
const BATCH = 1_000;
const DAY_MS = 86_400_000;
/** The rate is taken between these shares of all messages: a start and a last receipt do not count. */
const [FROM, TO] = [0.1, 0.95];

interface Store {
  readonly name: string;
  create(): Promise<string>;
  open(setting: string): Promise<Database>;
  pids(): number[];
}

const delivered = statement<Record<string, never>, { total: bigint }>(
  'bench.delivered',
  "select count(*) as total from sent where status = 'DELIVERED'",
);
const userIdOf = (index: number) => `bench-user-${index}`;

/** The loopback delivers these: it treats numbers that end in 9001 to 9014 in other ways. */
const numberOf = (index: number): string =>
  `+2782${1_000_000 + (Math.floor(index / 9_000) % 800) * 10_000 + (index % 9_000)}`;

async function acceptAll(database: Database, accounts: readonly bigint[], count: number, sendAt: number | null) {
  const accepting = createAccepting(database, Date.now);
  const settings = { region: 'ZA', timeZone: null, quietHours: null };
  for (let done = 0; done < count; done += BATCH) {
    const recipients = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) => ({
      number: numberOf(done + index),
      text: 'Your parcel has arrived.',
    }));
    const account = accounts[(done / BATCH) % accounts.length] as bigint;
    await accepting.accept(account, settings, { recipients, sender: null, reference: null, sendAt, notAfter: null });
  }
}

/** The user_id of one account, which calls while the others send. */
async function fill(database: Database): Promise<{ userId: string; acceptedPerSecond: number }> {
  const accounts: bigint[] = [];
  const { userId } = await addRecord(database, { username: 'caller', passwordHash: null, credits: 0n }, Date.now());
  for (let index = 0; index < ACCOUNTS; index++) {
    const username = userIdOf(index);
    await addRecord(database, { username, passwordHash: null, credits: 2n ** 40n }, Date.now());
    accounts.push(await accountId(database, username));
  }
  if (SCHEDULED > 0) await acceptAll(database, accounts, SCHEDULED, Date.now() + DAY_MS);
  const start = performance.now();
  await acceptAll(database, accounts, MESSAGES, null);
  return { userId, acceptedPerSecond: (MESSAGES / (performance.now() - start)) * 1_000 };
}

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
  const { userId, acceptedPerSecond } = await fill(database);
  say(`${store.name}: ${processes} processes send`);
  const columbas = await Promise.all(Array.from({ length: processes }, () => launchColumba({ database: setting })));
  const pids = () => columbas.flatMap((each) => each.pids());
  const count = async () => Number((await database.first(delivered, {}))?.total ?? 0n);
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
  for (const each of columbas) await each.stop();
  await database.close();
  return [
    store.name,
    String(processes),
    whole(SCHEDULED),
    whole(acceptedPerSecond),
    whole(sent / seconds),
    ...cpu.map(whole),
    `${median(during).toFixed(1)} ms, ${median(before).toFixed(1)} ms`,
  ];
}

const folder = temporaryFolder();
let files = 0;
const sqlite: Store = {
  name: 'SQLite',
  create: async () => `sqlite:${join(folder, `${++files}.db`)}`,
  open: (setting) => openSqlite(setting.slice('sqlite:'.length), Date.now),
  pids: () => [],
};
const server = process.env.ENGINE === 'sqlite' ? undefined : await startDatabaseServer();
const stores = [sqlite];
if (server) {
  stores.push({
    name: `PostgreSQL ${server.version}`,
    create: () => server.create(),
    open: (url) => openPostgres({ url, connectionsMax: 10, timeoutMs: 30_000 }, Date.now),
    pids: server.pids,
  });
}
const rows: string[][] = [];
for (const store of stores) {
  for (const processes of PROCESSES) rows.push(await measure(store, processes));
}
const floor = measureFloor(join(folder, 'floor.db'), MESSAGES);
await endAll();
await server?.stop();
heading(
  'Sending',
  `${whole(MESSAGES)} messages of ${ACCOUNTS} accounts through the loopback, each with its receipt. CPU in µs for each message. The`,
  'last column: the median of CountUnread of another account meanwhile, and after it.',
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
    'calls',
  ],
  rows,
);
printTable(['floor: the same rows by a bare loop on SQLite', 'sent/s'], [['one process', whole(floor)]]);
