import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../src/base/clock.ts';
import { createKeyedQueue } from '../src/base/keyed-queue.ts';
import { createComparing } from '../src/migration/compare/comparing.ts';
import { createPendingCounts } from '../src/migration/proxy/pending-counts.ts';
import { createShadow } from '../src/migration/proxy/shadow.ts';
import { startColumba } from './columba.ts';
import { answers, endAll, freePort, launch, temporaryFolder, untilReady } from './processes.ts';
import { heading, megabytes, printTable, say } from './report.ts';
import { median, quantile, ratios, rounds, withSpread } from './rounds.ts';
import { numberFrom } from './settings.ts';

/**
 * What clients notice of the proxy: the time of a call through it, against the old server alone.
 * Columba answers, is down, or never answers. Then the memory of a proxy that sees nothing but
 * different answers.
 */
const REQUESTS = numberFrom('REQUESTS', 300);
const CALLS = numberFrom('CALLS', 1_000_000);
const USER_ID = '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11';
const TARGET = `/api/inbox.asmx/Unread?user_id=${USER_ID}&max_count=20`;
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const SAMPLE = fileURLToPath(new URL('../examples/sample.json', import.meta.url));
const folder = temporaryFolder();
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Some of it can go only when a turn of the event loop has passed. */
async function collectAll(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const sample = join(folder, 'sample.db');
const quiet = ['--disable-warning=ExperimentalWarning', MAIN];
execFileSync(process.execPath, [...quiet, 'import', SAMPLE, '--database', `sqlite:${sample}`], { stdio: 'ignore' });
const copyOf = (name: string): string => {
  const path = join(folder, `${name}.db`);
  copyFileSync(sample, path);
  return `sqlite:${path}`;
};

/** An old server that takes its time for each call, as those with a database of their own do. */
const OLD_MS = numberFrom('OLD_MS', 20);
const SLOW_SERVER = `
  const { createServer, get } = require('node:http');
  const [port, from, ms] = process.argv.slice(1).map(Number);
  createServer((request, response) => setTimeout(() => {
    get({ host: '127.0.0.1', port: from, path: request.url }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
  }, ms)).listen(port, '127.0.0.1');`;

const source = await startColumba({ database: copyOf('old') });
const old = { port: await freePort() };
const slow = launch({ args: ['-e', SLOW_SERVER, '--', String(old.port), String(source.port), String(OLD_MS)] });
await untilReady(slow, () => answers(old.port, TARGET));
const columba = await startColumba({ database: copyOf('new') });
const silentPort = await freePort();
const silent = createServer((socket) => void socket.on('error', () => {})).listen(silentPort, '127.0.0.1');

async function startProxy(name: string, stage: string, newPort: number): Promise<number> {
  const port = await freePort();
  const database = copyOf(name.replaceAll(' ', '-'));
  const servers = ['--old', `http://127.0.0.1:${old.port}`, '--new', `http://127.0.0.1:${newPort}`];
  const own = ['--port', String(port), '--stage', stage, '--folder', join(folder, name), '--new-timeout-ms', '1000'];
  const args = [MAIN, 'migrate', 'proxy', ...servers, ...own, '--database', database];
  const child = launch({ args, env: { COLUMBA_LOG_LEVEL: 'silent' } });
  await untilReady(child, () => answers(port, TARGET));
  return port;
}

/** One client on one connection: milliseconds of each call. */
async function callsAt(port: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let call = 0; call < REQUESTS; call++) {
    const startedAt = performance.now();
    await new Promise<void>((resolve, reject) => {
      get({ host: '127.0.0.1', port, path: TARGET, agent }, (answer) => {
        answer.resume();
        answer.on('end', resolve);
      }).on('error', reject);
    });
    times.push(performance.now() - startedAt);
  }
  agent.destroy();
  return times;
}

const ALONE = 'the old server alone';
const ports: Record<string, number> = {
  [ALONE]: old.port,
  record: await startProxy('record', 'record', columba.port),
  compare: await startProxy('compare', 'compare', columba.port),
  'compare, Columba is down': await startProxy('down', 'compare', 1),
  'compare, Columba never answers': await startProxy('silent', 'compare', silentPort),
};
const results = await rounds(
  Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, { calls: () => callsAt(port) }])),
);
const timesOf = (name: string, part: number): number[] =>
  (results[name]?.calls ?? []).map((times) => quantile(times, part));
heading(
  'The proxy of a migration',
  `One client, ${REQUESTS} calls of Unread a round. The old server takes ${OLD_MS} ms. The ratio is that to the old server alone, of each round.`,
);
printTable(
  ['', 'median ms', 'ratio', '95th percentile ms', 'ratio'],
  Object.keys(ports).map((name) => [
    name,
    ...[0.5, 0.95].flatMap((part) => [
      median(timesOf(name, part)).toFixed(2),
      withSpread(ratios(timesOf(name, part), timesOf(ALONE, part))),
    ]),
  ]),
);
silent.close();
await endAll();

/** Different answers only, each with its example. */
async function memoryOfDifferences(): Promise<string[][]> {
  const key = Buffer.from('bench');
  const comparing = createComparing({
    dialect: {},
    zone: 'UTC',
    disabled: [],
    key,
    listLimit: 10_000,
    pseudonyms: false,
  });
  const pendingCounts = createPendingCounts(async () => {}, Date.now);
  const queue = createKeyedQueue({ itemsMax: 1_000, bytesMax: 64 * 1_048_576, concurrency: 8 }, () => {});
  const answer = (value: number) => ({
    status: 200,
    rawHeaders: ['Content-Type', 'text/xml; charset=utf-8'],
    body: Buffer.from(`<?xml version="1.0"?><long xmlns="http://sms.example/api">${value}</long>`),
    ms: 1,
  });
  let asked = 0;
  const server = { exchange: async () => answer(++asked) };
  const common = { queue, pendingCounts, recorder: undefined, columba: server, old: server, comparing };
  const shadow = createShadow({
    ...common,
    sync: undefined,
    deliveries: { applied: async () => null, release: () => {} },
    leavesMarks: () => false,
    clock: { ...systemClock, sleep: async () => {} },
    failed: () => {},
  });
  const call = {
    group: 'inbox',
    operation: 'CountUnread',
    protocol: 'get',
    changes: false,
    userId: USER_ID,
    texts: {},
  } as const;
  const request = { method: 'GET', target: '/', rawHeaders: [], body: new Uint8Array() };
  const rows: string[][] = [];
  for (let calls = 0; calls <= CALLS; calls++) {
    if (calls % Math.ceil(CALLS / 4) === 0) {
      await queue.idle();
      await pendingCounts.flush();
      await collectAll();
      rows.push([calls.toLocaleString('en'), megabytes(process.memoryUsage().heapUsed)]);
      say(`${calls} different answers`);
    }
    shadow.observe({ at: 0, stage: 'compare', call, request, old: answer(-1) });
    if (calls % 500 === 0) await queue.idle();
  }
  return rows;
}
heading('Different answers', `${CALLS.toLocaleString('en')} answers that all differ, compared and counted.`);
printTable(['answers', 'heap'], await memoryOfDifferences());
