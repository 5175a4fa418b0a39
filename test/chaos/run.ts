import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChaos } from './chaos-run.ts';

/**
 * `npm run chaos`: kills by the hundred, on SQLite or on the PostgreSQL of DATABASE. It prints the
 * seed; SEED=… gives the same choices again. Exits with 1 where the checker finds a fault.
 */
const print = (line: string) => void process.stdout.write(`${line}\n`);
const KILLS = Number(process.env.KILLS ?? 100);
const ROUND = 20;
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
const folder = mkdtempSync(join(tmpdir(), 'columba-chaos-'));
print(`SEED=${seed} KILLS=${KILLS}`);
let kills = 0;
for (let round = 0; kills < KILLS; round++) {
  const database = process.env.DATABASE ?? `sqlite:${join(folder, `${round}.db`)}`;
  const unsurePolicy = round % 3 === 2 ? 'submit-again' : 'never-twice';
  const result = await runChaos({
    database,
    seed: seed + round,
    nodes: 3,
    kills: Math.min(ROUND, KILLS - kills),
    actsPerKill: 30,
    unsurePolicy,
  });
  kills += result.kills;
  print(`round ${round}: ${result.messages} messages, ${result.kills} kills, ${result.faults.length} faults`);
  for (const fault of result.faults.slice(0, 20)) print(`  ${fault}`);
  if (result.faults.length > 0) {
    process.exitCode = 1;
    break;
  }
}
print(`${kills} kills`);
