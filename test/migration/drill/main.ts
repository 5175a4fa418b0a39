import { rmSync } from 'node:fs';
import { freshPath } from '../../support/command.ts';
import { runDrill } from './drill.ts';

/**
 * `npm run drill`: drills of all stages, one after the other, until the time is over.
 * MINUTES (60), STAGE_SECONDS (20), SEED (1), DATABASE (a new SQLite file for each drill).
 */
const tell = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);
const minutes = Number(process.env.MINUTES ?? 60);
const stageMs = Number(process.env.STAGE_SECONDS ?? 20) * 1_000;
const until = Date.now() + minutes * 60_000;
for (let seed = Number(process.env.SEED ?? 1); Date.now() < until; seed++) {
  const path = freshPath('db');
  tell(`drill with the seed ${seed}`);
  await runDrill(process.env.DATABASE ?? `sqlite:${path}`, {
    stageMs,
    seed,
    isLong: true,
    tell: (line) => tell(`  ${line}`),
  });
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}
