import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresServer } from '../../test/support/postgres-server.ts';
import { runKills } from './kill-run.ts';

/**
 * `npm run proof smpp`: 200 kills on SQLite; KILLS=… and ENGINE=postgres change that. Rounds of 20 take turns: one
 * SMSC, two SMSCs of which the first fails in every way, and one with the policy submit-again. It prints the seed;
 * SEED=… gives the same choices again. Exits with 1 where a promise was broken.
 */
const print = (line: string) => void process.stdout.write(`${line}\n`);
const KILLS = Number(process.env.KILLS ?? 200);
const ROUND = 20;
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
const folder = mkdtempSync(join(tmpdir(), 'columba-smpp-'));
const server = process.env.ENGINE === 'postgres' ? await createPostgresServer(['fsync=on']) : undefined;
await server?.start();

async function freshDatabase(round: number): Promise<string> {
  if (!server) return `sqlite:${join(folder, `${round}.db`)}`;
  await server.query(`create database smpp_${round}`);
  return server.url(`smpp_${round}`);
}

const ROUNDS = [
  { ways: 1, unknownOutcomePolicy: 'never-twice' },
  { ways: 2, unknownOutcomePolicy: 'never-twice' },
  { ways: 1, unknownOutcomePolicy: 'submit-again' },
  { ways: 2, unknownOutcomePolicy: 'submit-again' },
] as const;

print(`SEED=${seed} KILLS=${KILLS} ENGINE=${server ? 'postgres' : 'sqlite'}`);
let kills = 0;
for (let round = 0; kills < KILLS; round++) {
  const kind = ROUNDS[round % ROUNDS.length] as (typeof ROUNDS)[number];
  const database = await freshDatabase(round);
  const result = await runKills({
    database,
    seed: seed + round,
    kills: Math.min(ROUND, KILLS - kills),
    ...kind,
    progress: (line) => print(`  ${line}`),
  });
  kills += result.kills;
  const submissions = [...result.submissions].map(([name, count]) => `${count} to ${name}`).join(', ');
  print(
    `round ${round} (${kind.ways} ways, ${kind.unknownOutcomePolicy}): ${result.kills} kills, ${result.messages} messages, ` +
      `submissions ${submissions}, ${result.needsDecision} for an operator, ${result.received} received, ${result.faults.length} faults`,
  );
  for (const fault of result.faults.slice(0, 20)) print(`  ${fault}`);
  if (result.faults.length > 0) {
    process.exitCode = 1;
    break;
  }
}
await server?.remove();
print(`${kills} kills`);
process.exit(); // the commands of the run share a process, which would stay
