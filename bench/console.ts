import { setTimeout as sleep } from 'node:timers/promises';
import { startColumba } from './columba.ts';
import { consoleDatabase } from './console-data.ts';
import { openPages, PATHS } from './console-pages.ts';
import { type ConsoleSession, signInTo } from './console-session.ts';
import { userIdOf } from './data.ts';
import { openConnection } from './load.ts';
import { cpuUs } from './proc.ts';
import { endAll, freePort } from './processes.ts';
import { heading, milliseconds, print, printTable, say, whole } from './report.ts';
import { requestBytes } from './requests.ts';
import { median, quantile, ratios, withSpread } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/**
 * The console of an account with a million messages. What does a page cost beside that of an account with one page? How long
 * does an act on all messages take? What do clients of the contract notice of open tabs?
 */
const MESSAGES = numberFrom('MESSAGES', 1_000_000);
/** A full page: then both pages have as many rows. */
const FEW = numberFrom('FEW', 50);
/** Open tabs, and for how long in all: half of the time is without them. */
const TABS = numberFrom('TABS', 10);
const SECONDS = numberFrom('SECONDS', 600);
const CALLS_PER_SECOND = numberFrom('CALLS_PER_SECOND', 200);
const SLICE_SECONDS = Math.min(15, Math.ceil(SECONDS / 4));
const PAGES_PER_ROUND = numberFrom('PAGES', 20);
/** For so long the tabs are only open. */
const IDLE_SECONDS = numberFrom('IDLE_SECONDS', 120);

const database = await consoleDatabase(MESSAGES, FEW);

const webPort = await freePort();
const web = `http://127.0.0.1:${webPort}`;
const columba = await startColumba({ database, flags: ['--web-port', String(webPort)] });
const many = await signInTo(web, database, 'account000000');
const few = await signInTo(web, database, 'account000001');

/** CPU of the server for a page, in milliseconds. */
async function cpuOfPage(session: ConsoleSession, path: string): Promise<number> {
  const before = cpuUs(columba.pids());
  await openPages(session, path, PAGES_PER_ROUND);
  return (cpuUs(columba.pids()) - before) / PAGES_PER_ROUND / 1_000;
}

const costs = new Map<string, { few: number[]; many: number[] }>(PATHS.map((path) => [path, { few: [], many: [] }]));
for (let round = 0; round <= ROUNDS; round++) {
  for (const [path, cost] of costs) {
    const measured = { few: await cpuOfPage(few, path), many: await cpuOfPage(many, path) };
    if (round === 0) continue; // it warms up
    cost.few.push(measured.few);
    cost.many.push(measured.many);
  }
  say(`pages: round ${round} of ${ROUNDS}`);
}

/** What the script of an open page does that nobody uses: a stream where it gets one, and a poll a minute. */
async function keepTab(session: ConsoleSession, isOver: () => boolean, index: number): Promise<void> {
  const stream = (async () => {
    for (let isFull = false; !isFull && !isOver(); ) {
      isFull = (await session.ask('/console/events.stream?part=events')).text.includes('event: full');
      await sleep(1_000);
    }
  })();
  await sleep((index * POLL_MS) / TABS);
  while (!isOver()) {
    for (const path of ['/console/conversations?part=rows', '/console/?part=unread']) await session.ask(path);
    for (let waited = 0; waited < POLL_MS && !isOver(); waited += 1_000) await sleep(1_000);
  }
  await stream;
}
const POLL_MS = 60_000;

/** The share of a core that the service takes with and without tabs that are only open, in percent. */
async function idleShares(): Promise<{ readonly without: number; readonly with: number }> {
  const share = async () => {
    const before = cpuUs(columba.pids());
    await sleep(IDLE_SECONDS * 1_000);
    return (cpuUs(columba.pids()) - before) / IDLE_SECONDS / 10_000;
  };
  const without = await share();
  let isOver = false;
  const tabs = Array.from({ length: TABS }, (_, index) => keepTab(many, () => isOver, index));
  await sleep(2_000); // their streams are open
  const withTabs = await share();
  isOver = true;
  await Promise.all(tabs);
  return { without, with: withTabs };
}
say('tabs that are only open');
const idle = await idleShares();

const isShed = (status: number): boolean => status === 429;

/** A tab: it asks for rows every 5 s, and its owner opens a page every 5 s. */
async function useTab(session: ConsoleSession, isOver: () => boolean, clicks: number[]): Promise<number> {
  let refused = 0;
  for (let turn = 0; !isOver(); turn++) {
    const path = turn % 2 === 0 ? '/console/inbox?part=rows' : (PATHS[turn % 3] ?? '/console/');
    const { status, totalMs } = await session.ask(path);
    if (isShed(status)) refused += 1;
    else if (status !== 200) throw new Error(`${path} answered ${status}`);
    if (turn % 2 === 1) clicks.push(totalMs);
    await sleep(2_500);
  }
  return refused;
}

/** Calls at an even pace, whatever the answers take: what waits counts from when it should have begun. */
async function callFor(seconds: number, latencies: number[]): Promise<void> {
  const connections = await Promise.all(Array.from({ length: 8 }, () => openConnection(columba.port)));
  const args = { user_id: userIdOf(1), max_count: '20' };
  const request = requestBytes('SOAP 1.1', { group: 'inbox', operation: 'Unread', args });
  const startedAt = performance.now();
  await Promise.all(
    connections.map(async (connection, first) => {
      for (let call = first; call < seconds * CALLS_PER_SECOND; call += connections.length) {
        const dueAt = startedAt + (call * 1_000) / CALLS_PER_SECOND;
        const early = dueAt - performance.now();
        if (early > 0) await sleep(early);
        const since = Math.min(dueAt, performance.now()); // a timer may fire a little early
        await connection.ask(request);
        latencies.push(performance.now() - since);
      }
    }),
  );
  for (const connection of connections) connection.close();
}

const clicks: number[] = [];
const slices: Record<'without' | 'with', number[][]> = { without: [], with: [] };
let refused = 0;
for (let passed = 0; passed < SECONDS; passed += 2 * SLICE_SECONDS) {
  for (const which of ['without', 'with'] as const) {
    const latencies: number[] = [];
    let isOver = false;
    const tabs = which === 'with' ? Array.from({ length: TABS }, () => useTab(many, () => isOver, clicks)) : [];
    await callFor(SLICE_SECONDS, latencies);
    isOver = true;
    for (const count of await Promise.all(tabs)) refused += count;
    slices[which].push(latencies);
  }
  say(`tabs: ${passed + 2 * SLICE_SECONDS} of ${SECONDS} s`);
}

say('acting on all messages');
const [, snapshot = ''] = /name="snapshot" value="(\d+)"/.exec((await many.ask('/console/inbox')).text) ?? [];
const acted = await many.ask('/console/inbox', { act: 'read', scope: 'all', snapshot });
const [, done = '0'] = /Finished: (?:<data[^>]*>)?([\d,]+)/.exec(acted.text) ?? [];

heading(
  'The console',
  `An account with ${whole(MESSAGES)} received and as many sent messages beside one with ${FEW}, SQLite, one process.`,
  `CPU of the server for a page; medians of ${ROUNDS} rounds of ${PAGES_PER_ROUND} pages.`,
);
printTable(
  ['', `${FEW} messages`, `${whole(MESSAGES)} messages`, 'how many times as much'],
  [...costs].map(([path, cost]) => [
    path,
    milliseconds(median(cost.few)),
    milliseconds(median(cost.many)),
    withSpread(ratios(cost.many, cost.few)),
  ]),
);
const of = (which: 'without' | 'with', part: number) =>
  withSpread(
    slices[which].map((each) => quantile(each, part)),
    1,
  );
print(
  `${TABS} tabs: each asks for rows every 5 s, and opens a page every 5 s. ${CALLS_PER_SECOND} calls of Unread in a second meanwhile.`,
  `${slices.with.length} slices of ${SLICE_SECONDS} s with tabs, and as many without. Milliseconds: median of the slices, and their range.`,
);
printTable(
  ['', 'p50', 'p99'],
  [
    ['calls without tabs', of('without', 0.5), of('without', 0.99)],
    ['calls with tabs', of('with', 0.5), of('with', 0.99)],
    ['pages that were opened', milliseconds(median(clicks)), milliseconds(quantile(clicks, 0.99))],
  ],
);
const percent = (share: number): string => `${share.toFixed(2)} %`;
print(
  `${TABS} tabs that are only open take ${percent(idle.with - idle.without)} of a core: ${percent(idle.with)} instead of ${percent(idle.without)} for ${IDLE_SECONDS} s.`,
  `Pages opened: ${whole(clicks.length)}; refused because calls come first: ${whole(refused)}.`,
  `Marking all received messages as read: ${done} in ${(acted.totalMs / 1_000).toFixed(1)} s; the first line of progress after ${milliseconds(acted.firstMs)}.`,
);
await endAll();
