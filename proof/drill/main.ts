import { rmSync } from 'node:fs';
import pg from 'pg';
import { freshPath } from '../../test/support/command.ts';
import { runDrill } from './drill.ts';

/**
 * `npm run proof drill`: drills of all stages, one after the other, until the time is over.
 * MINUTES (60), SEEDS (as many as fit), STAGE_SECONDS (20), SEED (1), TOOLKITS (yes, or no),
 * DATABASE (a new SQLite file for each drill), POSTGRES (the address of a server: each drill makes a
 * database there).
 */
const tell = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);
const minutes = Number(process.env.MINUTES ?? 60);
const seeds = Number(process.env.SEEDS ?? Number.POSITIVE_INFINITY);
const stageMs = Number(process.env.STAGE_SECONDS ?? 20) * 1_000;
const first = Number(process.env.SEED ?? 1);
const until = Date.now() + minutes * 60_000;
const totals: Record<string, number> = { drills: 0, failed: 0 };

for (let seed = first; seed < first + seeds && Date.now() < until; seed++) {
  const path = freshPath('db');
  const database = process.env.POSTGRES ? await newDatabase(process.env.POSTGRES, seed) : process.env.DATABASE;
  tell(`drill with the seed ${seed}`);
  const isLong = process.env.TOOLKITS !== 'no';
  const options = { stageMs, seed, isLong, tell: (line: string) => tell(`  ${line}`) };
  totals.drills = (totals.drills ?? 0) + 1;
  try {
    const result = await runDrill(database ?? `sqlite:${path}`, options);
    for (const [name, count] of Object.entries(result)) totals[name] = (totals[name] ?? 0) + count;
  } catch (thrown) {
    totals.failed = (totals.failed ?? 0) + 1;
    tell(`  seed ${seed} FAILED: ${(thrown as Error).stack}`);
  }
  tell(`so far: ${JSON.stringify(totals)}`);
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}
process.exitCode = totals.failed === 0 ? 0 : 1;

async function newDatabase(server: string, seed: number): Promise<string> {
  const name = `drill_${Date.now()}_${seed}`;
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
