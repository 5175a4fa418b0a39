import { createHmac, hkdfSync } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from '../../base/random.ts';

/** The names of accounts in recordings, and the key from which they are derived. */

export type AccountName = (userId: string) => string;

/** Without the key, nobody can tell which user_id a name stands for, nor try user_ids. */
export const createAccountName =
  (key: Uint8Array): AccountName =>
  (userId) =>
    `account-${createHmac('sha256', key).update('account ').update(userId).digest('hex').slice(0, 16)}`;

/** Matches the name that replaces a user_id in a recording. */
export const ACCOUNT_NAME = /account-[0-9a-f]{16}/g;

export const KEY_FILE = 'recordings.key';
const KEY_BYTES = 32;

/** Creates the folder of recordings if it is missing. Only its owner may read it. */
export function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== 'win32') chmodSync(folder, 0o700);
}

/**
 * The key of an installation, derived from COLUMBA_LOG_KEY if that is set, so that all nodes have
 * the same key; otherwise from a file in the folder of recordings, which is made at its first use.
 */
export function migrationKey(logKey: string, folder: string): Uint8Array {
  const secret = logKey === '' ? keyOfFolder(folder) : logKey;
  return new Uint8Array(hkdfSync('sha256', secret, '', 'columba migration', KEY_BYTES));
}

function keyOfFolder(folder: string): string {
  prepareFolder(folder);
  const path = join(folder, KEY_FILE);
  try {
    writeFileSync(path, randomBytes(KEY_BYTES).toString('hex'), { mode: 0o600, flag: 'wx' });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
  return readFileSync(path, 'utf8').trim();
}
