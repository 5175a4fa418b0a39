import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom } from '../../test/support/random.ts';
import { BUCKET, startS3Store } from '../../test/support/s3-store.ts';
import { type Result, runDisasters } from './disasters.ts';
import { postgresDisk, sqliteDisk } from './disks.ts';

/**
 * `npm run proof disasters -- --rounds 200`: half of them with a folder as the target of the backup,
 * half with a bucket. `--engine postgres --rounds 40`: half of them with pg_basebackup, half with
 * pg_dump. `--target NAME` takes one of the two alone. Prints the seed; `--seed` gives the same choices again. Exits with 1 if
 * something was submitted twice, lost out of order or counted wrong.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string' },
    target: { type: 'string' },
    engine: { type: 'string' },
  },
});
const rounds = Number(values.rounds ?? 200);
const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
const print = (line: string) => void process.stdout.write(`${line}\n`);
const sorted = (numbers: readonly number[]) => [...numbers].sort((one, other) => one - other);
const at = (numbers: readonly number[], share: number) =>
  (sorted(numbers)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? 0).toFixed(2);

function tell(
  target: string,
  { rounds: done, acknowledged, submitted, lost, restarts, continued, secondsMissing, secondsAway, faults }: Result,
) {
  print(
    `${target}: ${done} disasters, ${acknowledged} writes acknowledged, ${submitted} messages submitted, twice: ${faults.filter((each) => each.includes('submitted')).length}`,
  );
  print(
    `  missing: ${lost} writes; seconds before the kill: median ${at(secondsMissing, 0.5)}, 95 % ${at(secondsMissing, 0.95)}, most ${at(secondsMissing, 1)}`,
  );
  print(
    `  back after seconds: median ${at(secondsAway, 0.5)}, 95 % ${at(secondsAway, 0.95)}, most ${at(secondsAway, 1)}`,
  );
  print(`  stopped and started: ${restarts} times, the backup continued after ${continued}`);
  for (const fault of faults) print(`  FAULT ${fault}`);
}

print(`--seed ${seed} --rounds ${rounds}`);
const folder = mkdtempSync(join(tmpdir(), 'columba-disasters-'));
const store = await startS3Store();
try {
  const onSqlite = (env: Readonly<Record<string, string>>) => async (own: string) => ({ disk: sqliteDisk(own), env });
  const onPostgres = (by: 'basebackup' | 'dump') => async (own: string) => ({ disk: await postgresDisk(own, by) });
  const targets =
    values.engine === 'postgres'
      ? { basebackup: onPostgres('basebackup'), dump: onPostgres('dump') }
      : {
          folder: onSqlite({ COLUMBA_BACKUP: `file:${join(folder, 'target')}` }),
          bucket: onSqlite({ ...store.env, COLUMBA_BACKUP: `s3://${BUCKET}/columba` }),
        };
  for (const [name, open] of Object.entries(targets)) {
    if (values.target !== undefined && values.target !== name) continue;
    const own = join(folder, name);
    mkdirSync(own);
    const share = values.target === undefined ? Math.ceil(rounds / 2) : rounds;
    const random = createRandom('disasters', seed);
    const result = await runDisasters({ folder: own, ...(await open(own)), rounds: share, random, told: print });
    tell(name, result);
    if (result.faults.length > 0) process.exitCode = 1;
  }
} finally {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}
