import type { Archive } from '../domain/archive.ts';
import { writeAccount } from './format.ts';

export interface ExportOptions {
  /** One account a line, instead of one JSON document. */
  readonly ndjson: boolean;
  /** Only this one. */
  readonly username: string | null;
}

// Larger pieces make fewer writes; 64 KiB is what a pipe takes at once.
const PIECE_CHARACTERS = 64 * 1024;

/** Writes accounts as they are at one moment, in bounded memory; how many there were. */
export async function exportAccounts(
  archive: Archive,
  { ndjson, username }: ExportOptions,
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
      await write(pending);
      pending = '';
    }
    if (ndjson) pending += '\n';
  });
  await write(pending + end);
  return count;
}
