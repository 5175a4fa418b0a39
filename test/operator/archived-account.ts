import assert from 'node:assert/strict';
import { createLedger } from '../../src/domain/accounts/ledger.ts';
import { readAccount } from '../../src/transfer/account-json.ts';
import { createArchive } from '../../src/transfer/archive.ts';
import type { ActionBench } from '../support/actions.ts';

/** Accounts with scheduled messages come from files: no action schedules one. */

/** Imports the account acme, which has 10 credits besides the given fields. */
export async function load({ database }: ActionBench, fields: object, update = false): Promise<void> {
  const given = {
    username: 'acme',
    userID: 'user_id of acme',
    credits: '10',
    usedCredits: '0',
    datetimeCreated: '2026-01-01T00:00:00Z',
    ...fields,
  };
  const archive = createArchive(database, Date.now, null);
  const account = await readAccount(given, 0);
  await (update ? archive.update(account) : archive.load(account));
}
export const scheduled = (id: number, message: string, recipient = '+27825550201') => ({
  id,
  recipient,
  message,
  timestamp_scheduled: '2027-01-01T00:00:00Z',
  timestamp_created: '2026-01-01T00:00:00Z',
});
export const sent = (id: number, status: string) => ({
  id,
  recipient: '+27825550201',
  message: 'hi',
  delivery_status: status,
  marked: false,
  timestamp_sent: '2026-05-01T00:00:00Z',
  timestamp_updated: '2026-05-01T00:00:00Z',
});
export const TWO_PARTS = 'x'.repeat(200);

export async function checkLedger({ database }: ActionBench): Promise<void> {
  assert.deepEqual((await createLedger(database, () => 0).check()).discrepancies, []);
}
