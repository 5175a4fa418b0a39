import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launchColumba, startColumba } from './columba.ts';
import { ACCOUNTS, MESSAGES } from './data.ts';
import { fillSqlite } from './fill.ts';
import { drive, openConnection } from './load.ts';
import { CONNECTIONS, callOf, NAMES, type Name, take } from './operations.ts';
import { startPeers } from './peers.ts';
import { memoryBytes, ownBytes, peakBytes, resetPeak } from './proc.ts';
import { answers, endAll, type Running, temporaryFolder, untilReady } from './processes.ts';
import { heading, megabytes, printTable, say, whole } from './report.ts';
import { requestBytes } from './requests.ts';
import { median, rounds, withSpread } from './rounds.ts';
import { startServer } from './servers.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/**
 * How soon a process answers after its start, and how much memory it takes: idle, under load, after many calls.
 * With PEERS=1 also the servers on toolkits of others.
 */
const CALLS = numberFrom('CALLS', 1_000_000);
const STAGES = [CALLS / 10, CALLS / 2, CALLS].map(Math.ceil);
const CHUNK = 10_000;

say(`filling a database with ${ACCOUNTS} accounts of ${MESSAGES} messages`);
const path = join(temporaryFolder(), 'bench.db');
const { database, close } = await fillSqlite(path, { accounts: ACCOUNTS, every: 1, messages: MESSAGES });
await close();

interface Started {
  /** Where it can be asked. */
  readonly readyMs: number | undefined;
  readonly answeredMs: number;
  readonly idleBytes: number;
}

async function starting(
  start: (startedAt: number) => Promise<{ server: Running; readyMs?: number }>,
): Promise<Started> {
  const startedAt = performance.now();
  const { server, readyMs } = await start(startedAt);
  const connection = await openConnection(server.port);
  await connection.ask(requestBytes('SOAP 1.1', callOf('Profile', 0)));
  const answeredMs = performance.now() - startedAt;
  await sleep(500);
  const idleBytes = memoryBytes(server.pids());
  connection.close();
  await server.stop();
  return { readyMs, answeredMs, idleBytes };
}

const COLUMBA = 'Columba, SQLite';
const NPM_SOAP = 'npm soap, data in memory';

const starts = await rounds({
  [COLUMBA]: {
    start: () =>
      starting(async (startedAt) => {
        const server = await launchColumba({ database });
        await untilReady(server.child, () => answers(server.port, '/health/ready'), 2);
        return { server, readyMs: performance.now() - startedAt };
      }),
  },
  [NPM_SOAP]: { start: () => starting(async () => ({ server: await startServer('npm-soap.ts') })) },
});

heading(
  'Start',
  `From the start of the process; idle half a second after its first answer. Medians of ${ROUNDS} rounds (between which values).`,
);
const startRows = Object.entries(starts).map(([name, { start = [] }]) => [
  name,
  ...[start.flatMap(({ readyMs }) => readyMs ?? []), start.map(({ answeredMs }) => answeredMs)].map((values) =>
    values.length === 0 ? '–' : `${withSpread(values, 0)} ms`,
  ),
  megabytes(median(start.map(({ idleBytes }) => idleBytes))),
]);
printTable(['', '/health/ready is 200', 'first SOAP answer', 'memory, idle'], startRows);

/** A call of each operation in turn. */
function load(server: Running, requests: number) {
  const first = Object.fromEntries(NAMES.map((name) => [name, take(server, name, Math.ceil(requests / NAMES.length))]));
  const request = (number: number) => {
    const name = NAMES[number % NAMES.length] as Name;
    return requestBytes('SOAP 1.1', callOf(name, (first[name] as number) + Math.floor(number / NAMES.length)));
  };
  return drive({ server, connections: CONNECTIONS, requests, request });
}

const inBoth = ({ own, all }: { own: number; all: number }) => `${megabytes(own)}, ${megabytes(all)}`;

/** Idle, after each stage when it has had a second to tidy up, and the most that it ever was. */
async function grow(name: string, server: Running): Promise<string[]> {
  const measure = () => ({ all: memoryBytes(server.pids()), own: ownBytes(server.pids()) });
  const idle = measure();
  const after: (typeof idle)[] = [];
  for (const pid of server.pids()) resetPeak(pid);
  let done = 0;
  for (const stage of STAGES) {
    for (; done < stage; done += CHUNK) await load(server, Math.min(CHUNK, stage - done));
    done = stage;
    await sleep(1_000);
    after.push(measure());
    say(`${name}: ${done} calls`);
  }
  const pids = server.pids();
  const most = pids.length === 1 ? megabytes(peakBytes(pids[0] as number)) : '–';
  await server.stop();
  const [before = idle, last = idle] = after.slice(-2);
  const grown = { all: last.all - before.all, own: last.own - before.own };
  return [name, inBoth(idle), most, ...after.map(inBoth), inBoth(grown)];
}

const rows = [
  await grow(COLUMBA, await startColumba({ database })),
  await grow(NPM_SOAP, await startServer('npm-soap.ts')),
];
if (process.env.PEERS === '1') {
  for (const peer of await startPeers()) rows.push(await grow(`${peer.name} ${peer.version}`, peer));
}
heading(
  'Memory',
  `${ACCOUNTS} accounts with ${MESSAGES} messages each; ${NAMES.join(', ')} in turn over ${CONNECTIONS} connections.`,
  'Its own, then with the files that it has mapped, which the system takes back when it needs the room. One run. Of several processes, their shares.',
);
printTable(
  [
    '',
    'idle',
    'most under load',
    ...STAGES.map((stage) => `after ${whole(stage)} calls`),
    `grew from ${whole(STAGES.at(-2) ?? 0)} to ${whole(CALLS)}`,
  ],
  rows,
);
await endAll();
