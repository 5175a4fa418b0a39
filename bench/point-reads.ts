import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import type { DatabaseServer } from './database-server.ts';
import { ACCOUNT_ID } from './fill.ts';
import { cpuUs } from './proc.ts';
import { temporaryFolder, track } from './processes.ts';

/** The floor of a database over the network: one row of our table by its key, over as many connections. */
export interface PointReads {
  readonly perSecond: number;
  /** Of PostgreSQL, for each. */
  readonly cpuUs: number;
}

export interface PointReader {
  readonly name: string;
  read(): Promise<PointReads>;
  close(): Promise<void>;
}

interface Settings {
  readonly server: DatabaseServer;
  readonly url: string;
  readonly accounts: number;
  readonly connections: number;
  readonly requests: number;
}

const QUERY = 'select username, credits, used_credits from account where account_id =';
const SECONDS = 3;

/** By pgbench; where it is not installed, by the driver that Columba uses, whose own work then holds it back. */
export async function createPointReader(settings: Settings): Promise<PointReader> {
  const { status } = spawnSync('pgbench', ['--version'], { stdio: 'ignore' });
  return status === 0 ? byPgbench(settings) : byDriver(settings);
}

function byPgbench({ server, url, accounts, connections }: Settings): PointReader {
  const script = join(temporaryFolder(), 'point-reads.sql');
  const id = ACCOUNT_ID.replace('number', ':number');
  writeFileSync(script, `\\set number random(0, ${accounts - 1})\n\\set id ${id}\n${QUERY} :id;\n`);
  const { port, pathname, username } = new URL(url);
  const at = ['-h', '127.0.0.1', '-p', port, '-U', username];
  const load = ['-c', String(connections), '-j', '2', '-T', String(SECONDS), '-P', '1'];
  const args = [...at, '-n', '-M', 'prepared', ...load, '-f', script, pathname.slice(1)];
  return {
    name: `pgbench -c ${connections} -j 2 -M prepared`,
    /** Second by second, as it tells: its connections are open then, and the time of their processes is still there. */
    async read() {
      const child = spawn('pgbench', args, { stdio: ['ignore', 'ignore', 'pipe'] });
      track(child);
      const seen: { at: number; cpuUs: number; perSecond: number }[] = [];
      for await (const line of createInterface({ input: child.stderr })) {
        const [, perSecond] = /^progress: \S+ s, (\S+) tps/.exec(line) ?? [];
        if (perSecond) seen.push({ at: performance.now(), cpuUs: cpuUs(server.pids()), perSecond: Number(perSecond) });
      }
      const [first, ...others] = seen.slice(0, -1).length > 1 ? seen.slice(0, -1) : seen;
      const last = others.at(-1);
      if (!first || !last) throw new Error('pgbench did not tell how far it was');
      const perSecond = others.reduce((sum, each) => sum + each.perSecond, 0) / others.length;
      const calls = (perSecond * (last.at - first.at)) / 1_000;
      return { perSecond, cpuUs: (last.cpuUs - first.cpuUs) / calls };
    },
    close: async () => {},
  };
}

async function byDriver({ server, url, accounts, connections, requests }: Settings): Promise<PointReader> {
  const clients = Array.from({ length: connections }, () => new pg.Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  return {
    name: `pg, ${connections} connections (pgbench is not installed)`,
    async read() {
      let sent = 0;
      const before = cpuUs(server.pids());
      const startedAt = performance.now();
      const one = async (client: pg.Client) => {
        while (sent < requests) {
          const id = ((((sent++ * 7_919) % accounts) * 48_271) % 2_147_483_647) + 1;
          await client.query({ name: 'point', text: `${QUERY} $1`, values: [id] });
        }
      };
      await Promise.all(clients.map(one));
      const perSecond = (requests * 1_000) / (performance.now() - startedAt);
      return { perSecond, cpuUs: (cpuUs(server.pids()) - before) / requests };
    },
    close: async () => void (await Promise.all(clients.map((client) => client.end()))),
  };
}
