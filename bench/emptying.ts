import { setTimeout as sleep } from 'node:timers/promises';
import { CACHE_OFF, startColumba } from './columba.ts';
import { userIdOf } from './data.ts';
import type { Engine } from './engines.ts';
import { FIRST_ID, type Filled } from './fill.ts';
import { type Connection, openConnection } from './load.ts';
import { heading, milliseconds, print, printTable, say, whole } from './report.ts';
import { requestBytes } from './requests.ts';
import { quantile } from './rounds.ts';
import { numberFrom } from './settings.ts';

/** DeleteAllMessages of a large inbox: how soon it is answered, and how long its rows stay. Others call meanwhile. */
const TIMES = numberFrom('EMPTYINGS', 1);
const BEFORE_MS = numberFrom('BEFORE_MS', 5_000);
const ANSWER_MS_MAX = 50;
// A client with something to do now and then. Without a pause it would wait for its own load.
const PAUSE_MS = 5;
const OTHERS = 20_000;

export async function printEmptying(engine: Engine, messages: number): Promise<void> {
  const rows: string[][] = [];
  const answered: number[] = [];
  for (let time = 1; time <= TIMES; time++) {
    say(`${engine.name}: filling an inbox with ${messages} messages, to be emptied`);
    const filled = await engine.create({ accounts: 2, every: 2, messages, others: OTHERS });
    const { answerMs, goneMs, before, during } = await empty(filled);
    await filled.close();
    answered.push(answerMs);
    rows.push([milliseconds(answerMs), `${(goneMs / 1_000).toFixed(1)} s`, ...waits(before), ...waits(during)]);
  }
  heading(
    `An inbox is emptied, ${engine.name}`,
    `DeleteAllMessages of ${whole(messages)} messages, and meanwhile CountUnread and MarkMessageAsRead of another account, a pair every`,
    `${PAUSE_MS} ms: the median, 99 % and the longest of how long a call took. A row is a run.`,
  );
  printTable(
    [
      'answered after',
      'rows gone after',
      'CountUnread before',
      'Mark before',
      'CountUnread meanwhile',
      'Mark meanwhile',
    ],
    rows,
  );
  const met = answered.every((ms) => ms < ANSWER_MS_MAX) ? 'met' : 'not met';
  print(`Answered in less than ${ANSWER_MS_MAX} ms: ${met}.`);
}

interface Pairs {
  readonly count: number[];
  readonly mark: number[];
}

const waits = ({ count, mark }: Pairs): string[] =>
  [count, mark].map((values) => [0.5, 0.99, 1].map((part) => milliseconds(quantile(values, part))).join(', '));

async function empty(filled: Filled) {
  const columba = await startColumba({ database: filled.database, flags: CACHE_OFF });
  const other = await openConnection(columba.port);
  await callPairs(other, within(1_000)); // warms up
  const before = await callPairs(other, within(BEFORE_MS));
  const own = await openConnection(columba.port);
  const startedAt = performance.now();
  let answerMs = 0;
  let gone = false;
  const emptied = (async () => {
    answerMs = await timed(own, 'DeleteAllMessages', { user_id: userIdOf(0) });
    while (!(await isPurged(filled))) await sleep(100);
    gone = true;
    return performance.now() - startedAt;
  })();
  const during = await callPairs(other, () => !gone);
  const goneMs = await emptied;
  for (const connection of [other, own]) connection.close();
  await columba.stop();
  return { answerMs, goneMs, before, during };
}

/** Marks go on where those before have stopped. */
let marked = 0;

async function callPairs(connection: Connection, goesOn: () => boolean): Promise<Pairs> {
  const pairs: Pairs = { count: [], mark: [] };
  const user_id = userIdOf(1);
  while (goesOn()) {
    pairs.count.push(await timed(connection, 'CountUnread', { user_id }));
    const message_id = String(FIRST_ID + (marked++ % OTHERS));
    pairs.mark.push(await timed(connection, 'MarkMessageAsRead', { user_id, message_id }));
    await sleep(PAUSE_MS);
  }
  return pairs;
}

const within = (ms: number) => {
  const until = performance.now() + ms;
  return () => performance.now() < until;
};

async function timed(connection: Connection, operation: string, args: Record<string, string>): Promise<number> {
  return (await connection.ask(requestBytes('SOAP 1.1', { group: 'inbox', operation, args }))).totalMs;
}

async function isPurged({ query }: Filled): Promise<boolean> {
  const rows = await query('select 1 from tally where purged_generation < generation');
  return rows.length === 0;
}
