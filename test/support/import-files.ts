import { writeFileSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import type { App } from '../../src/serve/compose/contract.ts';
import { exportAccounts } from '../../src/transfer/export.ts';
import { type ImportResult, importFile } from '../../src/transfer/import.ts';
import { freshPath } from './command.ts';
import type { Engine } from './engines.ts';
import { type Service, startService } from './service.ts';

/** Files of accounts, and what is in them. */
export const TIME = '2026-05-01T00:00:00Z';

/** The least that an account can be, and what is given. */
export const account = (username: string, fields: Readonly<Record<string, unknown>> = {}) => ({
  userID: `user_id of ${username}`,
  username,
  credits: 0,
  usedCredits: 0,
  datetimeCreated: TIME,
  ...fields,
});

export const document = (...accounts: unknown[]): string => JSON.stringify({ accounts });
export const lines = (...accounts: unknown[]): string => accounts.map((each) => `${JSON.stringify(each)}\n`).join('');

export function importText(app: App, text: string | Uint8Array, update = false): Promise<ImportResult> {
  const path = freshPath('json');
  writeFileSync(path, text);
  return importFile(path, app.archive, () => Date.UTC(2026, 4, 1), { update });
}

export async function exportText(app: App, ndjson: boolean, username: string | null = null): Promise<string> {
  const pieces: string[] = [];
  await exportAccounts(app.archive, { ndjson, username, clock: systemClock }, async (piece) => void pieces.push(piece));
  return pieces.join('');
}

/** An empty installation for a while. */
export async function withService<T>(engine: Engine, work: (service: Service) => Promise<T>): Promise<T> {
  const service = await startService(engine, 'empty');
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

/** Moves everything to another installation of the same engine. */
export const moved = <T>(engine: Engine, text: string, work: (service: Service, result: ImportResult) => Promise<T>) =>
  withService(engine, async (service) => work(service, await importText(service.app, text)));

/** An account without its secrets, its times as instants and its whole numbers as texts: what an export must keep. */
export function essence(account: unknown): unknown {
  return JSON.parse(JSON.stringify(account), (key, value) => {
    if (/^(userID|userIDHashes|password|passwordHash)$/.test(key)) return undefined;
    if (/^(timestamp|datetime)/.test(key)) return new Date(value).getTime();
    return typeof value === 'number' ? String(value) : value;
  });
}
