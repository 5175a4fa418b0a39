import { join } from 'node:path';
import { type DatabaseServer, startDatabaseServer } from './database-server.ts';
import { type Filled, type Filling, fillPostgres, fillSqlite } from './fill.ts';
import { temporaryFolder } from './processes.ts';

/** The databases that Columba runs on. */
export interface Engine {
  readonly name: string;
  /** Whether it has processes of its own. */
  readonly isRemote: boolean;
  create(filling: Filling): Promise<Filled>;
  pids(): number[];
  stop(): Promise<void>;
}

export function sqliteEngine(): Engine {
  const folder = temporaryFolder();
  let count = 0;
  return {
    name: 'SQLite',
    isRemote: false,
    create: (filling) => fillSqlite(join(folder, `${++count}.db`), filling),
    pids: () => [],
    stop: async () => {},
  };
}

const postgresEngine = (server: DatabaseServer): Engine => ({
  name: server.name,
  isRemote: true,
  create: async (filling) => fillPostgres(await server.create(), filling),
  pids: server.pids,
  stop: server.stop,
});

/** Undefined where none can be started. */
export async function startPostgresEngine(): Promise<Engine | undefined> {
  const server = await startDatabaseServer();
  return server && postgresEngine(server);
}
