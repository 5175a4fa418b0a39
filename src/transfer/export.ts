import { setTimeout as sleep } from 'node:timers/promises';
import type { Archive } from '../domain/archive.ts';
import { Problem } from '../problem.ts';
import { writeAccount } from './account-json.ts';

export interface ExportOptions {
  /** One account a line, instead of one JSON document. */
  readonly ndjson: boolean;
  /** Only this one. */
  readonly username: string | null;
  /** How long whoever reads the export may take nothing of it. */
  readonly unreadMaxMs?: number;
}

// Larger pieces make fewer writes; 64 KiB is what a pipe takes at once.
const PIECE_CHARACTERS = 64 * 1024;
// The snapshot that is read keeps SQLite from starting its log again, and PostgreSQL from removing
// dead rows.
const UNREAD_MAX_MS = 60_000;

/** Writes accounts as they are at one moment, in bounded memory; how many there were. */
export async function exportAccounts(
  archive: Archive,
  { ndjson, username, unreadMaxMs = UNREAD_MAX_MS }: ExportOptions,
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
      await taken(write(pending), unreadMaxMs);
      pending = '';
    }
    if (ndjson) pending += '\n';
  });
  await write(pending + end);
  return count;
}

async function taken(writing: Promise<void>, unreadMaxMs: number): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  const late = sleep(unreadMaxMs, undefined, { signal }).then(() => {
    throw new Problem(
      'bad-argument',
      `Nobody has read the export for ${unreadMaxMs / 1_000} seconds, so it ended. Write it to a file with --output.`,
    );
  });
  try {
    await Promise.race([writing, late]);
  } finally {
    done.abort();
    late.catch(() => {});
  }
}
