import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { userIdOf } from './data.ts';
import { type Connection, openConnection } from './load.ts';
import type { ObservedColumba } from './observed-columba.ts';
import { socketsOf } from './proc.ts';
import { heading, megabytes, milliseconds, print, printTable, say, whole } from './report.ts';
import { requestBytes } from './requests.ts';
import { median, quantile, withSpread } from './rounds.ts';
import { numberFrom, ROUNDS } from './settings.ts';

/** Clients ask for much and take 1 KB a second: their memory, what others notice, when they are cut off. */
const READERS = numberFrom('READERS', 50);
const SEND_TIMEOUT_MS = 3_000;
const BYTES_A_SECOND = 1_024;
const BEFORE_MS = 1_000;
const WAIT_MS_MAX = 10 * SEND_TIMEOUT_MS;

interface Slow {
  readonly grownBytes: number;
  readonly heldUpMs: number;
  readonly before: number[];
  readonly meanwhile: number[];
  /** The first of them and the last; undefined where it did not happen. */
  readonly cutMs: readonly [number | undefined, number | undefined];
}

export async function printSlowReaders(
  start: (flags: readonly string[]) => Promise<ObservedColumba>,
  messages: number,
): Promise<void> {
  const runs: Slow[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const flags = ['--send-timeout-ms', String(SEND_TIMEOUT_MS), '--list-limit', String(messages)];
    const columba = await start(flags);
    runs.push(await measure(columba, messages));
    await columba.stop();
    say(`slow readers: round ${round} of ${ROUNDS}`);
  }
  heading(
    'Slow readers',
    `${READERS} clients that ask for ${whole(messages)} messages and take ${BYTES_A_SECOND} bytes a second, --send-timeout-ms ${SEND_TIMEOUT_MS}; meanwhile`,
    `CountUnread of another account, every millisecond. Medians of ${ROUNDS} rounds; of what the event loop was held up, the longest.`,
  );
  const waits = (of: (run: Slow) => number[]) =>
    [0.5, 0.99, 1].map((part) => milliseconds(median(runs.map((run) => quantile(of(run), part))))).join(', ');
  const cut = (which: 0 | 1) => {
    const seconds = runs.flatMap(({ cutMs }) => cutMs[which] ?? []).map((ms) => ms / 1_000);
    return seconds.length === runs.length
      ? `${withSpread(seconds, 1)} s`
      : `not in ${runs.length - seconds.length} rounds`;
  };
  printTable(
    [
      'memory grew by',
      'event loop held up',
      'CountUnread before',
      'CountUnread meanwhile',
      'first cut off',
      'last cut off',
    ],
    [
      [
        megabytes(median(runs.map(({ grownBytes }) => grownBytes))),
        milliseconds(Math.max(...runs.map(({ heldUpMs }) => heldUpMs))),
        ...[waits(({ before }) => before), waits(({ meanwhile }) => meanwhile)],
        ...[cut(0), cut(1)],
      ],
    ],
  );
  print('Of CountUnread: the median, 99 % and the longest.');
}

async function measure(columba: ObservedColumba, messages: number): Promise<Slow> {
  const other = await openConnection(columba.port);
  await callUntil(other, after(200)); // warms up
  const before = await callUntil(other, after(BEFORE_MS));
  const without = socketsOf(columba.pid);
  const open = () => socketsOf(columba.pid) - without;
  const readers = Array.from({ length: READERS }, () => connect(columba.port, '127.0.0.1'));
  while (open() < READERS) await sleep(20);

  const { result, grownBytes, heldUpMs } = await columba.during(async () => {
    for (const reader of readers) readSlowly(reader, messages);
    let over = false;
    const cutMs = untilCutOff(open).finally(() => {
      over = true;
    });
    return { meanwhile: await callUntil(other, () => over), cutMs: await cutMs };
  });
  for (const reader of readers) reader.destroy();
  other.close();
  return { ...result, grownBytes, heldUpMs, before };
}

/** It takes 64 KB ahead, as Node does, and the system some more; then its time decides. */
function readSlowly(socket: Socket, messages: number): void {
  const args = { user_id: userIdOf(0), max_count: String(messages) };
  socket.write(requestBytes('SOAP 1.1', { group: 'inbox', operation: 'Unread', args }));
  socket.on('readable', () => {});
  socket.on('error', () => {});
  const timer = setInterval(() => socket.read(BYTES_A_SECOND), 1_000);
  socket.once('close', () => clearInterval(timer));
}

/** Seen from the server: clients learn of it only when they have taken what the system holds for them. */
async function untilCutOff(open: () => number): Promise<Slow['cutMs']> {
  const startedAt = performance.now();
  let first: number | undefined;
  for (;;) {
    const left = open();
    const ms = performance.now() - startedAt;
    if (left < READERS) first ??= ms;
    if (left <= 0 || ms > WAIT_MS_MAX) return [first, left <= 0 ? ms : undefined];
    await sleep(20);
  }
}

const after = (ms: number) => {
  const until = performance.now() + ms;
  return () => performance.now() > until;
};

async function callUntil(connection: Connection, isOver: () => boolean): Promise<number[]> {
  const request = requestBytes('SOAP 1.1', {
    group: 'inbox',
    operation: 'CountUnread',
    args: { user_id: userIdOf(1) },
  });
  const waited: number[] = [];
  while (!isOver()) {
    waited.push((await connection.ask(request)).totalMs);
    await sleep(1);
  }
  return waited;
}
