import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { counted } from '../../base/counted.ts';
import { Problem } from '../../base/problem.ts';
import { examples } from '../../commands/help-text.ts';
import { requireFile } from '../../commands/input-file.ts';
import { formatBytes, harmless, print } from '../../commands/output.ts';
import { configOf, withSession } from '../../commands/session.ts';
import type { Config } from '../../config/settings.ts';
import { KEY_FILE } from '../compare/account-names.ts';
import type { RecordingFile } from '../compare/recorder.ts';
import type { RecordedExchange } from '../compare/recording.ts';
import type { RawAnswer } from '../compare/redaction.ts';
import type { ReplayReport } from '../compare/replay.ts';
import {
  folderOption,
  formerKnownDifferenceOption,
  jsonOption,
  knownDifferenceOption,
  migrationSettings,
  readCount,
  readText,
  readUrl,
} from './settings.ts';

/** `columba migrate har`, `recordings` and `replay`. Only removing the key needs the database. */

export const harCommand = (): Command =>
  new Command('har')
    .description('make a recording of a HAR file of Fiddler, mitmproxy or a browser')
    .argument('<FILE>')
    .addOption(folderOption())
    .option('--pseudonyms', 'replace numbers and texts')
    .option('--dry-run', 'read the file, and write nothing')
    .addHelpText('after', examples('columba migrate har session.har'))
    .addOption(jsonOption())
    .action(async (file: string, _options, command: Command) => runHar(file, configOf(command).config, command));

async function runHar(file: string, config: Config, command: Command): Promise<void> {
  const { pseudonyms, dryRun, json } = command.opts();
  const { readHar } = await import('../compare/har.ts');
  const { createRecorder, RECORDER_LIMITS } = await import('../compare/recorder.ts');
  requireFile(file);
  const { exchanges, entries, skipped } = readHar(file);
  let lost = 0;
  if (!dryRun && exchanges.length > 0) {
    const { createInlineWork } = await import('../compare/comparing.ts');
    const { folder, key, dialect, compare } = await migrationSettings(config, command);
    const { zone, listLimit } = compare;
    const { line } = createInlineWork({ dialect, zone, disabled: [], key, listLimit, pseudonyms: pseudonyms === true });
    let failure: unknown;
    const failed = (thrown: unknown) => {
      failure = thrown;
    };
    const recorder = createRecorder({ ...RECORDER_LIMITS, folder, line, now: systemClock.now, failed });
    for (const exchange of exchanges) recorder.record(exchange);
    await recorder.close();
    lost = recorder.counts.lost;
    if (failure !== undefined) throw failure;
  }
  const result = { entries, recorded: dryRun ? 0 : exchanges.length - lost, calls: exchanges.length, skipped };
  if (json) print(JSON.stringify(result));
  else {
    print(`Entries: ${entries}. Of the contract: ${result.calls}. Others: ${skipped}.`);
    print(dryRun ? 'A dry run: nothing is written.' : `Recorded ${result.recorded}.`);
  }
}

export const recordingsCommand = (): Command =>
  new Command('recordings')
    .description('list recordings, or remove old ones')
    .addOption(folderOption())
    .option('--clients', 'show which clients are in them: program, address, account, operation, protocol')
    .option('--prune', 'remove recordings that are too old, and the oldest ones beyond the size')
    .addOption(
      new Option('--days <N>', 'for --prune: the number of days to keep').argParser(readCount(0, 3_650)).default(30),
    )
    .addOption(
      new Option('--megabytes <N>', 'for --prune: the number of megabytes to keep')
        .argParser(readCount(0, 1_000_000))
        .default(2_048),
    )
    .option('--with-key', 'for --prune, at the end of the move: remove the key too when no recording is left')
    .option('--dry-run', 'for --prune: show what would be removed')
    .addHelpText('after', examples('columba migrate recordings', 'columba migrate recordings --prune --days 14'))
    .addOption(jsonOption())
    .action(async (_options, command: Command) => {
      const { folder, clients, prune, days, megabytes, dryRun, json, withKey } = command.opts();
      if (clients) return showClients(resolve(folder), json === true);
      const { listRecordings, pruneRecordings, recordingsToPrune } = await import('../compare/recorder.ts');
      const limits = { folder: resolve(folder), daysMax: days, folderBytesMax: megabytes * 1_048_576 };
      const files = listRecordings(limits.folder);
      const gone = !prune
        ? []
        : dryRun
          ? recordingsToPrune(files, limits, systemClock.now())
          : pruneRecordings(limits, systemClock.now());
      const kept = files.filter((file) => !gone.some(({ path }) => path === file.path));
      const isKeyGone =
        prune && kept.length === 0 && withKey === true && (await removeKey(command, limits.folder, dryRun));
      const shown = ({ name, bytes, changedAt }: RecordingFile) => ({
        name,
        bytes,
        changedAt: new Date(changedAt).toISOString(),
      });
      if (json) {
        const removed = [...gone.map(shown), ...(isKeyGone ? [{ name: KEY_FILE }] : [])];
        print(JSON.stringify({ files: kept.map(shown), removed, isDryRun: dryRun === true }));
        return;
      }
      for (const file of kept) print(`${shown(file).changedAt}\t${formatBytes(file.bytes)}\t${file.name}`);
      const removed = [...gone.map(({ name }) => name), ...(isKeyGone ? [KEY_FILE] : [])];
      for (const name of removed) print(`${dryRun ? 'would be removed' : 'removed'}\t${name}`);
      if (prune && kept.length === 0 && !isKeyGone && existsSync(join(limits.folder, KEY_FILE))) print(KEY_STAYS);
      if (files.length === 0) print('There are none.');
    });

const KEY_STAYS = `${KEY_FILE} stays: it names the accounts in recordings, and it encrypts writes that wait for a server. When the move is over, remove it with --with-key.`;

/** Returns whether there was a key. Without the key, waiting writes could not be read any more. */
async function removeKey(command: Command, folder: string, dryRun: boolean): Promise<boolean> {
  const path = join(folder, KEY_FILE);
  if (!existsSync(path)) return false;
  const waiting = await withSession(command, { creates: false }, async ({ services }) => {
    const { createMigrationCounts } = await import('../stages/counts.ts');
    return (await createMigrationCounts(services.database, systemClock.now).waitingWrites()).total;
  });
  if (waiting > 0) {
    const what = waiting === 1 ? 'A write waits' : `${waiting} writes wait`;
    throw new Problem(
      'conflict',
      `${what} for one of the servers, encrypted with this key. Let a proxy deliver first.`,
    );
  }
  if (!dryRun) rmSync(path);
  return true;
}

/** Reads all recordings of the folder, oldest first. */
async function showClients(folder: string, json: boolean): Promise<void> {
  const { listRecordings } = await import('../compare/recorder.ts');
  const { readRecording } = await import('../compare/recording.ts');
  const { clientsOfRecordings } = await import('../proxy/client-inventory.ts');
  async function* exchanges() {
    for (const { path } of listRecordings(folder)) yield* readRecording(path);
  }
  const found = await clientsOfRecordings(exchanges());
  const shown = found.map(({ agent, address, accountName, operation, protocol, total, days, lastAt }) => ({
    agent,
    address,
    account: accountName,
    operation,
    protocol,
    callsPerDay: Math.ceil(total / days),
    lastSeen: new Date(lastAt).toISOString(),
  }));
  if (json) return print(JSON.stringify({ clients: shown }));
  for (const each of shown) print(Object.values(each).map(String).join('\t'));
  if (shown.length === 0) print('There are none.');
}

export const replayCommand = (): Command =>
  new Command('replay')
    .description('send recorded calls again, and compare the answers; the exit code is 1 if one differs')
    .argument('<FILE...>', 'recordings')
    .addOption(new Option('--against <URL>', 'the server to ask').argParser(readUrl).makeOptionMandatory())
    .requiredOption('--users <FILE>', 'the user_ids, one per line, because recordings contain none')
    .option('--reads-only', 'leave out the calls that change data')
    .option('--copy', 'send the calls that change data too, to a server with a copy of the data that nobody uses')
    .option('--dry-run', 'count the calls, and send nothing')
    .addHelpText(
      'after',
      examples(
        'columba migrate replay recordings/*.ndjson --against http://127.0.0.1:8080 --users users.txt --reads-only',
      ),
    )
    .addOption(folderOption())
    .addOption(knownDifferenceOption())
    .addOption(formerKnownDifferenceOption())
    .addOption(jsonOption())
    .action(async (files: string[], _options, command: Command) => {
      process.exitCode = await runReplay(files, configOf(command).config, command);
    });

async function runReplay(files: readonly string[], config: Config, command: Command): Promise<number> {
  const { against, users, readsOnly, copy, dryRun, json } = command.opts();
  const { CLASSES, countsOf, isReplayEqual, newReport, replayOne, userIdsOf } = await import('../compare/replay.ts');
  const { readRecording } = await import('../compare/recording.ts');
  const { createOldServer } = await import('../old-server/old-server.ts');
  const { createArrivals } = await import('../copy/arrivals.ts');
  const { createUpstream } = await import('../old-server/upstream.ts');
  const { compare, accountName } = await migrationSettings(config, command);
  const { RecordedChanges } = await import('../compare/replay-changes.ts');
  const changes = new RecordedChanges();
  const found = await readCalls(files, (exchange, old) => {
    if (!dryRun) changes.see(exchange, old, compare);
  });
  if (dryRun) {
    print(
      json ? JSON.stringify(found) : `${counted(found.calls, 'exchange')}; ${counted(found.writes, 'change')} of data.`,
    );
    return 0;
  }
  if (found.writes > 0 && !readsOnly && !copy) {
    throw new Problem(
      'bad-argument',
      `${counted(found.writes, 'call changes', 'calls change')} data. Leave them out with --reads-only, or use --copy where the server has a copy of the data.`,
    );
  }
  const server = createUpstream({ name: 'the server', url: against, timeoutMs: 60_000 });
  const ids = userIdsOf(readText(users, '--users'), accountName);
  const calls = createOldServer({
    url: against,
    dialect: compare.dialect,
    namespace: config.namespace,
    zone: compare.zone,
  });
  const arrivedAt = createArrivals(calls, compare);
  const settings = { server, compare, users: ids, readsOnly: readsOnly === true, changes, arrivedAt };
  const report = newReport();
  try {
    for (const file of files) {
      for await (const exchange of readRecording(file)) {
        await replayOne(exchange, report, settings);
        showProgress(report.sent, found.calls);
      }
    }
  } finally {
    server.close();
    calls.close();
  }
  const counts = countsOf(report);
  if (json) print(JSON.stringify(plain(report, counts)));
  else for (const line of linesOf(report, counts, CLASSES)) print(harmless(line));
  return isReplayEqual(report) ? 0 : 1;
}

/** Counts the recorded calls, and passes on each one that the old server answered. */
async function readCalls(
  files: readonly string[],
  see: (exchange: RecordedExchange, old: RawAnswer) => void,
): Promise<{ calls: number; writes: number }> {
  const { isWrite, rawOf } = await import('../compare/replay.ts');
  const { readRecording } = await import('../compare/recording.ts');
  const found = { calls: 0, writes: 0 };
  for (const file of files) {
    requireFile(file);
    for await (const exchange of readRecording(file)) {
      found.calls += 1;
      if (isWrite(exchange)) found.writes += 1;
      if (exchange.old && !exchange.old.withheld) see(exchange, rawOf(exchange.old));
    }
  }
  return found;
}

function showProgress(sent: number, all: number): void {
  if (process.stderr.isTTY && sent % 25 === 0) process.stderr.write(`\r${sent} of ${all}…\u001b[K\r`);
}

const plain = ({ sent, left, rows, knownDifferences, differences }: ReplayReport, all: Counts) => ({
  sent,
  counts: Object.fromEntries(all),
  totals: Object.fromEntries(all), // the former name
  leftOut: Object.fromEntries(left),
  operations: [...rows.values()].map(({ operation, protocol, counts }) => ({
    operation,
    protocol,
    ...Object.fromEntries(counts),
  })),
  knownDifferences: [...knownDifferences].map(([name, { total, example }]) => ({ name, total, example })),
  differences,
});

type Counts = ReadonlyMap<string, number>;

function linesOf(report: ReplayReport, all: Counts, classes: Readonly<Record<string, string>>): string[] {
  const { sent, left, rows, knownDifferences, differences } = report;
  const counted = (counts: ReadonlyMap<string, number>) =>
    [...counts].map(([name, total]) => `${total} ${name}`).join(', ');
  return [
    `Sent ${sent}.${left.size > 0 ? ` Left out: ${counted(left)}.` : ''}`,
    ...[...all].map(([name, total]) => `${String(total).padStart(7)}  ${name.padEnd(18)}  ${classes[name]}`),
    '',
    ...[...rows.values()].map(({ operation, protocol, counts }) => `${operation} ${protocol}: ${counted(counts)}`),
    ...[...knownDifferences].map(
      ([name, { total, example }]) => `known difference ${name}: ${total}, such as ${example}`,
    ),
    ...differences.map(
      ({ outcome, operation, protocol, at, example }) => `${outcome}: ${operation} ${protocol} ${at}: ${example}`,
    ),
  ];
}
