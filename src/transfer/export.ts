import { type Clock, within } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import { writeAccount } from './account-json.ts';
import type { Archive } from './archive.ts';

export interface ExportOptions {
  /** One account per line (NDJSON), instead of one JSON document. */
  readonly ndjson: boolean;
  /** Exports only this account. */
  readonly username: string | null;
  readonly clock: Pick<Clock, 'after'>;
  /** The longest time in which the reader of the export may take nothing. */
  readonly unreadMaxMs?: number;
}

// Larger pieces make fewer writes. A pipe takes 64 KiB at once.
const PIECE_CHARACTERS = 64 * 1024;
// An open snapshot keeps SQLite from restarting its write-ahead log, and PostgreSQL from removing
// dead rows. So the export ends if its reader takes nothing for this long.
const UNREAD_MAX_MS = 60_000;

/** Writes accounts of one snapshot in bounded memory. Returns their number. */
export async function exportAccounts(
  archive: Archive,
  { ndjson, username, clock, unreadMaxMs = UNREAD_MAX_MS }: ExportOptions,
  write: (text: string) => Promise<void>,
): Promise<number> {
  const [start, between, end] = ndjson ? ['', '', ''] : ['{"accounts":[\n', ',\n', '\n]}\n'];
  let pending = start;
  let first = true;
  const count = await archive.read(username, async (reading) => {
    if (!first) pending += between;
    first = false;
    for await (const piece of writeAccount(reading)) {
      pending += piece;
      if (pending.length < PIECE_CHARACTERS) continue;
      const written = write(pending).then(() => true);
      if (!(await within(clock, unreadMaxMs, written, false))) throw unread(unreadMaxMs);
      pending = '';
    }
    if (ndjson) pending += '\n';
  });
  await write(pending + end);
  return count;
}

const unread = (ms: number) =>
  new Problem(
    'bad-argument',
    `Nobody has read the export for ${ms / 1_000} seconds, so it was stopped. Write it to a file.`,
  );
