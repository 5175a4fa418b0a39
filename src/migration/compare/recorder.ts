import {
  closeSync,
  createReadStream,
  createWriteStream,
  fchmodSync,
  globSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type AccountName, prepareFolder } from './account-names.ts';
import type { RecordedExchange } from './recording.ts';
import { isSearchable, type RawAnswer, type RawRequest, redactAnswer, redactRequest } from './redaction.ts';

/** Writes recordings: files of limited size and age, in a folder of limited size and age. */
export interface RecorderSettings {
  readonly folder: string;
  /** The line of an exchange, without its secrets. */
  readonly line: (observed: Observed) => string | Promise<string>;
  readonly now: () => number;
  /** A file is closed and compressed at this size or age. */
  readonly fileBytesMax: number;
  readonly fileAgeMsMax: number;
  /** The oldest files are removed beyond this. */
  readonly folderBytesMax: number;
  readonly daysMax: number;
  readonly failed: (thrown: unknown) => void;
}

export const RECORDER_LIMITS = {
  fileBytesMax: 64 * 1_048_576,
  fileAgeMsMax: 3_600_000,
  folderBytesMax: 2 * 1_073_741_824,
  daysMax: 30,
} as const;

/** An exchange to record, still with its secrets. */
export interface Observed
  extends Pick<RecordedExchange, 'group' | 'operation' | 'protocol' | 'outcome' | 'knownDifferences'> {
  readonly at: number;
  readonly userId: string | null;
  readonly client?: string;
  readonly request: RawRequest;
  readonly old: RawAnswer | null;
  readonly ours: RawAnswer | null;
}

export interface Recorder {
  record(observed: Observed): void;
  readonly counts: { readonly recorded: number; readonly lost: number };
  /** Compresses the open file. */
  close(): Promise<void>;
}

/** The exchange without its secrets. */
export function recordedOf(observed: Observed, accountName: AccountName): RecordedExchange {
  const { at, userId, client, request, old, ours, group, operation, protocol, outcome, knownDifferences } = observed;
  const account = userId === null ? null : accountName(userId);
  const secret = userId !== null && account !== null && isSearchable(userId) ? { userId, name: account } : null;
  return {
    version: 1,
    at: new Date(at).toISOString(),
    account,
    group,
    operation,
    protocol,
    ...(client === undefined ? {} : { client }),
    request: redactRequest(request, secret),
    old: old && redactAnswer(old, secret, request),
    ours: ours && redactAnswer(ours, secret, request),
    outcome,
    knownDifferences,
  };
}

export function createRecorder(settings: RecorderSettings): Recorder {
  const { now, failed } = settings;
  prepareFolder(settings.folder);
  const counts = { recorded: 0, lost: 0 };
  const underWay = new Set<Promise<void>>();
  let open: OpenFile | undefined;
  let closing: Promise<void> = Promise.resolve();

  function rotate(): void {
    const done = open;
    open = undefined;
    if (!done) return;
    closeSync(done.fd);
    closing = closing
      .then(() => compress(done.path))
      .then(() => void pruneRecordings(settings, now()))
      .catch(failed);
  }

  /** Writes a line at once and whole, so that a killed process leaves no partial line. */
  function write(line: string): void {
    if (open && (open.bytes >= settings.fileBytesMax || now() - open.openedAt >= settings.fileAgeMsMax)) rotate();
    open ??= openFile(settings.folder, now());
    open.bytes += writeSync(open.fd, `${line}\n`);
    counts.recorded += 1;
  }
  const lose = (thrown: unknown): void => {
    counts.lost += 1; // a full disk ends the recording, not the proxy
    failed(thrown);
  };

  return {
    counts,
    record(observed) {
      try {
        const line = settings.line(observed);
        if (typeof line === 'string') return write(line);
        const later: Promise<void> = line
          .then(write)
          .catch(lose)
          .finally(() => underWay.delete(later));
        underWay.add(later);
      } catch (thrown) {
        lose(thrown);
      }
    },
    async close() {
      await Promise.all(underWay);
      rotate();
      await closing;
    },
  };
}

interface OpenFile {
  readonly fd: number;
  readonly path: string;
  readonly openedAt: number;
  bytes: number;
}

let count = 0;

function openFile(folder: string, at: number): OpenFile {
  const stamp = new Date(at).toISOString().replaceAll(/[:.]/g, '-');
  const path = join(folder, `${stamp}-${process.pid}-${++count}.ndjson`);
  const fd = openSync(path, 'ax', 0o600);
  fchmodSync(fd, 0o600); // independent of the umask
  return { fd, path, openedAt: at, bytes: 0 };
}

/** Removes the plain file only after the compressed file is complete. */
export async function compress(path: string): Promise<void> {
  const temporary = `${path}.tmp`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(temporary, { mode: 0o600 }));
  renameSync(temporary, `${path}.gz`);
  rmSync(path);
}

export interface RecordingFile {
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
  readonly changedAt: number;
  readonly isCompressed: boolean;
}

/** Lists recordings, oldest first. */
export function listRecordings(folder: string): RecordingFile[] {
  return globSync('*.ndjson{,.gz}', { cwd: folder })
    .flatMap((name) => {
      const path = join(folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      if (!found?.isFile()) return [];
      const isCompressed = name.endsWith('.gz');
      return [{ path, name: basename(name), bytes: found.size, changedAt: found.mtimeMs, isCompressed }];
    })
    .sort((one, other) => one.changedAt - other.changedAt || (one.name < other.name ? -1 : 1));
}

/** Files beyond the limit of age, and the oldest files beyond the limit of the folder's size. */
export function recordingsToPrune(
  files: readonly RecordingFile[],
  { daysMax, folderBytesMax }: Pick<RecorderSettings, 'daysMax' | 'folderBytesMax'>,
  at: number,
): RecordingFile[] {
  let bytes = files.reduce((sum, each) => sum + each.bytes, 0);
  return files.filter((file) => {
    const goes = at - file.changedAt > daysMax * 86_400_000 || bytes > folderBytesMax;
    if (goes) bytes -= file.bytes;
    return goes;
  });
}

export function pruneRecordings(
  settings: Pick<RecorderSettings, 'folder' | 'daysMax' | 'folderBytesMax'>,
  at: number,
): RecordingFile[] {
  const gone = recordingsToPrune(listRecordings(settings.folder), settings, at);
  for (const { path } of gone) rmSync(path, { force: true });
  return gone;
}
