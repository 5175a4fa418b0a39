import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createApp } from '../../src/serve/compose/contract.ts';
import { importFile } from '../../src/transfer/import.ts';
import type { Engine } from '../../test/support/engines.ts';
import { createPostgresServer } from '../../test/support/postgres-server.ts';
import { SAMPLE } from './service.ts';

/** The databases of the tests without node:test, see service.ts. `remove` leaves nothing behind. */
export interface Databases extends Engine {
  remove(): Promise<void>;
}

export const ENGINES: Readonly<Record<string, () => Promise<Databases>>> = { sqlite, postgres };

async function sqlite(): Promise<Databases> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-fuzz-'));
  const sample = join(folder, 'sample.db');
  await importSample(`sqlite:${sample}`);
  let count = 0;
  return {
    name: 'sqlite',
    async fresh() {
      const path = join(folder, `${++count}.db`);
      copyFileSync(sample, path);
      return `sqlite:${path}`;
    },
    release(database) {
      for (const end of ['', '-wal', '-shm']) rmSync(database.slice('sqlite:'.length) + end, { force: true });
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function postgres(): Promise<Databases> {
  const server = await createPostgresServer();
  await server.start();
  await server.query('create database sample');
  await importSample(server.url('sample'));
  let count = 0;
  return {
    name: 'postgres',
    async fresh() {
      const name = `fuzz_${++count}`;
      await server.query(`create database ${name} template sample`);
      return server.url(name);
    },
    release: () => {}, // it goes with the server
    remove: () => server.remove(),
  };
}

async function importSample(database: string): Promise<void> {
  const app = await createApp(readConfig({ COLUMBA_DATABASE: database }), {
    clock: { ...systemClock, sleep: async () => {} },
    log: pino({ level: 'silent' }),
  });
  await importFile(SAMPLE, app.archive, Date.now);
  await app.stop();
}
