import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresServer } from '../../test/support/postgres-server.ts';
import type { Event } from '../checker/history.ts';
import { runChaos } from './chaos-run.ts';

/**
 * `npm run proof chaos`: kills by the hundred, on SQLite. ENGINE=postgres starts a PostgreSQL, which is
 * killed too. It prints the seed; SEED=… gives the same choices again. Exits with 1 where the
 * checker finds a fault.
 */
const print = (line: string) => void process.stdout.write(`${line}\n`);
const KILLS = Number(process.env.KILLS ?? 100);
const ROUND = 20;
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
const folder = mkdtempSync(join(tmpdir(), 'columba-chaos-'));
// What is answered is on disk: it has to survive the kill.
const server = process.env.ENGINE === 'postgres' ? await createPostgresServer(['fsync=on']) : undefined;
await server?.start();
const killServer = server && {
  async killOther() {
    await server.stop('immediate');
    await server.start();
    return 'PostgreSQL';
  },
};
async function freshDatabase(round: number): Promise<string> {
  if (!server) return `sqlite:${join(folder, `${round}.db`)}`;
  await server.query(`create database chaos_${round}`);
  return server.url(`chaos_${round}`);
}
/** What was seen of the messages that the faults name, with kills and jumps of the clock between. */
function historyOf(events: readonly Event[], faults: readonly string[]): string[] {
  const tokens = new Set(faults.map((fault) => fault.slice(0, 6)));
  const isTold = (event: Event) => !('token' in event) || tokens.has(event.token);
  return [...events.entries()]
    .filter(([, event]) => event.kind !== 'balances' && isTold(event))
    .map(([order, event]) => `${order} ${JSON.stringify(event)}`);
}
print(`SEED=${seed} KILLS=${KILLS} ENGINE=${server ? 'postgres' : 'sqlite'}`);
let kills = 0;
for (let round = 0; kills < KILLS; round++) {
  const unknownOutcomePolicy = round % 3 === 2 ? 'submit-again' : 'never-twice';
  const result = await runChaos({
    database: await freshDatabase(round),
    seed: seed + round,
    nodes: 3,
    kills: Math.min(ROUND, KILLS - kills),
    actsPerKill: 30,
    unknownOutcomePolicy,
    ...killServer,
  });
  kills += result.kills;
  print(`round ${round}: ${result.messages} messages, ${result.kills} kills, ${result.faults.length} faults`);
  const shown = result.faults.slice(0, 20);
  for (const fault of shown) print(`  ${fault}`);
  if (shown.length > 0) {
    for (const line of historyOf(result.events, shown)) print(`  ${line}`);
    process.exitCode = 1;
    break;
  }
}
await server?.remove();
print(`${kills} kills`);
